"""Which kinds are read, and how their JSON becomes objects: a list, or one event of a watch.

``KINDS`` is the one table: the connector asks the server for these kinds and for nothing else, and the rights that it
needs are computed from it.  One bad object never loses the others: it is returned as ``Bad``.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.cluster.strict import without_nul
from scheduler.kubernetes import builtin, custom
from scheduler.kubernetes.plain import without_nulls
from scheduler.kubernetes.seen import SeenPod
from scheduler.kubernetes.tainting import DeviceTaintRule
from scheduler.kubernetes.wire import Key, Thing

__all__ = [
    "KINDS",
    "Bad",
    "Event",
    "Key",
    "Kind",
    "Page",
    "Status",
    "Thing",
    "decode_event",
    "decode_list",
    "of_object",
]

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table.

    ``name`` is how the rest of Slackline calls it: plural and group, as a CRD is named.  ``versions`` are those known,
    newest first; the first that the server has is asked for.  Without a ``needed`` kind there is no reading.
    """

    name: str
    group: str
    versions: tuple[str, ...]
    plural: str
    namespaced: bool
    struct: type[Thing]
    why: str
    needed: bool = False
    word: str = ""  # the ``kind`` of one object


def _kind(
    word: str,
    plural: str,
    group: str,
    versions: str,
    struct: type[Thing],
    why: str,
    *,
    wide: bool = False,
    needed: bool = False,
) -> Kind:
    name = f"{plural}.{group}" if group else plural
    return Kind(name, group, tuple(versions.split()), plural, not wide, struct, why, needed, word)


KUEUE, KAI, VOLCANO, RAY, KUBEFLOW = (
    "kueue.x-k8s.io",
    "scheduling.run.ai",
    "scheduling.volcano.sh",
    "ray.io",
    "kubeflow.org",
)
DRA = "resource.k8s.io"
_ROWS = (
    _kind("Node", "nodes", "", "v1", builtin.Node, "what there is", wide=True, needed=True),
    _kind("Pod", "pods", "", "v1", SeenPod, "what uses it", needed=True),
    _kind("Namespace", "namespaces", "", "v1", builtin.Namespace, "tenant labels", wide=True),
    _kind(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        "",
        "v1",
        builtin.PersistentVolumeClaim,
        "which volume a pod mounts",
    ),
    _kind(
        "PersistentVolume",
        "persistentvolumes",
        "",
        "v1",
        builtin.PersistentVolume,
        "where a volume can be mounted",
        wide=True,
    ),
    _kind("ResourceQuota", "resourcequotas", "", "v1", builtin.ResourceQuota, "GPU caps of namespaces"),
    _kind(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "policy",
        "v1 v1beta1",  # before 1.21; an empty selector means nothing there and everything since, the careful reading
        builtin.PodDisruptionBudget,
        "how many pods may be away",
    ),
    _kind("Job", "jobs", "batch", "v1", builtin.Job, "the CronJob or JobSet above a pod's Job"),
    _kind(
        "PodGroup",
        "podgroups",
        "scheduling.k8s.io",
        "v1alpha3 v1alpha2",
        builtin.PodGroup,
        "gangs of kube-scheduler",
    ),
    _kind(
        "ResourceSlice", "resourceslices", DRA, "v1 v1beta2 v1beta1", builtin.ResourceSlice, "devices of DRA", wide=True
    ),
    _kind("ResourceClaim", "resourceclaims", DRA, "v1 v1beta2 v1beta1", builtin.ResourceClaim, "who has which device"),
    _kind(
        "DeviceTaintRule",
        "devicetaintrules",
        DRA,
        "v1 v1beta2 v1alpha3",
        DeviceTaintRule,
        "devices that people take out of use",
        wide=True,
    ),
    _kind("JobSet", "jobsets", "jobset.x-k8s.io", "v1alpha2", custom.JobSet, "gangs of jobs"),
    _kind(
        "LeaderWorkerSet",
        "leaderworkersets",
        "leaderworkerset.x-k8s.io",
        "v1",
        custom.LeaderWorkerSet,
        "gangs of a leader and its workers",
    ),
    _kind("PyTorchJob", "pytorchjobs", KUBEFLOW, "v1", custom.TrainingJob, "gangs of training jobs"),
    _kind("TFJob", "tfjobs", KUBEFLOW, "v1", custom.TrainingJob, "gangs of training jobs"),
    _kind("MPIJob", "mpijobs", KUBEFLOW, "v2beta1 v1", custom.TrainingJob, "gangs of training jobs"),
    _kind("XGBoostJob", "xgboostjobs", KUBEFLOW, "v1", custom.TrainingJob, "gangs of training jobs"),
    _kind("PaddleJob", "paddlejobs", KUBEFLOW, "v1", custom.TrainingJob, "gangs of training jobs"),
    _kind("JAXJob", "jaxjobs", KUBEFLOW, "v1", custom.TrainingJob, "gangs of training jobs"),
    _kind("RayCluster", "rayclusters", RAY, "v1 v1alpha1", custom.RayCluster, "gangs and owners of Ray pods"),
    _kind("Workload", "workloads", KUEUE, "v1beta2 v1beta1", custom.KueueWorkload, "gangs and queues of Kueue"),
    _kind("LocalQueue", "localqueues", KUEUE, "v1beta2 v1beta1", custom.LocalQueue, "which quota a namespace uses"),
    _kind(
        "ClusterQueue", "clusterqueues", KUEUE, "v1beta2 v1beta1", custom.ClusterQueue, "tenants and quotas", wide=True
    ),
    _kind("Cohort", "cohorts", KUEUE, "v1beta2 v1beta1 v1alpha1", custom.Cohort, "who lends to whom", wide=True),
    _kind(
        "ResourceFlavor",
        "resourceflavors",
        KUEUE,
        "v1beta2 v1beta1",
        custom.ResourceFlavor,
        "which GPU model a quota means",
        wide=True,
    ),
    _kind("Topology", "topologies", KUEUE, "v1beta2 v1beta1 v1alpha1", custom.Topology, "network levels", wide=True),
    _kind("PodGroup", "podgroups", KAI, "v2alpha2", custom.KaiPodGroup, "gangs of KAI"),
    _kind("Queue", "queues", KAI, "v2", custom.KaiQueue, "tenants and quotas of KAI", wide=True),
    _kind("Topology", "topologies", "kai.scheduler", "v1alpha1", custom.Topology, "network levels", wide=True),
    _kind("PodGroup", "podgroups", VOLCANO, "v1beta1", custom.VolcanoPodGroup, "gangs of Volcano"),
    _kind("Queue", "queues", VOLCANO, "v1beta1", custom.VolcanoQueue, "tenants and quotas of Volcano", wide=True),
    _kind(
        "HyperNode", "hypernodes", "topology.volcano.sh", "v1alpha1", custom.HyperNode, "the network tree", wide=True
    ),
    _kind(
        "PodGroup",
        "podgroups",
        "scheduling.x-k8s.io",
        "v1alpha1",
        custom.VolcanoPodGroup,
        "gangs of scheduler-plugins",
    ),
)
KINDS: dict[str, Kind] = {row.name: row for row in _ROWS}
_BY_WORD = {(row.group, row.word): row for row in _ROWS}


class Bad(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object that could not be read; ``name`` is empty where not even that could be."""

    kind: str
    path: str
    reason: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name or '?'}: {self.path}: {self.reason}"


class _Details(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the API server says instead of an object."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None

    @property
    def retry_after_s(self) -> int:
        return self.details.retry_after_seconds if self.details else 0


@dataclass(frozen=True, slots=True)
class Page:
    """One answer to a list; ``continue_token`` is empty on the last page, ``remaining`` None where nobody said."""

    items: tuple[Thing, ...]
    bad: tuple[Bad, ...]
    resource_version: str
    continue_token: str
    remaining: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch: an object, or a bookmark with nothing but ``resource_version``, or an error's status.

    An object that cannot be read is ``bad``; its ``resource_version`` is still known where the metadata are.
    """

    type: EventType
    object: Thing | None = None
    status: Status | None = None
    bad: Bad | None = None
    resource_version: str = ""


class _ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    resource_version: str = ""
    continue_token: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class _List[T](msgspec.Struct, frozen=True, kw_only=True, gc=False):
    items: list[T] | None
    metadata: _ListMeta = _ListMeta()


class _Line(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    type: str
    object: msgspec.Raw


class _Version(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    resource_version: str = ""


class _Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _Version = _Version()


_raw_list = msgspec.json.Decoder(_List[msgspec.Raw])
_line = msgspec.json.Decoder(_Line)
_bookmark = msgspec.json.Decoder(_Bookmark)
_status = msgspec.json.Decoder(Status)


@cache
def _decoders(kind: str) -> tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]:
    """Of a list and of one object."""
    struct = KINDS[kind].struct
    return msgspec.json.Decoder(_List[struct]), msgspec.json.Decoder(struct)  # type: ignore[valid-type]


def decode_list(kind: str, data: bytes) -> Page:
    """Read a page of a list; raises ``InputError`` if it is not JSON or not a list."""
    data = without_nul(data)
    try:
        found = _decoders(kind)[0].decode(data)
        items: tuple[Thing, ...] = tuple(found.items or ())
        bad: tuple[Bad, ...] = ()
    except msgspec.ValidationError:
        found = _envelope(data)
        items, bad = _one_by_one(kind, found.items or [])
    except msgspec.DecodeError as error:
        raise InputError("$", None, f"not valid JSON: {error}") from None
    meta = found.metadata
    return Page(items, bad, meta.resource_version, meta.continue_token, meta.remaining_item_count)


def _envelope(data: bytes) -> _List[msgspec.Raw]:
    try:
        return _raw_list.decode(data)
    except msgspec.ValidationError as error:
        raise InputError("$", None, f"not a list of objects: {error}") from None
    except msgspec.DecodeError as error:
        raise InputError("$", None, f"not valid JSON: {error}") from None


def _one_by_one(kind: str, items: list[msgspec.Raw]) -> tuple[tuple[Thing, ...], tuple[Bad, ...]]:
    read = [of_object(kind, bytes(item)) for item in items]
    return tuple(x for x in read if isinstance(x, Thing)), tuple(x for x in read if isinstance(x, Bad))


def decode_event(kind: str, data: bytes) -> Event:
    """Read one line of a watch; raises ``InputError`` if it is no event, as a line that was cut short."""
    try:
        line = _line.decode(without_nul(data))
    except msgspec.DecodeError as error:
        raise InputError("$", None, f"not an event: {error}") from None
    if line.type == "BOOKMARK":
        return Event("BOOKMARK", resource_version=_version(line.object))
    if line.type == "ERROR":
        return Event("ERROR", status=_said(line.object))
    if line.type not in ("ADDED", "MODIFIED", "DELETED"):
        raise InputError("$.type", line.type, "expected ADDED, MODIFIED, DELETED, BOOKMARK or ERROR")
    what = cast(EventType, line.type)
    found = of_object(kind, bytes(line.object))
    if isinstance(found, Bad):
        return Event(what, bad=found, resource_version=_version(line.object))
    return Event(what, object=found, resource_version=found.metadata.resource_version)


def _version(data: msgspec.Raw) -> str:
    try:
        return _bookmark.decode(data).metadata.resource_version
    except msgspec.ValidationError:
        return ""


def _said(data: msgspec.Raw) -> Status:
    try:
        return _status.decode(data)
    except msgspec.ValidationError as error:
        return Status(message=f"unreadable status: {error}")


def of_object(kind: str, data: bytes) -> Thing | Bad:
    """One object of a kind from valid JSON.  A field that is null is a field that is absent."""
    decoder, data = _decoders(kind)[1], without_nul(data)
    try:
        return cast(Thing, decoder.decode(data))
    except msgspec.ValidationError:
        plain = without_nulls(msgspec.json.decode(data))
    try:
        return cast(Thing, decoder.decode(msgspec.json.encode(plain)))
    except msgspec.ValidationError as error:
        return _bad(kind, plain, str(error))


def of_plain(kind: str, plain: dict[str, Any]) -> Thing | Bad:
    """One object of a kind from decoded JSON."""
    return of_object(kind, msgspec.json.encode(plain))


def kind_of(api_version: str, word: str) -> Kind | None:
    """The row of an object that says what it is, None for a kind that is not read."""
    group, _, version = api_version.rpartition("/")
    return _BY_WORD.get((group, word)) if version else None


def _bad(kind: str, plain: Any, message: str) -> Bad:
    what, _, where = message.partition(" - at `")
    meta = plain.get("metadata") if isinstance(plain, dict) else None
    names = {key: meta.get(key) for key in ("namespace", "name")} if isinstance(meta, dict) else {}
    known = {key: name for key, name in names.items() if isinstance(name, str)}
    return Bad(kind=kind, path=where.rstrip("`") or "$", reason=what[:1].lower() + what[1:], **known)
