from typing import Any

from rest_framework import serializers

from console.tenancy.choices import Role

MAX_DAYS = 365


class TokenRequestSerializer(serializers.Serializer[Any]):
    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=30)


class TokenSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="Beginning of the token; names it, does not sign in.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)


class IssuedTokenSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    token = serializers.CharField(help_text="Send it as 'Authorization: Token ...'. It is shown only now.")


class PersonSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    permissions = serializers.ListField(child=serializers.CharField())
    tenants = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="Tenants whose names are shown; null means all."
    )
