"""Policies as JSON."""

from typing import Any, ClassVar

from rest_framework import serializers

from console.policies.choices import SETTINGS, Scope, WindowKind
from console.policies.models import Setting, Window


class SettingSerializer(serializers.ModelSerializer[Setting]):
    """One version of one setting at one place; its version is the ETag."""

    by = serializers.CharField(source="by.username", read_only=True)

    class Meta:
        model = Setting
        fields: ClassVar = [
            "name", "scope", "cluster", "gpu_model", "tenant", "value", "cleared", "version", "by", "reason", "at",
        ]  # fmt: skip
        read_only_fields = fields


class PlaceSerializer(serializers.Serializer[Any]):
    scope = serializers.ChoiceField(choices=Scope.choices, default=Scope.FLEET)
    cluster = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    gpu_model = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    tenant = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)


class DecisionSerializer(PlaceSerializer):
    value = serializers.IntegerField(allow_null=True, help_text="null: no limit, where the setting has one to lift")
    reason = serializers.CharField(min_length=1, max_length=2000)


class ClearingSerializer(PlaceSerializer):
    reason = serializers.CharField(min_length=1, max_length=2000)


class SaidSerializer(serializers.Serializer[Any]):
    origin = serializers.CharField(help_text="the place for which it was decided")
    scope = serializers.CharField(source="place.scope")
    value = serializers.IntegerField(allow_null=True)
    version = serializers.IntegerField()


class ResolvedSerializer(serializers.Serializer[Any]):
    """What counts, where it was decided, and what else was decided for places that apply."""

    name = serializers.ChoiceField(source="setting.name", choices=list(SETTINGS))
    value = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    unit = serializers.CharField(source="setting.unit")
    merge = serializers.CharField(source="setting.merge")
    meaning = serializers.CharField(source="setting.meaning")
    origin = serializers.CharField(help_text="'built in' where nobody decided anything")
    version = serializers.IntegerField(source="said.version", default=None, allow_null=True)
    others = SaidSerializer(many=True)


class AskedSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    pool = serializers.ListField(child=serializers.CharField(max_length=253), default=list, max_length=200)
    tenant = serializers.ListField(child=serializers.CharField(max_length=253), default=list, max_length=200)


class WindowSerializer(serializers.ModelSerializer[Window]):
    """A recurring time; starts follow the clock of ``zone``, ``minutes`` are elapsed ones."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    scope = serializers.ChoiceField(choices=Scope.choices)
    kind = serializers.ChoiceField(choices=WindowKind.choices)
    cluster = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    gpu_model = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    tenant = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    minutes = serializers.IntegerField(min_value=1, max_value=7 * 24 * 60)
    zone = serializers.CharField(required=False, default="UTC", max_length=64)
    skip_days = serializers.ListField(child=serializers.CharField(max_length=20), required=False, default=list)
    reason = serializers.CharField(min_length=1, max_length=2000)

    class Meta:
        model = Window
        fields: ClassVar = [
            "id", "kind", "scope", "cluster", "gpu_model", "tenant", "cron", "minutes", "zone", "skip_days", "owner",
            "reason", "since", "ended_at",
        ]  # fmt: skip
        read_only_fields: ClassVar = ["id", "owner", "since", "ended_at"]


class EndingSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2000, default="")
