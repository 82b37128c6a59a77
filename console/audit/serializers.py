from typing import ClassVar

from rest_framework import serializers

from console.audit.models import Entry


class EntrySerializer(serializers.ModelSerializer[Entry]):
    class Meta:
        model = Entry
        fields: ClassVar = [
            "id",
            "at",
            "actor",
            "action",
            "target_kind",
            "target_id",
            "reason",
            "digest",
            "request_id",
            "detail",
        ]
        read_only_fields = fields
