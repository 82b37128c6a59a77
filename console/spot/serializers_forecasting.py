"""Forecasts, spot quotas and back-tests over HTTP."""

from rest_framework import serializers

from console.spot.serializers import Shape


def _gpus() -> serializers.ListField:
    return serializers.ListField(child=serializers.FloatField())


class HpForecastSerializer(Shape):
    """GPUs for each hour from ``base_at`` on; empty lists and a reason where nothing is known."""

    gpu_model = serializers.CharField()
    tenant = serializers.CharField(allow_null=True, help_text="null: the sum over all tenants")
    forecaster = serializers.ChoiceField(["library", "gfs", "last_week_peak"])
    base_at = serializers.DateTimeField()
    mean = _gpus()
    deviation = _gpus()
    low = _gpus()
    median = _gpus()
    high = _gpus()
    why = serializers.CharField(allow_blank=True, help_text="why nothing is known")


class SpotQuotaSerializer(Shape):
    """Of all tenants together; null with ``unknown`` where the demand that is reserved for is not known."""

    gpu_model = serializers.CharField()
    at = serializers.DateTimeField()
    level = serializers.FloatField(help_text="share of hours in which HP demand is within the reserve")
    capacity_gpus = serializers.IntegerField(source="capacity")
    reserved_gpus = serializers.IntegerField(source="reserved", allow_null=True)
    quota_gpus = serializers.IntegerField(source="quota", allow_null=True)
    eta = serializers.FloatField(help_text="the feedback's factor on what is left beside the reserve")
    moved_by = serializers.FloatField()
    evicted = serializers.IntegerField()
    ended = serializers.IntegerField()
    eviction_rate = serializers.FloatField(source="rate", allow_null=True)
    oldest_wait_s = serializers.IntegerField(allow_null=True)
    why = serializers.CharField()
    unknown = serializers.CharField(allow_blank=True)


class HpScoreSerializer(Shape):
    forecaster = serializers.ChoiceField(["library", "gfs", "last_week_peak"])
    gpu_model = serializers.CharField(allow_blank=True, help_text="empty: the mean over all models")
    pinball = serializers.FloatField(allow_null=True, help_text="GPUs, mean over hours and hours ahead")
    coverage = serializers.FloatField(allow_null=True, help_text="share of hours at or below the quantile")
    hours = serializers.IntegerField()
    difference = serializers.FloatField(allow_null=True, help_text="pinball less that of GFS's rule, paired")
    low = serializers.FloatField(allow_null=True, help_text="of the 95 % interval of the difference, over days")
    high = serializers.FloatField(allow_null=True)
    why = serializers.CharField(allow_blank=True)


class HpBacktestSerializer(Shape):
    until_at = serializers.DateTimeField()
    days = serializers.IntegerField()
    hours = serializers.IntegerField(help_text="ahead")
    level = serializers.FloatField()
    scores = HpScoreSerializer(many=True)
    why = serializers.CharField(allow_blank=True)
