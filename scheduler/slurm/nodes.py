"""Nodes of Slurm as records: what GRES they have and use, and whether their state lets anything start on them.

Rows are those of slurmrestd: ``name``, ``gres``, ``gres_used``, ``state``, ``cpus``, ``real_memory`` (MiB).  Both its
forms are read: ``state`` as text (``IDLE+DRAIN``, ``DOWN*``) or list, numbers plain or ``{set, infinite, number}``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import DEFAULT_CLUSTER, NodeRecord, OwnerRecord, PodRecord
from scheduler.cluster.rows import MAX_QUANTITY
from scheduler.slurm.gres import Gres, gpus, read_gres

NAMESPACE = "slurm"
UNUSABLE = {"DOWN", "ERROR", "FUTURE", "UNKNOWN", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"}
CORDONED = {"DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "MAINT", "REBOOT_REQUESTED", "REBOOT_ISSUED", "INVAL"}
# Marks behind a state as sinfo and scontrol print it
MARKS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "%": "POWERING_DOWN",
    "$": "MAINT",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "!": "POWERING_DOWN",
    "-": "PLANNED",
}


@dataclass(frozen=True, slots=True)
class Pile:
    """GPUs of one type, or slices of one profile, of a node; ``indices`` = devices in use where Slurm names them."""

    kind: str
    profile: str
    total: int
    used: int
    indices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """``notes`` say what the record cannot: several models in one node, slices of an unknown number of devices."""

    record: NodeRecord
    piles: tuple[Pile, ...]
    notes: tuple[str, ...]

    @property
    def whole(self) -> int:
        return sum(pile.total for pile in self.piles if not pile.profile)

    @property
    def used(self) -> int:
        return sum(pile.used for pile in self.piles if not pile.profile)

    @property
    def free(self) -> int:
        """Whole GPUs that a job could get now."""
        return max(self.whole - self.used, 0) if self.record.ready and not self.record.cordoned else 0


def read_nodes(rows: Sequence[Mapping[str, object]], cluster: str = DEFAULT_CLUSTER) -> list[SlurmNode]:
    """In the order of the rows; raises ``InputError`` that names the row and the field."""
    return [_node(row, f"$.nodes[{i}]", cluster) for i, row in enumerate(rows)]


def _node(row: Mapping[str, object], path: str, cluster: str) -> SlurmNode:
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{path}.name", name, "expected the name of a node")
    piles = _piles(
        gpus(read_gres(_text(row, "gres", path), f"{path}.gres")),
        gpus(read_gres(_text(row, "gres_used", path), f"{path}.gres_used")),
    )
    flags = _flags(row.get("state"), f"{path}.state")
    whole = [pile for pile in piles if not pile.profile]
    model = max(whole, key=lambda pile: (pile.total, pile.kind), default=Pile("", "", 0, 0)).kind
    record = NodeRecord(
        name=name,
        cluster=cluster,
        gpus=sum(pile.total for pile in whole),
        gpu_model=model or ("gpu" if whole else ""),
        cpu_milli=_number(row, "cpus", path) * 1000,
        memory_mib=_number(row, "real_memory", path),
        cordoned=bool(flags & CORDONED),
        ready=not flags & UNUSABLE,
    )
    return SlurmNode(record, piles, _notes(piles, model))


def _piles(total: tuple[Gres, ...], used: tuple[Gres, ...]) -> tuple[Pile, ...]:
    """What is in use by type; use of no type is that of the only type there is."""
    found = []
    kinds = list(dict.fromkeys(entry.kind for entry in total))
    for kind in kinds:
        mine = [u for u in used if u.kind == kind or (not u.kind and len(kinds) == 1)]
        profile = next(entry.profile for entry in total if entry.kind == kind)
        indices = tuple(sorted({i for u in mine for i in u.indices}))
        count = sum(entry.count for entry in total if entry.kind == kind)
        found.append(Pile(kind, profile, count, sum(u.count for u in mine), indices))
    return tuple(found)


def _notes(piles: tuple[Pile, ...], model: str) -> tuple[str, ...]:
    whole = [pile.kind or "gpu" for pile in piles if not pile.profile and pile.total]
    sliced = [f"{pile.total} x {pile.profile}" for pile in piles if pile.profile]
    mixed = [f"several models, counted as {model}: {', '.join(whole)}"] if len(whole) > 1 else []
    return (*mixed, *([f"slices of unknown devices are not counted: {', '.join(sliced)}"] if sliced else []))


def in_use(nodes: Sequence[SlurmNode]) -> list[PodRecord]:
    """One pod for the devices of each type that are in use on a node, because Slurm's nodes do not say by which job."""
    found = []
    for node in nodes:
        for pile in node.piles:
            if pile.profile or not pile.used:
                continue
            named = pile.indices if len(pile.indices) == pile.used and _fit(pile.indices, node) else ()
            found.append(
                PodRecord(
                    name=f"in-use-{node.record.name}-{pile.kind or 'gpu'}",
                    namespace=NAMESPACE,
                    cluster=node.record.cluster,
                    node=node.record.name,
                    gpus=pile.used,
                    devices=list(named),
                    owner=OwnerRecord(kind="Slurm"),
                    locked=True,
                    locked_by=NAMESPACE,
                    lock_reason="jobs that nodes do not name",
                    move="never",
                )
            )
    return found


def _fit(indices: tuple[int, ...], node: SlurmNode) -> bool:
    """Devices of several types are numbered by type or by node, which nobody says: then no device is named."""
    return len(node.piles) == 1 and all(i < node.record.gpus for i in indices)


def _flags(state: object, path: str) -> set[str]:
    """All words of a state, with its marks spelled out."""
    words = state if isinstance(state, list) else str(state or "").split("+")
    found: set[str] = set()
    for word in words:
        text = str(word).strip().upper()
        while text and text[-1] in MARKS:
            found.add(MARKS[text[-1]])
            text = text[:-1]
        found.add(text)
    found.discard("")
    if not found:
        raise InputError(path, state, "expected the state of a node")
    return found


def _text(row: Mapping[str, object], field: str, path: str) -> str | None:
    value = row.get(field)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{path}.{field}", value, "expected text")
    return value


def _number(row: Mapping[str, object], field: str, path: str) -> int:
    value = row.get(field, 0)
    if isinstance(value, Mapping):
        value = value.get("number", 0) if value.get("set") and not value.get("infinite") else 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_QUANTITY // 1000:
        raise InputError(f"{path}.{field}", row.get(field), "expected a number")
    return value
