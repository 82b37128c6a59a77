"""A Pod object to what it says by itself; what other objects add is found when the record is made (``resolving``)."""

import re
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.cluster.rows import MAX_DEVICES, MAX_QUANTITY, MAX_TIME
from scheduler.kubernetes.accelerators import accelerator
from scheduler.kubernetes.builtin import BackedResources, Pod
from scheduler.kubernetes.constraints import Constraints, read_constraints
from scheduler.kubernetes.counted import asked_slices, counted
from scheduler.kubernetes.gangs import Hint, Wish, read_hint, read_wish
from scheduler.kubernetes.marks import Marks, read_marks
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.owners import Owner, read_owner
from scheduler.kubernetes.quantities import MIB, NANO
from scheduler.kubernetes.requests import effective
from scheduler.kubernetes.seen import SeenPod, template_key, typed
from scheduler.kubernetes.unheld import Note
from scheduler.kubernetes.wire import seconds

MICRO = NANO // 1000
RESERVATIONS = ("kai-resource-reservation", "runai-reservation")  # namespaces of pods that stand for shared devices
HAMI_POD = "hami.io/vgpu-devices-allocated"
KAI_FRACTION, KAI_MEMORY, KAI_DEVICES = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
QUEUE_LABELS = ("kai.scheduler/queue", "runai/queue")
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
NOMINATED = Note(
    "nomination", "ignored", "$.status.nominatedNodeName", "pods are ended for it on a node; that room counts as free"
)
ENDING = Note("disruption", "pinned", "$.status.conditions", "DisruptionTarget: it is about to be ended")
LOCAL_DATA = Note("local_data", "ignored", "$.spec.volumes", "files on the node do not move with the pod")
_SHARE = re.compile(r"(?=\.?[0-9])[0-9]{0,9}(\.[0-9]{0,18})?([eE][+-]?[0-9]{1,2})?", re.ASCII)
VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"


class Queues(msgspec.Struct, frozen=True, kw_only=True):
    """Names by which quota systems know whose pod it is."""

    kai: str = ""
    kueue: str = ""
    volcano: str = ""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Accelerators that a pod asks for, by whatever way: resources, shares of a device, devices already given."""

    resources: tuple[tuple[str, int], ...] = ()
    fraction_milli: int = 0
    memory_mib: int = 0
    devices: int = 1
    given: tuple[tuple[str, int, int], ...] = ()  # uuid, MiB, percent of cores
    odd: str = ""  # the annotation of a share that is not understood

    @property
    def wants(self) -> bool:
        return bool(self.resources or self.fraction_milli or self.memory_mib or self.given or self.odd)


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What the bytes of a pod's template say: ``resources`` are accelerators."""

    cpu_milli: int
    memory_mib: int
    resources: tuple[tuple[str, int], ...]
    by_name: tuple[str, ...]  # slices, which only nodes with a label offer
    counted: tuple[tuple[str, int], ...]  # resources beside CPU, memory and accelerators
    constraints: Constraints
    notes: tuple[Note, ...]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What many pods share."""

    template: Template
    asked: Asked
    marks: Marks
    wish: Wish | None
    queues: Queues
    priority: int
    priority_class: str
    notes: tuple[Note, ...]

    @property
    def constraints(self) -> Constraints:
        return self.template.constraints


class PodFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one Pod object says; two equal ones give equal records where their surroundings are equal."""

    name: str
    namespace: str
    uid: str
    node: str
    phase: str
    labels: dict[str, str]
    shape: Shape
    owner: Owner
    hint: Hint | None
    ready: bool
    terminating: bool
    deleted_at_s: int | None
    grace_s: int | None
    started_s: int | None
    volumes: tuple[str, ...]  # names of PersistentVolumeClaims
    device_claims: tuple[tuple[str, bool], ...]  # names of ResourceClaims, and whether each is of the pod alone
    backed: tuple[str, ...]  # resources that the last of these claims stands for
    reservation: bool


class Pool:
    """One instance of each of equal things, because a fleet has few kinds of pods and many pods of each kind."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._labels: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        self._templates: dict[object, Template] = {}
        self._shapes: dict[object, Shape] = {}

    def one[T](self, thing: T) -> T:
        return self._known.setdefault(thing, thing)  # type: ignore[no-any-return]

    def labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        key = tuple(sorted(labels.items()))
        found = self._labels.get(key)
        if found is None:
            found = self._labels[key] = {sys.intern(name): sys.intern(value) for name, value in key}
        return found

    def template(self, pod: SeenPod, vendors: Mapping[str, str]) -> Template:
        key = template_key(pod)
        found = self._templates.get(key)
        if found is None:
            found = self._templates[key] = self.one(_template(typed(pod), vendors))
        return found

    def shape(self, shape: Shape) -> Shape:
        """Templates are held here, so their addresses stand for them."""
        key = (
            id(shape.template),
            shape.asked,
            shape.marks,
            shape.wish,
            shape.queues,
            shape.priority,
            shape.priority_class,
            shape.notes,
        )
        return self._shapes.setdefault(key, shape)

    @property
    def size(self) -> int:
        return len(self._known) + len(self._labels) + len(self._templates) + len(self._shapes)


def read_pod(pod: SeenPod, options: Options, pool: Pool) -> PodFacts:
    """Raises ``InputError`` that names the field."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    deleted = seconds(meta.deletion_timestamp)
    grace = _grace(meta.deletion_grace_period_seconds) if deleted is not None else None
    backed = status.extended_resource_claim_status
    owner = read_owner(meta)
    group = spec.scheduling_group.pod_group_name if spec.scheduling_group else None
    volumes = [v for v in spec.volumes if v.persistent_volume_claim or v.ephemeral] if spec.volumes else ()
    return PodFacts(
        name=meta.name,
        namespace=sys.intern(meta.namespace),
        uid=meta.uid,
        node=sys.intern(spec.node_name),
        phase=status.phase,
        labels=pool.labels(meta.labels),
        shape=_shape(pod, options, pool),
        owner=pool.one(owner),
        hint=pool.one(read_hint(meta, group)),
        ready=any(c.type == "Ready" and c.status == "True" for c in status.conditions),
        terminating=deleted is not None,
        deleted_at_s=_deleted(deleted, grace),
        grace_s=grace,
        started_s=seconds(status.start_time),
        volumes=tuple(
            v.persistent_volume_claim.claim_name if v.persistent_volume_claim else f"{meta.name}-{v.name}"
            for v in volumes
        ),
        device_claims=_device_claims(pod) if spec.resource_claims or backed is not None else (),
        backed=pool.one(_backed(backed)) if backed is not None else (),
        reservation=meta.namespace in RESERVATIONS,
    )


def _grace(given: int | None) -> int | None:
    """Seconds; None for those that nobody can have meant."""
    return min(given, MAX_TIME) if given is not None and given >= 0 else None


def _deleted(end: int | None, grace: int | None) -> int | None:
    """The API names the end of the grace period, the record the instant of the deletion; one before 1970 is unknown."""
    began = -1 if end is None else end - (grace or 0)
    return began if began >= 0 else None


def _device_claims(pod: SeenPod) -> tuple[tuple[str, bool], ...]:
    made = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
    found = []
    for claim in pod.spec.resource_claims:
        name = claim.resource_claim_name or made.get(claim.name) or ""
        found.append((name, claim.resource_claim_name is None))
    backed = pod.status.extended_resource_claim_status
    if backed is not None:
        found.append((backed.resource_claim_name, True))
    return tuple(found)


def _backed(found: BackedResources) -> tuple[str, ...]:
    return tuple(sorted({request.resource_name for request in found.request_mappings}))


def _shape(pod: SeenPod, options: Options, pool: Pool) -> Shape:
    meta, spec = pod.metadata, pod.spec
    template = pool.template(pod, dict(options.vendors))
    marks, notes = read_marks(meta.labels, meta.annotations, options)
    notes = (*notes, *_circumstances(pod))
    return pool.shape(
        Shape(
            template=template,
            asked=_asked(template.resources, meta.annotations),
            marks=marks,
            wish=read_wish(meta.annotations) if meta.annotations else None,
            queues=_queues(meta.labels, meta.annotations),
            priority=spec.priority or 0,
            priority_class=spec.priority_class_name,
            notes=notes,
        )
    )


def _circumstances(pod: SeenPod) -> tuple[Note, ...]:
    """What is so for this pod at this time, and no field of its record."""
    spec, status = pod.spec, pod.status
    notes: tuple[Note, ...] = ()
    if spec.scheduling_gates and not spec.node_name:
        gates = ", ".join(gate.name for gate in spec.scheduling_gates)
        notes = (Note("gate", "ignored", "$.spec.schedulingGates", gates),)
    if status.nominated_node_name and not spec.node_name:
        notes += (NOMINATED,)
    if any(c.type == "DisruptionTarget" and c.status == "True" for c in status.conditions):
        notes += (ENDING,)
    if any(v.host_path or (v.empty_dir and v.empty_dir.medium != "Memory") for v in spec.volumes):
        notes += (LOCAL_DATA,)
    return notes


def _template(pod: Pod, vendors: Mapping[str, str]) -> Template:
    amounts = effective(pod)
    asked = [name for name, value in amounts.items() if value]
    constraints, notes = read_constraints(pod)
    return Template(
        cpu_milli=_within(-(-amounts.get("cpu", 0) // MICRO), "cpu"),
        memory_mib=_within(-(-amounts.get("memory", 0) // (NANO * MIB)), "memory"),
        resources=_accelerators(amounts, vendors),
        by_name=asked_slices(asked),
        counted=tuple(counted(amounts, vendors, "$.spec.containers.resources", down=False).items()),
        constraints=constraints,
        notes=notes,
    )


def _within(value: int, name: str) -> int:
    if value > MAX_QUANTITY:
        raise InputError(f"$.spec.containers.resources.{name}", value, f"must be at most {MAX_QUANTITY}")
    return value


NOTHING = Asked()


def _accelerators(amounts: Mapping[str, int], vendors: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    found = []
    for name, value in sorted(amounts.items()):
        told = accelerator(name)
        if "/" in name and value and (name in vendors or told is not None):
            number = -(-value // NANO)
            if number > MAX_DEVICES and (told is None or told.sort != "share"):  # shares may be bytes
                raise InputError(f"$.spec.containers.resources.{name}", number, f"more than {MAX_DEVICES} devices")
            found.append((name, number))
    return tuple(found)


def _asked(resources: tuple[tuple[str, int], ...], annotations: Mapping[str, str]) -> Asked:
    fraction, memory = _milli(annotations.get(KAI_FRACTION)), _integer(annotations.get(KAI_MEMORY))
    given = _given(annotations[HAMI_POD]) if HAMI_POD in annotations else ()
    number = _integer(annotations.get(KAI_DEVICES))
    read = {KAI_FRACTION: fraction, KAI_MEMORY: memory, KAI_DEVICES: number}
    odd = next((name for name, amount in read.items() if name in annotations and not amount), "")
    if not (resources or fraction or memory or given or odd):
        return NOTHING
    return Asked(
        resources=resources,
        fraction_milli=0 if odd else fraction,
        memory_mib=0 if odd else memory,
        devices=min(max(number, 1), MAX_DEVICES),
        given=given,
        odd=f"{odd}: {annotations[odd]!r}" if odd else "",
    )


def _milli(text: str | None) -> int:
    """A decimal share of one in thousandths, rounded up; 0 for anything else."""
    if text is None or not _SHARE.fullmatch(text):
        return 0
    share: int = -(-Fraction(text) * 1000 // 1)
    return min(share, 1000)


def _integer(text: str | None) -> int:
    return min(int(text), MAX_QUANTITY) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0


def _given(text: str) -> tuple[tuple[str, int, int], ...]:
    """HAMi's annotation: ``uuid,type,MiB,cores`` ended by ``:``, containers ended by ``;``."""
    found: dict[str, tuple[int, int]] = {}
    for part in text.replace(";", ":").split(":"):
        words = part.split(",")
        if len(words) == 4 and words[0]:
            memory, cores = found.get(words[0], (0, 0))
            found[words[0]] = (memory + _integer(words[2]), cores + _integer(words[3]))
    return tuple((uuid, *amounts) for uuid, amounts in sorted(found.items()))


NO_QUEUE = Queues()


def _queues(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Queues:
    kai = next((labels[label] for label in QUEUE_LABELS if label in labels), "")
    kueue = labels.get(KUEUE_QUEUE, "")
    volcano = annotations.get(VOLCANO_QUEUE) or labels.get("volcano.sh/queue-name", "")
    return Queues(kai=kai, kueue=kueue, volcano=volcano) if kai or kueue or volcano else NO_QUEUE
