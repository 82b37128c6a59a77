"""Shapes of refusals, for the schema."""

from typing import Any

from rest_framework import serializers


class RefusedFieldSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()
    attr = serializers.CharField(allow_null=True)


class RefusalSerializer(serializers.Serializer[Any]):
    """400: what was sent is not fit.  ``attr`` names the field, with dots into lists and objects, or is null."""

    type = serializers.ChoiceField(choices=[("validation_error", "validation_error"), ("client_error", "client_error")])
    errors = RefusedFieldSerializer(many=True)  # type: ignore[assignment]  # as below


class ConflictErrorSerializer(serializers.Serializer[Any]):
    code = serializers.ChoiceField(choices=[("conflict", "conflict")])
    detail = serializers.CharField()
    attr = serializers.CharField(allow_null=True)


class ConflictSerializer(serializers.Serializer[Any]):
    """409: the state is not what the request takes for granted.  ``changes`` has one row per difference."""

    type = serializers.ChoiceField(choices=[("client_error", "client_error")])
    errors = ConflictErrorSerializer(many=True)  # type: ignore[assignment]  # DRF calls its own report the same
    changes = serializers.ListField(child=serializers.DictField(), required=False)
