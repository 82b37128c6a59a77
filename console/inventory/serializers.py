"""The API's rows: the same dataclasses that the pages show, field by field."""

from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

from rest_framework import serializers

from console.inventory.choices import Behaviour, Levels, UploadKind, Way
from console.inventory.models import Observation, Upload
from console.inventory.selectors.clusters import SourceCard, UnheldRow
from console.inventory.selectors.nodes import NodeCard, NodeRow
from console.inventory.selectors.overview import FleetLayoutRow, Tile
from console.inventory.selectors.pods import PodCard, PodRow
from console.inventory.selectors.pools import Fits, PoolChoice, ShapeTotal, Waterfall
from console.inventory.selectors.series import Bucket
from console.inventory.selectors.since import Since
from console.inventory.selectors.sources import SourceRow
from console.inventory.selectors.workloads import WorkloadCard

type Serializer = type[serializers.Serializer[Any]]
_PLAIN: dict[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
}


@cache
def rows_of(row_type: type) -> Serializer:
    """A serializer with one field for each field of a row type."""
    hints = get_type_hints(row_type)
    found: dict[str, Any] = {field.name: _field(hints[field.name]) for field in fields(row_type)}
    found["__doc__"] = row_type.__doc__
    return type(f"{row_type.__name__}Serializer", (serializers.Serializer,), found)


def _field(hint: Any, **options: Any) -> Any:
    """Optional types may be null, tuples are lists, rows within rows are objects."""
    inner = [each for each in get_args(hint) if each is not type(None)]
    if get_origin(hint) in (Union, UnionType):
        if len(inner) == len(get_args(hint)):
            return _field(inner[-1] if float in inner else inner[0], **options)
        wide = float if float in inner else inner[0]
        return _field(wide, allow_null=True, **options)
    if get_origin(hint) is tuple:
        return _list(inner, options)
    if is_dataclass(hint):
        return rows_of(hint)(**options)  # type: ignore[arg-type]
    return _PLAIN[hint](**options)


def _list(inner: list[Any], options: dict[str, Any]) -> Any:
    """``tuple[X, ...]`` is a list of X, ``tuple[X, Y]`` a list of two."""
    if len(inner) == 2 and inner[1] is not Ellipsis:
        return serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2, **options)
    child = inner[0]
    if is_dataclass(child):
        return rows_of(child)(many=True, **options)  # type: ignore[arg-type]
    return serializers.ListField(child=_field(child), **options)


NodeRowSerializer = rows_of(NodeRow)
NodeCardSerializer = rows_of(NodeCard)
PodRowSerializer = rows_of(PodRow)
PodCardSerializer = rows_of(PodCard)
SourceRowSerializer = rows_of(SourceRow)
WorkloadCardSerializer = rows_of(WorkloadCard)
TileSerializer = rows_of(Tile)
FleetLayoutSerializer = rows_of(FleetLayoutRow)
PoolChoiceSerializer = rows_of(PoolChoice)
WaterfallSerializer = rows_of(Waterfall)
ShapeTotalSerializer = rows_of(ShapeTotal)
FitsSerializer = rows_of(Fits)
BucketSerializer = rows_of(Bucket)
SinceSerializer = rows_of(Since)
SourceCardSerializer = rows_of(SourceCard)
UnheldRowSerializer = rows_of(UnheldRow)


class _PageSerializer(serializers.Serializer[Any]):
    """A page of a list that stands still: its cursors name the revision that it was cut from."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    total = serializers.IntegerField()
    start = serializers.IntegerField()
    revision = serializers.IntegerField()


class NodePageSerializer(_PageSerializer):
    results = NodeRowSerializer(many=True)


class PodPageSerializer(_PageSerializer):
    results = PodRowSerializer(many=True)


class ObservationSerializer(serializers.ModelSerializer[Observation]):
    source = serializers.CharField(source="source.name")  # type: ignore[assignment]  # DRF names its own so
    measured = serializers.BooleanField()

    class Meta:
        model = Observation
        fields: ClassVar = [
            "revision",
            "source",
            "digest",
            "taken_at",
            "observed_at",
            "counts",
            "changed",
            "warnings",
            "measured",
        ]
        read_only_fields = fields


class UploadSerializer(serializers.ModelSerializer[Upload]):
    """What became of files: ``refusal`` has path, value and reason; ``report`` counts, warnings and unknown fields."""

    source = serializers.CharField(source="source.name", allow_null=True, default=None)  # type: ignore[assignment]

    class Meta:
        model = Upload
        fields: ClassVar = [
            "id",
            "kind",
            "name",
            "state",
            "refusal",
            "report",
            "source",
            "created_at",
            "finished_at",
        ]
        read_only_fields = fields


class LoadSerializer(serializers.Serializer[Any]):
    """Files of a new source: ``snapshot`` for kind snapshot, ``nodes`` and ``pods`` for the tables."""

    kind = serializers.ChoiceField(choices=UploadKind.choices, default=UploadKind.SNAPSHOT)
    name = serializers.CharField(max_length=100)
    behaviour = serializers.ChoiceField(choices=Behaviour.choices, default=Behaviour.FILE)
    snapshot = serializers.FileField(required=False, allow_empty_file=True)
    nodes = serializers.FileField(required=False, allow_empty_file=True)
    pods = serializers.FileField(required=False, allow_empty_file=True)
    load = serializers.FloatField(min_value=0, max_value=1.5, default=0.9)
    lock = serializers.FloatField(min_value=0, max_value=1, default=0.4)
    seed = serializers.IntegerField(min_value=0, max_value=2**31, default=0)


def _texts(words: str, longest: int = 300) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(min_length=1, max_length=longest), max_length=100, default=list, help_text=words
    )


def _pairs(given: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name.strip(), value.strip()) for name, _, value in (one.partition("=") for one in given))


class ClusterSettingsSerializer(serializers.Serializer[Any]):
    """How a Kubernetes cluster is reached and read.  ``kubeconfig`` and what it holds never come out again."""

    way = serializers.ChoiceField(choices=Way.choices, default=Way.KUBECONFIG.value)
    kubeconfig = serializers.CharField(
        write_only=True, required=False, trim_whitespace=False, min_length=1, max_length=1 << 20
    )
    context = serializers.CharField(  # type: ignore[assignment]  # DRF names its own so
        required=False, default="", allow_blank=True, max_length=253
    )
    period_s = serializers.IntegerField(min_value=2, max_value=3600, default=10)
    levels = serializers.ChoiceField(choices=Levels.choices, default=Levels.AUTO.value)
    custom_levels = _texts("level=node label, the widest first; with levels: custom")
    tenant_labels = _texts("looked up on pods, then on their namespace")
    namespace_tenants = serializers.BooleanField(default=True)
    low_classes = _texts("priority classes whose pods are LP")
    low_below = serializers.IntegerField(
        allow_null=True, default=None, min_value=-(2**31), max_value=2**31 - 1, help_text="pods below are LP"
    )
    low_labels = _texts("key=value; pods with such a label are LP")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name in ("custom_levels", "low_labels"):
            if any(not all(pair) for pair in _pairs(attrs.get(name, []))):
                raise serializers.ValidationError({name: ["Each is a name, an equals sign and a value."]})
        return attrs


class NameSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=100)


class ClusterSerializer(ClusterSettingsSerializer):
    name = serializers.CharField(max_length=100)


def cluster_fields(said: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of ``services.Asked``."""
    given = said.get("kubeconfig")
    custom = said["levels"] == Levels.CUSTOM
    return {
        "name": name,
        "way": said["way"],
        "kubeconfig": given.encode() if given is not None else None,
        "context": said["context"],
        "period_s": said["period_s"],
        "levels": _pairs(said["custom_levels"]) if custom else said["levels"],
        "tenant_labels": tuple(said["tenant_labels"]),
        "namespace_tenants": said["namespace_tenants"],
        "low_classes": tuple(said["low_classes"]),
        "low_below": said["low_below"],
        "low_labels": _pairs(said["low_labels"]),
    }


class FoundSerializer(serializers.Serializer[Any]):
    """One kind: whether it can be read, why not, what to do, and the rule that its ClusterRole lacks."""

    kind = serializers.CharField()
    why = serializers.CharField()
    needed = serializers.BooleanField()
    state = serializers.CharField(help_text="readable, forbidden, absent or failed")
    reason = serializers.CharField()
    advice = serializers.CharField()
    rule = serializers.CharField()


class ProbeSerializer(serializers.Serializer[Any]):
    """A dry test of a connection."""

    ok = serializers.BooleanField()
    server = serializers.CharField()
    server_version = serializers.CharField()
    skew_s = serializers.FloatField(allow_null=True)
    reason = serializers.CharField()
    advice = serializers.CharField()
    kinds = FoundSerializer(many=True)
