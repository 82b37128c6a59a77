"""Standby as JSON."""

from typing import Any

from rest_framework import serializers

from console.standby.choices import LEAST_MINUTES

DAY = serializers.IntegerField(min_value=0, max_value=6, help_text="0 is Monday")


class StandbySpanSerializer(serializers.Serializer[Any]):
    begins_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()


class StandbyExpectedSerializer(serializers.Serializer[Any]):
    """What one span is expected to bring and to cost; null: not known."""

    hours = serializers.FloatField(required=False)
    pods = serializers.IntegerField(required=False)
    gpu_milli = serializers.IntegerField(required=False)
    memory_mib = serializers.IntegerField(required=False, help_text="host memory that is held")
    device_mib = serializers.IntegerField(required=False, allow_null=True, help_text="device memory that is held")
    addresses = serializers.IntegerField(required=False)
    lent_percent = serializers.IntegerField(required=False)
    rebate_cents = serializers.IntegerField(required=False, allow_null=True)
    cost_cents = serializers.IntegerField(required=False, allow_null=True)
    assumed = serializers.ListField(child=serializers.CharField(), required=False)


class StandbyWindowSerializer(serializers.Serializer[Any]):
    """``id`` null: asleep without a window, by a pod label or its cluster's own doing."""

    id = serializers.IntegerField(allow_null=True)
    version = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]
    source_id = serializers.IntegerField()
    cluster = serializers.CharField()
    tenant = serializers.CharField()
    workload = serializers.CharField(source="key")
    when = serializers.CharField()
    state = serializers.CharField(help_text="asleep, partly, waking, awake or observed")
    why = serializers.CharField()
    pods = serializers.IntegerField()
    asleep = serializers.IntegerField()
    gpus = serializers.FloatField()
    asleep_gpus = serializers.FloatField()
    lent_gpus = serializers.FloatField(allow_null=True)
    memory_mib = serializers.IntegerField()
    device_mib = serializers.IntegerField(allow_null=True)
    addresses = serializers.IntegerField()
    recall_p50_s = serializers.FloatField(allow_null=True)
    recall_p95_s = serializers.FloatField(allow_null=True)
    rebate_cents = serializers.IntegerField(allow_null=True, help_text="of the last 30 days")
    cost_cents = serializers.IntegerField(allow_null=True, help_text="of the last 30 days")
    expected = StandbyExpectedSerializer()
    spans = StandbySpanSerializer(many=True, help_text="from six hours ago to 40 hours ahead")
    next_at = serializers.DateTimeField(allow_null=True)
    acts = serializers.BooleanField(help_text="false: the source is only observed")
    reason = serializers.CharField()
    made_by = serializers.CharField()


class StandbyOthersSerializer(serializers.Serializer[Any]):
    asleep_gpus = serializers.FloatField()
    lent_gpus = serializers.FloatField()


class StandbyWindowListSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    total = serializers.IntegerField()
    others = StandbyOthersSerializer(allow_null=True, help_text="all other tenants together; null: not known")
    results = StandbyWindowSerializer(source="rows", many=True)


class StandbyWhenSerializer(serializers.Serializer[Any]):
    """Days of the week with minutes of the day in UTC, or one span."""

    days = serializers.ListField(child=DAY, required=False, max_length=7)
    from_minute = serializers.IntegerField(required=False, min_value=0, max_value=24 * 60 - 1)
    until_minute = serializers.IntegerField(required=False, min_value=0, max_value=24 * 60 - 1)
    first_day = serializers.DateField(required=False)
    last_day = serializers.DateField(required=False, allow_null=True)
    begins_at = serializers.DateTimeField(required=False, help_text=f"of one that lasts {LEAST_MINUTES} min or more")
    ends_at = serializers.DateTimeField(required=False)


class StandbyEditSerializer(StandbyWhenSerializer):
    reason = serializers.CharField(max_length=2000, default="", allow_blank=True)


class StandbyWorkloadSerializer(StandbyWhenSerializer):
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(max_length=253)
    namespace = serializers.CharField(max_length=253)
    workload = serializers.CharField(max_length=253)

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.make_window``."""
        said = {name: value for name, value in self.validated_data.items() if name != "source"}
        return {**said, "source_id": self.validated_data["source"]}


class StandbyMakeSerializer(StandbyWorkloadSerializer):
    reason = serializers.CharField(max_length=2000, default="", allow_blank=True)


class StandbyReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000, default="", allow_blank=True)


class StandbyRecallAskedSerializer(serializers.Serializer[Any]):
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(max_length=253)
    pod = serializers.CharField(max_length=507, help_text="namespace/name")
    reason = serializers.CharField(max_length=2000)


class StandbyRecallSerializer(serializers.Serializer[Any]):
    """One waking, step by step; what lies ahead is null."""

    id = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]
    cluster = serializers.CharField()
    pod = serializers.CharField()
    node = serializers.CharField()
    tenant = serializers.CharField()
    gpu_model = serializers.CharField()
    gpus = serializers.FloatField()
    cause = serializers.CharField()
    reason = serializers.CharField()
    asked_by = serializers.CharField()
    asked_at = serializers.DateTimeField()
    wanted_at = serializers.DateTimeField(allow_null=True)
    state = serializers.CharField()
    detail = serializers.CharField()
    noticed_at = serializers.DateTimeField(allow_null=True)
    kill_at = serializers.DateTimeField(allow_null=True)
    last_gone_at = serializers.DateTimeField(allow_null=True)
    serving_at = serializers.DateTimeField(allow_null=True)
    took_s = serializers.FloatField(allow_null=True, help_text="from notice to serving")
    late_s = serializers.FloatField(allow_null=True, help_text="below 0: it served before it had to")
    borrowers = serializers.IntegerField()
    gone = serializers.IntegerField()
    killed = serializers.IntegerField()
    checkpoints = serializers.IntegerField()


class StandbyTimesSerializer(serializers.Serializer[Any]):
    recalls = serializers.IntegerField()
    serving = serializers.IntegerField()
    failed = serializers.IntegerField()
    killed = serializers.IntegerField()
    borrowers = serializers.IntegerField()
    p50_s = serializers.FloatField(allow_null=True)
    p95_s = serializers.FloatField(allow_null=True)
    p99_s = serializers.FloatField(allow_null=True)


class StandbyRecallFiguresSerializer(serializers.Serializer[Any]):
    days = serializers.IntegerField()
    at = serializers.DateTimeField()
    whole = StandbyTimesSerializer()
    by_day = serializers.SerializerMethodField()

    def get_by_day(self, page: Any) -> list[dict[str, Any]]:
        return [{"day": day.isoformat(), **StandbyTimesSerializer(times).data} for day, times in page.by_day]


class StandbyPoolRowSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    gpu_model = serializers.CharField()
    others = serializers.BooleanField(help_text="true: all other tenants together")
    pods = serializers.IntegerField(allow_null=True)
    asleep_gpus = serializers.FloatField()
    ruled_gpus = serializers.FloatField(allow_null=True, help_text="under windows")
    lent_gpus = serializers.FloatField()
    memory_mib = serializers.IntegerField(allow_null=True)
    device_mib = serializers.IntegerField(allow_null=True)
    addresses = serializers.IntegerField(allow_null=True)
    cents_per_hour = serializers.IntegerField(allow_null=True)


class StandbyHourSerializer(serializers.Serializer[Any]):
    hour = serializers.IntegerField()
    days = serializers.IntegerField()
    asleep_gpus = serializers.FloatField(allow_null=True)
    lent_gpus = serializers.FloatField(allow_null=True)


class StandbyAheadSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    planned_gpus = serializers.FloatField()
    gpus = serializers.FloatField(allow_null=True)


class StandbyPoolSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField(allow_null=True, help_text="of the newest count; null before the first")
    asleep_gpus = serializers.FloatField(allow_null=True)
    lent_gpus = serializers.FloatField(allow_null=True)
    pools = StandbyPoolRowSerializer(source="rows", many=True)
    day = StandbyHourSerializer(many=True)
    ahead = StandbyAheadSerializer(many=True)


class StandbyStormSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]
    at = serializers.DateTimeField()
    foreseen_at = serializers.DateTimeField()
    document = serializers.JSONField()
