"""The shape of the calibration of estimates in the API: the page's own rows."""

from rest_framework import serializers


class BinSerializer(serializers.Serializer[object]):
    low = serializers.FloatField()
    high = serializers.FloatField()
    asks = serializers.IntegerField()
    said = serializers.FloatField(allow_null=True)
    started = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)
    low95 = serializers.FloatField(allow_null=True)
    high95 = serializers.FloatField(allow_null=True)


class CalibrationSerializer(serializers.Serializer[object]):
    """``brier`` = reliability - resolution + uncertainty + inside."""

    within_s = serializers.IntegerField(source="horizon_s")
    days = serializers.IntegerField()
    asks = serializers.IntegerField(source="found.asks")
    left_out = serializers.IntegerField()
    brier = serializers.FloatField(source="found.brier", allow_null=True)
    reliability = serializers.FloatField(source="found.reliability", allow_null=True)
    resolution = serializers.FloatField(source="found.resolution", allow_null=True)
    uncertainty = serializers.FloatField(source="found.uncertainty", allow_null=True)
    inside = serializers.FloatField(source="found.inside", allow_null=True)
    skill = serializers.FloatField(source="found.skill", allow_null=True)
    error_points = serializers.FloatField(source="found.error_points", allow_null=True)
    bins = BinSerializer(source="found.bins", many=True)
    meanings = serializers.DictField(child=serializers.CharField())
