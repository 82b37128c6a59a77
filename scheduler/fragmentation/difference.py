"""Two instants of the same clusters set against each other: what became schedulable or ceased to be, and by what cause.

Two ledgers, each of which adds up.  Schedulable GPUs are the allocatable ones of ready, uncordoned nodes; every GPU of
their change stands in a row with a cause and a place.  Asked GPUs are those of live pods; their change stands in rows
by tenant and tier.  Nodes are the same by (cluster, name, model), pods by (cluster, namespace/name, uid): a node that
comes back with other GPUs is another node.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

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
    ``amounts`` divides ``gpus`` among ``nodes``.
    """

    cause: str
    place: Place
    gpus: int
    nodes: tuple[str, ...]
    of_nodes: int
    amounts: tuple[int, ...]


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


@dataclass(frozen=True, slots=True)
class Asked:
    """GPU thousandths that a tenant's live pods of one tier ask for at both instants."""

    tenant: str | None
    tier: str
    then_milli: int
    now_milli: int


@dataclass(frozen=True, slots=True)
class PoolChange:
    """The nodes of one model in one cluster.  A pod that now runs in another pool has ended here and come there."""

    cluster: str
    model: str | None
    then: Amounts
    now: Amounts
    asked: tuple[Asked, ...]
    demand: tuple[DemandChange, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Axis n: nodes of the later instant.  Nodes that are gone stand in the rows of cause ``gone`` only."""

    then: Amounts
    now: Amounts
    capacity: tuple[CapacityChange, ...]
    demand: tuple[DemandChange, ...]
    clusters: dict[str, tuple[DemandChange, ...]]  # the same by cluster, where no pod ever leaves
    pools: tuple[PoolChange, ...]  # by cluster and model
    schedulable: Longs  # [n] change of a node's schedulable GPUs, all of them where the node is new
    free: Longs  # [n] the same of its free GPUs


def difference(then: Snapshot, now: Snapshot) -> Difference:
    """Set two snapshots of the same source against each other, in whatever order their rows came."""
    old, new = _Side(then), _Side(now)
    changes = list(_changes(old.living, new.living))
    by_cluster = _demand(changes, lambda pod: pod.pool[0])
    return Difference(
        then=old.amounts(),
        now=new.amounts(),
        capacity=tuple(_capacity(old, new)),
        demand=_demand(changes, lambda pod: None).get(None, ()),
        clusters={cluster: by_cluster[cluster] for cluster in sorted(by_cluster)},
        pools=tuple(_pools(old, new, changes)),
        schedulable=new.schedulable - old.at(new, old.schedulable),
        free=new.free - old.at(new, old.free),
    )


type Pool = tuple[str, str | None]  # cluster, model
type Of = tuple[str | None, str]  # tenant, tier


class _Side:
    """One instant, with its nodes by name."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        usable = snapshot.node_usable
        self.schedulable: Longs = np.where(usable, snapshot.node_allocatable, 0).astype(np.int64)
        self.free: Longs = np.where(usable, occupancy(snapshot).free_gpus, 0).astype(np.int64)
        self.place = [_place(snapshot, asw, n) for n, asw in enumerate(_switches(snapshot))]
        self.pool: list[Pool] = [(place.cluster, place.model) for place in self.place]
        self.key = list(zip(self.pool, snapshot.node_name, strict=True))
        self.row = {key: n for n, key in enumerate(self.key)}
        self.living = _living(snapshot, self.pool)
        self.population: dict[Place, int] = {}
        for place in self.place:
            self.population[place] = self.population.get(place, 0) + 1

    def amounts(self) -> Amounts:
        return self._of(slice(None), sum(pod.milli for pod in self.living.values()))

    def pools(self) -> dict[Pool, Amounts]:
        rows: dict[Pool, list[int]] = {}
        for n, pool in enumerate(self.pool):
            rows.setdefault(pool, []).append(n)
        milli = dict.fromkeys(rows, 0)
        for pod in self.living.values():
            milli[pod.pool] += pod.milli
        return {pool: self._of(np.array(found), milli[pool]) for pool, found in rows.items()}

    def _of(self, rows: Any, asked_milli: int) -> Amounts:
        return Amounts(
            nodes=len(self.snapshot.node_gpus[rows]),
            gpus=int(self.snapshot.node_gpus[rows].sum()),
            schedulable=int(self.schedulable[rows].sum()),
            free=int(self.free[rows].sum()),
            asked_milli=asked_milli,
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
    found: dict[tuple[str, Place], list[tuple[str, int]]] = {}
    for place, name, cause, amount in _node_changes(old, new):
        found.setdefault((cause, place), []).append((name, amount))
    gpus = {at: sum(amount for _, amount in each) for at, each in found.items()}
    told = sorted(found, key=lambda at: (CAUSES.index(at[0]), -abs(gpus[at]), _words(at[1])))
    for at in told:
        cause, place = at
        nodes, amounts = zip(*sorted(found[at]), strict=True)
        population = max(old.population.get(place, 0), new.population.get(place, 0))
        yield CapacityChange(cause, place, gpus[at], nodes, population, amounts)


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


@dataclass(frozen=True, slots=True)
class _Pod:
    of: Of
    milli: int
    node: str
    pool: Pool


type _Change = tuple[_Pod | None, _Pod | None]
type _Counts = list[int]  # the fields of DemandChange behind tenant and tier


def _living(snapshot: Snapshot, pools: list[Pool]) -> dict[tuple[str, str, str], _Pod]:
    """Live pods that ask for GPUs, by identity; a live pod stands on a node of its own cluster."""
    asked = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli
    asleep = snapshot.pod_standby & ~snapshot.pod_lp
    found: dict[tuple[str, str, str], _Pod] = {}
    for p in np.flatnonzero(snapshot.pod_live & (asked > 0)).tolist():
        tenant, node = int(snapshot.pod_tenant[p]), int(snapshot.pod_node[p])
        tier = "LP" if snapshot.pod_lp[p] else "standby" if asleep[p] else "HP"
        of = (None if tenant == UNKNOWN else snapshot.tenants[tenant]), tier
        key = snapshot.clusters[snapshot.pod_cluster[p]].name, snapshot.pod_key(p), snapshot.pod_uid[p]
        found[key] = _Pod(of, int(asked[p]), snapshot.node_name[node], pools[node])
    return found


def _changes(old: dict[Any, _Pod], new: dict[Any, _Pod]) -> Iterator[_Change]:
    for key in old.keys() | new.keys():
        was, is_now = old.get(key), new.get(key)
        if was != is_now:
            yield was, is_now


def _pools(old: _Side, new: _Side, changes: list[_Change]) -> Iterator[PoolChange]:
    then, now, demand = old.pools(), new.pools(), _demand(changes, lambda pod: pod.pool)
    asked: dict[Pool, dict[Of, list[int]]] = {}
    for instant, side in enumerate((old, new)):
        for pod in side.living.values():
            asked.setdefault(pod.pool, {}).setdefault(pod.of, [0, 0])[instant] += pod.milli
    nothing = Amounts(0, 0, 0, 0, 0)
    for pool in sorted(then.keys() | now.keys(), key=lambda pool: (pool[0], pool[1] or "")):
        totals = tuple(
            Asked(*of, *both) for of, both in sorted(asked.get(pool, {}).items(), key=lambda row: _order(row[0]))
        )
        yield PoolChange(*pool, then.get(pool, nothing), now.get(pool, nothing), totals, demand.get(pool, ()))


def _order(of: Of) -> tuple[str, str]:
    return of[0] or "", of[1]


def _demand[Group](changes: list[_Change], group: Callable[[_Pod], Group]) -> dict[Group, tuple[DemandChange, ...]]:
    """Rows of the tenants whose live GPU pods changed, by group, the largest change first."""
    ledger: dict[tuple[Group, Of], _Counts] = {}
    for was, is_now in changes:
        before, after = ((group(pod), pod.of) if pod is not None else None for pod in (was, is_now))
        if was is not None and is_now is not None and before is not None and before == after:
            _enter(ledger, before, [0, 0, 0, 0, is_now.milli - was.milli, was.node != is_now.node])
            continue
        # A pod that is another tenant's or tier's now has left one row and come into another
        if was is not None and before is not None:
            _enter(ledger, before, [0, 0, 1, was.milli, 0, 0])
        if is_now is not None and after is not None:
            _enter(ledger, after, [1, is_now.milli, 0, 0, 0, 0])
    rows: dict[Group, list[DemandChange]] = {}
    for (at, of), counts in ledger.items():
        rows.setdefault(at, []).append(DemandChange(*of, *counts))
    return {
        at: tuple(sorted(found, key=lambda row: (-abs(net(row)), _order((row.tenant, row.tier)))))
        for at, found in rows.items()
    }


def _enter[Group](ledger: dict[tuple[Group, Of], _Counts], at: tuple[Group, Of], counts: _Counts) -> None:
    ledger[at] = [a + b for a, b in zip(ledger.get(at, [0] * len(counts)), counts, strict=True)]


def net(row: DemandChange) -> int:
    """GPU thousandths that the tenant asks for more than then."""
    return row.came_milli - row.ended_milli + row.resized_milli
