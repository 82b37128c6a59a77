"""Two instants of the same clusters set against each other: what became schedulable or ceased to be, and by what cause.

Two ledgers, each of which adds up.  Schedulable GPUs are the allocatable ones of ready, uncordoned nodes; every GPU of
their change stands in a row with a cause and a place.  Asked GPUs are those of live pods; their change stands in rows
by tenant and tier.  Nodes are the same by (cluster, name), pods by (cluster, namespace/name, uid).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.snapshot import UNKNOWN, Longs, Snapshot

LOST = ("gone", "not_ready", "cordoned", "failed_devices", "fewer_gpus", "unexplained_loss")
WON = ("new", "ready_again", "uncordoned", "healed_devices", "more_gpus", "unexplained_gain")
CAUSES = (*LOST, *WON)  # in the order in which they are told; unexplained: the node itself gives no reason
ASW = "asw"


@dataclass(frozen=True, slots=True)
class Place:
    """Where nodes stand; None where a node says nothing of it."""

    cluster: str
    model: str | None
    asw: str | None


@dataclass(frozen=True, slots=True)
class CapacityChange:
    """Schedulable GPUs lost (negative) or won at one place by one cause, and the nodes concerned of all there are.

    ``of_nodes`` counts the place's nodes at the instant where there were more of them to count: before, or after.
    """

    cause: str
    place: Place
    gpus: int
    nodes: tuple[str, ...]
    of_nodes: int


@dataclass(frozen=True, slots=True)
class DemandChange:
    """What a tenant's live pods ask for, in GPU thousandths: now - then = came - ended + resized.

    ``tenant`` None: nobody's.  ``tier`` is HP, LP or standby.  ``moved`` pods run on another node now and count in no
    amount.
    """

    tenant: str | None
    tier: str
    came: int
    came_milli: int
    ended: int
    ended_milli: int
    resized_milli: int
    moved: int


@dataclass(frozen=True, slots=True)
class Amounts:
    """Of one instant; ``free`` are whole GPUs that no live pod touches, on nodes that are ready and not cordoned."""

    nodes: int
    gpus: int
    schedulable: int
    free: int
    asked_milli: int


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Axis n: nodes of the later instant.  Nodes that are gone stand in the rows of cause ``gone`` only."""

    then: Amounts
    now: Amounts
    capacity: tuple[CapacityChange, ...]
    demand: tuple[DemandChange, ...]
    schedulable: Longs  # [n] change of a node's schedulable GPUs, all of them where the node is new
    free: Longs  # [n] the same of its free GPUs


def difference(then: Snapshot, now: Snapshot) -> Difference:
    """Set two snapshots of the same source against each other, in whatever order their rows came."""
    old, new = _Side(then), _Side(now)
    return Difference(
        then=old.amounts(),
        now=new.amounts(),
        capacity=tuple(_capacity(old, new)),
        demand=tuple(_demand(then, now)),
        schedulable=new.schedulable - old.at(new, old.schedulable),
        free=new.free - old.at(new, old.free),
    )


class _Side:
    """One instant, with its nodes by name."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        usable = snapshot.node_usable
        self.schedulable: Longs = np.where(usable, snapshot.node_allocatable, 0).astype(np.int64)
        self.free: Longs = np.where(usable, occupancy(snapshot).free_gpus, 0).astype(np.int64)
        clusters = [snapshot.clusters[c].name for c in snapshot.node_cluster.tolist()]
        self.key = list(zip(clusters, snapshot.node_name, strict=True))
        self.row = {key: n for n, key in enumerate(self.key)}
        self.place = [_place(snapshot, asw, n) for n, asw in enumerate(_switches(snapshot))]
        self.population: dict[Place, int] = {}
        for place in self.place:
            self.population[place] = self.population.get(place, 0) + 1

    def amounts(self) -> Amounts:
        return Amounts(
            nodes=len(self.key),
            gpus=int(self.snapshot.node_gpus.sum()),
            schedulable=int(self.schedulable.sum()),
            free=int(self.free.sum()),
            asked_milli=int(_asked(self.snapshot)[self.snapshot.pod_live].sum()),
        )

    def at(self, other: "_Side", column: Longs) -> Longs:
        """[n of ``other``] This side's value of the same node, 0 where it has none."""
        rows = np.array([self.row.get(key, UNKNOWN) for key in other.key], np.int64)
        return np.where(rows == UNKNOWN, 0, np.append(column, 0)[rows])

    def failed(self, n: int) -> int:
        return sum(device.health == "failed" for device in self.snapshot.node_devices.get(n, ()))


def _switches(snapshot: Snapshot) -> list[str | None]:
    if ASW not in snapshot.levels:
        return [None] * len(snapshot.node_name)
    domains = snapshot.node_at_level[snapshot.levels.index(ASW)].tolist()
    return [None if d == UNKNOWN else snapshot.domain_name[d] for d in domains]


def _place(snapshot: Snapshot, asw: str | None, n: int) -> Place:
    model = int(snapshot.node_model[n])
    cluster = snapshot.clusters[snapshot.node_cluster[n]].name
    return Place(cluster, None if model == UNKNOWN else snapshot.models[model], asw)


def _capacity(old: _Side, new: _Side) -> Iterator[CapacityChange]:
    """Rows by cause, then the largest change first."""
    gpus: dict[tuple[str, Place], int] = {}
    nodes: dict[tuple[str, Place], list[str]] = {}
    for place, name, cause, amount in _node_changes(old, new):
        gpus[cause, place] = gpus.get((cause, place), 0) + amount
        nodes.setdefault((cause, place), []).append(name)
    told = sorted(gpus, key=lambda at: (CAUSES.index(at[0]), -abs(gpus[at]), _words(at[1])))
    for cause, place in told:
        population = max(old.population.get(place, 0), new.population.get(place, 0))
        yield CapacityChange(cause, place, gpus[cause, place], tuple(sorted(nodes[cause, place])), population)


def _words(place: Place) -> tuple[str, str, str]:
    return place.cluster, place.model or "", place.asw or ""


def _node_changes(old: _Side, new: _Side) -> Iterator[tuple[Place, str, str, int]]:
    for n in np.flatnonzero(old.schedulable).tolist():
        if old.key[n] not in new.row:
            yield old.place[n], old.key[n][1], "gone", -int(old.schedulable[n])
    before = old.at(new, old.schedulable)
    for n in np.flatnonzero(new.schedulable != before).tolist():
        row = old.row.get(new.key[n], UNKNOWN)
        causes = [("new", int(new.schedulable[n]))] if row == UNKNOWN else _causes(old, row, new, n)
        for cause, amount in causes:
            yield new.place[n], new.key[n][1], cause, amount


def _causes(old: _Side, o: int, new: _Side, n: int) -> list[tuple[str, int]]:
    """Why a node that was there before offers more or fewer GPUs, with the amount of each cause."""
    change = int(new.schedulable[n] - old.schedulable[o])
    if old.snapshot.node_usable[o] and not new.snapshot.node_usable[n]:
        return [("cordoned" if new.snapshot.node_ready[n] else "not_ready", change)]
    if new.snapshot.node_usable[n] and not old.snapshot.node_usable[o]:
        return [("uncordoned" if old.snapshot.node_ready[o] else "ready_again", change)]
    sign, words = (1, WON[3:]) if change > 0 else (-1, LOST[3:])
    devices = min(abs(change), max(0, sign * (old.failed(o) - new.failed(n))))
    hardware = int(new.snapshot.node_gpus[n]) - int(old.snapshot.node_gpus[o])
    built = min(abs(change) - devices, max(0, sign * hardware))
    parts = zip(words, (devices, built, abs(change) - devices - built), strict=True)
    return [(cause, sign * amount) for cause, amount in parts if amount]


def _asked(snapshot: Snapshot) -> Longs:
    return snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli


def _demand(then: Snapshot, now: Snapshot) -> Iterator[DemandChange]:
    """Rows of the tenants whose live GPU pods changed, the largest change first."""
    ledger: dict[tuple[str | None, str], list[int]] = {}
    old, new = _living(then), _living(now)
    for key in old.keys() | new.keys():
        was, is_now = old.get(key), new.get(key)
        if was == is_now:
            continue
        if was is not None and is_now is not None and was.of == is_now.of:
            _enter(ledger, was.of, [0, 0, 0, 0, is_now.milli - was.milli, was.node != is_now.node])
            continue
        # A pod that is another tenant's or tier's now has left one row and come into another
        if was is not None:
            _enter(ledger, was.of, [0, 0, 1, was.milli, 0, 0])
        if is_now is not None:
            _enter(ledger, is_now.of, [1, is_now.milli, 0, 0, 0, 0])
    rows = [DemandChange(tenant, tier, *counts) for (tenant, tier), counts in ledger.items()]
    return iter(sorted(rows, key=lambda row: (-abs(_net(row)), row.tenant or "", row.tier)))


def _enter(ledger: dict[tuple[str | None, str], list[int]], of: tuple[str | None, str], counts: list[int]) -> None:
    ledger[of] = [a + b for a, b in zip(ledger.get(of, [0] * len(counts)), counts, strict=True)]


def _net(row: DemandChange) -> int:
    return row.came_milli - row.ended_milli + row.resized_milli


@dataclass(frozen=True, slots=True)
class _Pod:
    of: tuple[str | None, str]  # tenant, tier
    milli: int
    node: str


def _living(snapshot: Snapshot) -> dict[tuple[str, str, str], _Pod]:
    """Live pods that ask for GPUs, by identity."""
    asked = _asked(snapshot)
    asleep = snapshot.pod_standby & ~snapshot.pod_lp
    found: dict[tuple[str, str, str], _Pod] = {}
    for p in np.flatnonzero(snapshot.pod_live & (asked > 0)).tolist():
        cluster, tenant = snapshot.clusters[snapshot.pod_cluster[p]].name, int(snapshot.pod_tenant[p])
        tier = "LP" if snapshot.pod_lp[p] else "standby" if asleep[p] else "HP"
        of = (None if tenant == UNKNOWN else snapshot.tenants[tenant]), tier
        node = snapshot.node_name[snapshot.pod_node[p]]
        found[cluster, snapshot.pod_key(p), snapshot.pod_uid[p]] = _Pod(of, int(asked[p]), node)
    return found
