"""Shapes of the API of idle GPUs and telemetry."""

from typing import Any

from rest_framework import serializers

from console.inventory.choices import Means


class IdleRowSerializer(serializers.Serializer[Any]):
    """GPU-hours of one owner."""

    source = serializers.CharField()  # type: ignore[assignment]
    cluster = serializers.CharField()
    tenant = serializers.CharField()
    namespace = serializers.CharField()
    workload = serializers.CharField()
    rest = serializers.BooleanField(help_text="the sum of what found no row of its own")
    allocated_gpu_h = serializers.FloatField()
    observed_gpu_h = serializers.FloatField()
    idle_gpu_h = serializers.FloatField(allow_null=True, help_text="null where nothing was observed")
    idle_percent = serializers.FloatField(allow_null=True, help_text="of what was observed")


class IdlePageSerializer(serializers.Serializer[Any]):
    since = serializers.DateTimeField()
    total = serializers.IntegerField()
    start = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = IdleRowSerializer(many=True)


class DeviceHolderSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="namespace/name of a pod")
    gpus = serializers.IntegerField()
    gpu_milli = serializers.IntegerField()


class SickDeviceSerializer(serializers.Serializer[Any]):
    source = serializers.CharField()  # type: ignore[assignment]
    cluster = serializers.CharField()
    node = serializers.CharField()
    index = serializers.IntegerField()
    uuid = serializers.CharField()
    health = serializers.CharField(help_text="failed or degraded")
    reason = serializers.CharField(help_text="the sign that decided; empty where the source did not tell")
    holders = DeviceHolderSerializer(many=True)


class UnhealthySerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    results = SickDeviceSerializer(many=True)


class WattsSerializer(serializers.Serializer[Any]):
    watts = serializers.IntegerField(allow_null=True)
    nodes = serializers.IntegerField(help_text="that tell")
    of_nodes = serializers.IntegerField()
    observed_at = serializers.DateTimeField(allow_null=True)


class ClusterTelemetrySerializer(serializers.Serializer[Any]):
    source_id = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]
    state = serializers.CharField(help_text="waiting, live, late or unknown")
    error = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    url = serializers.CharField()
    means = serializers.CharField()
    user = serializers.CharField()
    ca = serializers.CharField()
    samples = serializers.IntegerField(allow_null=True)
    nameless = serializers.IntegerField(allow_null=True)
    devices = serializers.IntegerField(allow_null=True)
    unplaced = serializers.IntegerField(allow_null=True)
    named = serializers.ListField(child=serializers.CharField())
    node_labels = serializers.ListField(child=serializers.CharField())
    matchers = serializers.ListField(child=serializers.CharField())
    idle_below = serializers.IntegerField()


class TelemetryAskedSerializer(serializers.Serializer[Any]):
    """``matchers``: label=value of the series that are this cluster's."""

    url = serializers.CharField(max_length=500)
    means = serializers.CharField(default=Means.NOBODY.value, help_text="none, bearer or basic")
    user = serializers.CharField(default="", allow_blank=True, max_length=200)
    secret = serializers.CharField(default="", allow_blank=True, max_length=20_000, write_only=True)
    ca = serializers.CharField(default="", allow_blank=True, max_length=100_000)
    node_labels = serializers.ListField(child=serializers.CharField(max_length=200), default=list, max_length=20)
    matchers = serializers.ListField(child=serializers.RegexField(r"^[^=]+=.+$"), default=list, max_length=20)
    idle_below = serializers.IntegerField(default=5, min_value=1, max_value=100)


class FoundExporterSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    series = serializers.IntegerField()
    metrics = serializers.ListField(child=serializers.CharField(), help_text="of the table, with series")
    missing = serializers.ListField(child=serializers.CharField(), help_text="of the table, without series")


class EndpointProbeSerializer(serializers.Serializer[Any]):
    """A dry test of a telemetry endpoint."""

    ok = serializers.BooleanField()
    url = serializers.CharField()
    word = serializers.CharField(help_text="the trouble in one word, empty where there is none")
    reason = serializers.CharField()
    advice = serializers.CharField()
    exporters = FoundExporterSerializer(many=True)
    named = serializers.IntegerField(help_text="nodes that series name")
    matched = serializers.IntegerField(allow_null=True, help_text="of them nodes with GPUs of the newest reading")
    of_nodes = serializers.IntegerField(allow_null=True, help_text="nodes with GPUs; null before the first reading")
    strangers = serializers.ListField(child=serializers.CharField(), help_text="in series and no node of ours")
    silent = serializers.ListField(child=serializers.CharField(), help_text="nodes of ours that no series names")


def telemetry_fields(said: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``services.TelemetryAsked``."""
    pairs = [text.partition("=") for text in said["matchers"]]
    lists = {"node_labels": tuple(said["node_labels"]), "matchers": tuple((name, value) for name, _, value in pairs)}
    return {**said, **lists}
