"""What has changed under a plan: the own fields of the pods and nodes it touches, and what no longer holds.

Everything else may change freely.  Times, use and power are no part of a plan's grounds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import msgspec
import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import ABSENT, MOVE_MODES, NO_LIMIT, UNKNOWN, Bools, Snapshot
from scheduler.plan.goal import CLEARING
from scheduler.plan.plan import ROLLBACK, Plan
from scheduler.plan.resolve import Rows, resolve
from scheduler.plan.verify import Violation, still_legal

Value = str | int | None
Read = Callable[[Snapshot, int], Value]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One field of one object, and the moves (by index) that rest on it; None = not there."""

    moves: tuple[int, ...]
    object_kind: str  # "pod", "node", "budget", "gang", "plan" or "cluster"
    object: str
    field: str
    was: Value
    now: Value


def changes(plan: Plan, base: Snapshot, newest: Snapshot) -> tuple[Change, ...]:
    """Empty while the plan still holds.  ``base`` is what it was made on, ``newest`` is what is there now."""
    every = tuple(range(len(plan.moves)))
    if not every:
        return ()
    old = resolve(plan, base)
    try:
        new = resolve(plan, newest)
    except InputError:
        row = Change(
            moves=every, object_kind="cluster", object=plan.cluster, field="cluster", was=plan.cluster, now=None
        )
        return (row,)
    found = [*_pod_changes(plan, old, new), *_node_changes(plan, old, new)]
    hit = {move for change in found for move in change.moves}
    found += _faults(plan, new, hit)
    if plan.kind != ROLLBACK and plan.aim is None:  # a goal may use empty nodes
        found += _left_empty(plan, old, new)
    return tuple(found)


def _pod_changes(plan: Plan, old: Rows, new: Rows) -> Iterator[Change]:
    for i, move in enumerate(plan.moves):
        for field, was, now in _differences(POD_FIELDS, old.snapshot, old.pod[i], new.snapshot, new.pod[i], "pod"):
            yield Change(moves=(i,), object_kind="pod", object=move.pod, field=field, was=was, now=now)


def _node_changes(plan: Plan, old: Rows, new: Rows) -> Iterator[Change]:
    touched: dict[str, list[int]] = defaultdict(list)
    for i, move in enumerate(plan.moves):
        for name in dict.fromkeys((move.source, move.target, move.drains)):
            touched[name].append(i)
    cleared = set(plan.aim.nodes) if plan.aim is not None and plan.aim.kind in CLEARING else set()
    for name, moves in touched.items():
        was_row, now_row = old.node.get(name, UNKNOWN), new.node.get(name, UNKNOWN)
        fields = UNASKED if name in cleared else NODE_FIELDS
        for field, was, now in _differences(fields, old.snapshot, was_row, new.snapshot, now_row, "node"):
            yield Change(moves=tuple(moves), object_kind="node", object=name, field=field, was=was, now=now)


def _differences(
    fields: dict[str, Read], old: Snapshot, old_row: int, new: Snapshot, new_row: int, kind: str
) -> Iterator[tuple[str, Value, Value]]:
    if old_row == UNKNOWN or new_row == UNKNOWN:
        if old_row != new_row:
            yield kind, _presence(old_row), _presence(new_row)
        return
    for name, read in fields.items():
        was, now = read(old, old_row), read(new, new_row)
        if was != now:
            yield name, was, now


def _presence(row: int) -> Value:
    return None if row == UNKNOWN else "present"


def _faults(plan: Plan, new: Rows, hit: set[int]) -> Iterator[Change]:
    """Faults of moves that no changed field explains yet, such as room that others took."""
    for violation in still_legal(plan, new):
        moves = _concerned(plan, violation)
        if not hit.issuperset(moves):
            yield Change(
                moves=moves,
                object_kind=_kind(violation, new),
                object=violation.object,
                field=violation.kind,
                was=violation.was,
                now=violation.detail if violation.now is None else violation.now,
            )


def _concerned(plan: Plan, violation: Violation) -> tuple[int, ...]:
    if violation.move is not None:
        return (violation.move,)
    if violation.kind in ("emptied_nodes", "goal") and any(move.drains == violation.object for move in plan.moves):
        return tuple(i for i, move in enumerate(plan.moves) if move.drains == violation.object)
    return tuple(range(len(plan.moves)))


def _kind(violation: Violation, new: Rows) -> str:
    if violation.kind in ("budget", "gang") and violation.move is None:
        return violation.kind
    if violation.object in new.node:
        return "node"
    return "plan" if violation.move is None else "pod"


def _left_empty(plan: Plan, old: Rows, new: Rows) -> Iterator[Change]:
    """Targets whose own pods all ended since: using them would fill an empty node.

    A target that stands empty because its pods have moved elsewhere is just between two waves of this plan.
    """
    alive = None
    moves: dict[int, list[int]] = defaultdict(list)
    for i, target in enumerate(new.target):
        if UNKNOWN not in (target, old.target[i]):
            moves[target].append(i)
    busy = set(new.snapshot.pod_node[_working(new.snapshot)].tolist())
    for target, found in moves.items():
        if target in busy:
            continue
        alive = _alive(new.snapshot) if alive is None else alive
        before = _keys_on(old.snapshot, old.target[found[0]])
        if before and not before & alive:
            name = new.snapshot.node_name[target]
            yield Change(moves=tuple(found), object_kind="node", object=name, field="pods", was=len(before), now=0)


def _working(snapshot: Snapshot) -> Bools:
    return np.asarray(snapshot.pod_live & ~snapshot.pod_agent)


def _alive(snapshot: Snapshot) -> set[str]:
    return {snapshot.pod_key(p) for p in _working(snapshot).nonzero()[0].tolist()}


def _keys_on(snapshot: Snapshot, node: int) -> set[str]:
    rows = (_working(snapshot) & (snapshot.pod_node == node)).nonzero()[0].tolist()
    return {snapshot.pod_key(p) for p in rows}


def _number(value: int) -> int | None:
    return None if value in (ABSENT, NO_LIMIT) else value


def _pairs(pairs: Iterable[tuple[str, object]]) -> str:
    return ";".join(f"{key}={value}" for key, value in pairs)


def _column(name: str) -> Read:
    return lambda snapshot, row: _number(int(getattr(snapshot, name)[row]))


def _spec(name: str, kind: str = "pod") -> Read:
    def read(snapshot: Snapshot, row: int) -> Value:
        specs = getattr(snapshot, f"{kind}_specs")
        value = getattr(specs[int(getattr(snapshot, f"{kind}_spec")[row])], name)
        if value is None or value == ():
            return None
        if name in ("labels", "node_selector", "mig", "resources"):
            return _pairs(value)
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    return read


def _name(table: str, column: str) -> Read:
    def read(snapshot: Snapshot, row: int) -> Value:
        i = int(getattr(snapshot, column)[row])
        return None if i < 0 else str(getattr(snapshot, table)[i])

    return read


def _place(snapshot: Snapshot, row: int) -> Value:
    node = int(snapshot.pod_node[row])
    return snapshot.node_name[node] if node >= 0 else snapshot.pod_orphan_node.get(row)


def _lender(snapshot: Snapshot, row: int) -> Value:
    lender = int(snapshot.pod_lender[row])
    return None if lender == UNKNOWN else snapshot.pod_key(lender)


def _gang(snapshot: Snapshot, row: int) -> Value:
    gang = int(snapshot.pod_gang[row])
    return None if gang == UNKNOWN else snapshot.gangs[gang].name


def _domains(snapshot: Snapshot, row: int) -> Value:
    found = [int(d) for d in snapshot.node_at_level[:, row] if d != UNKNOWN]
    return "/".join(f"{snapshot.levels[snapshot.domain_level[d]]}:{snapshot.domain_name[d]}" for d in found) or None


def _devices(snapshot: Snapshot, row: int) -> Value:
    """Health and slices of the devices; their use changes all the time and binds nobody."""
    listed = snapshot.node_devices.get(row, ())
    parts = (
        f"{d.index}:{d.health}" + "".join(f"+{m.count}x{m.profile}" for m in d.mig) for d in listed if d.mig or d.health
    )
    return " ".join(parts) or None


POD_FIELDS: dict[str, Read] = {
    "uid": lambda s, p: s.pod_uid[p] or None,
    "node": _place,
    "phase": lambda s, p: s.pod_phase[p] or ("Running" if s.pod_node[p] != UNKNOWN else "Pending"),
    "move": lambda s, p: MOVE_MODES[s.pod_move[p]],
    "lent_by": _lender,
    "gang": _gang,
    "devices": lambda s, p: " ".join(map(str, s.pod_devices.get(p, ()))) or None,
    "gpu_model": _spec("gpu_models"),
} | {
    name: _column(f"pod_{name}")
    for name in ("gpus", "gpu_milli", "gpu_memory_mib", "cpu_milli", "memory_mib", "locked", "terminating", "standby")
}
POD_FIELDS |= {
    name: _spec(name)
    for name in (
        "mig",
        "resources",
        "labels",
        "node_selector",
        "only_node",
        "tolerations",
        "affinity",
        "anti_affinity",
        "topology",
        "host_ports",
        "volume_zone",
        "owner",
    )
}
NODE_FIELDS: dict[str, Read] = {
    "cordoned": _column("node_cordoned"),
    "ready": _column("node_ready"),
    "gpu_model": _name("models", "node_model"),
    "gpus": _column("node_gpus"),
    "allocatable_gpus": _column("node_allocatable"),
    "gpu_memory_mib": _column("node_gpu_memory_mib"),
    "cpu_milli": _column("node_cpu_milli"),
    "memory_mib": _column("node_memory_mib"),
    "max_pods": _column("node_max_pods"),
    "zone": _name("zones", "node_zone"),
    "domain": _domains,
    "labels": _spec("labels", "node"),
    "taints": _spec("taints", "node"),
    "resources": _spec("resources", "node"),
    "devices": _devices,
}
# A node that is to be cleared may be cordoned meanwhile, as whoever drains it does: nothing is to come there anyway.
UNASKED = {name: read for name, read in NODE_FIELDS.items() if name != "cordoned"}
