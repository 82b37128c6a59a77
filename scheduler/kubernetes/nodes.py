"""A Node object to what the records say of it, before topology and derived labels are known."""

from dataclasses import dataclass

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import TaintRecord
from scheduler.cluster.rows import MAX_COUNT, MAX_DEVICES, MAX_QUANTITY
from scheduler.kubernetes.accelerators import accelerator
from scheduler.kubernetes.builtin import Amounts, Node
from scheduler.kubernetes.counted import counted, known, offered_slices, unknown_devices
from scheduler.kubernetes.hardware import Hardware, read_hardware
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.quantities import count, cpu_milli, memory_mib, nano
from scheduler.kubernetes.unheld import Note

ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
ALLOCATABLE = "$.status.allocatable"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What one Node object says; two equal ones give equal records."""

    name: str
    labels: dict[str, str]
    taints: tuple[TaintRecord, ...]
    cordoned: bool
    ready: bool
    cpu_milli: int
    memory_mib: int
    max_pods: int | None
    zone: str | None
    hardware: Hardware
    by_name: tuple[str, ...]  # slices that pods find by a label
    counted: tuple[tuple[str, int], ...]  # resources beside CPU, memory and accelerators
    notes: tuple[Note, ...]


def read_node(node: Node, options: Options) -> NodeFacts:
    """Raises ``InputError`` that names the field."""
    meta, spec, status = node.metadata, node.spec, node.status
    offered = _whole(status.allocatable or status.capacity, "$.status.allocatable")
    capacity = _whole(status.capacity or status.allocatable, "$.status.capacity")
    amounts = status.allocatable or status.capacity
    hardware, notes = read_hardware(meta.labels, meta.annotations, capacity, offered, options)
    vendors = dict(options.vendors)
    there = {name: max(capacity.get(name, 0), offered.get(name, 0)) for name in {*capacity, *offered}}
    found = counted({n: nano(t, ALLOCATABLE, n) for n, t in amounts.items()}, vendors, ALLOCATABLE, down=True)
    if hardware.gpus > MAX_DEVICES:
        raise InputError("$.status.capacity", hardware.gpus, f"more than {MAX_DEVICES} devices")
    return NodeFacts(
        name=meta.name,
        labels=meta.labels,
        taints=tuple(TaintRecord(key=t.key, value=t.value or None, effect=_effect(t.effect)) for t in spec.taints),
        # A node that is being deleted takes nothing more, cordoned or not
        cordoned=spec.unschedulable or meta.deletion_timestamp is not None,
        ready=any(c.type == "Ready" and c.status == "True" for c in status.conditions),
        cpu_milli=_within(cpu_milli(amounts.get("cpu", 0), "$.status.allocatable.cpu", down=True), "cpu"),
        memory_mib=_within(memory_mib(amounts.get("memory", 0), "$.status.allocatable.memory", down=True), "memory"),
        max_pods=_pods(amounts),
        zone=next((meta.labels[label] for label in ZONES if meta.labels.get(label, "").strip()), None),
        hardware=hardware,
        by_name=offered_slices(there),
        counted=tuple(found.items()),
        notes=(*notes, *unknown_devices(name for name in there if there[name] and not known(name, vendors))),
    )


def _whole(amounts: Amounts, path: str) -> dict[str, int]:
    """Resources of other domains, which are counted in whole numbers."""
    found = {name: count(text, f"{path}.{name}") for name, text in amounts.items() if "/" in name}
    for name, number in found.items():
        told = accelerator(name)
        if number > MAX_DEVICES and told is not None and told.sort != "share":  # before anybody lays them on devices
            raise InputError(f"{path}.{name}", number, f"more than {MAX_DEVICES} devices")
    return found


def _pods(amounts: Amounts) -> int | None:
    found = count(amounts["pods"], "$.status.allocatable.pods") if "pods" in amounts else None
    return None if found is None else min(found, MAX_COUNT)


def _within(value: int, name: str) -> int:
    if value > MAX_QUANTITY:
        raise InputError(f"$.status.allocatable.{name}", value, f"must be at most {MAX_QUANTITY}")
    return value


def _effect(effect: str) -> str:
    if effect not in EFFECTS:
        raise InputError("$.spec.taints", effect, f"expected one of {', '.join(EFFECTS)}")
    return effect
