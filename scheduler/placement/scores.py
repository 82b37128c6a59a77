"""Terms that say how good a node is for one more pod of a kind, each from 0 to 1; the more the better.

NaN is unknown: such a term counts for nothing on that node, neither for nor against it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.hardware import accelerator
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.fragmentation.gradient import OpenNodes, fragments
from scheduler.performance.energy import idle_watts
from scheduler.placement.ground import Ground
from scheduler.placement.policy import NODE_TERMS, Policy

type Floats = NDArray[np.float64]
NEUTRAL = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One kind of pod and the nodes that could take it."""

    ground: Ground
    world: Snapshot
    row: int  # a pod of the kind
    nodes: Ints  # [k]
    evictions: Mapping[str, int] | None  # node -> evictions seen there lately; None: nobody counted

    @property
    def milli(self) -> int:
        return int(self.world.pod_gpus[self.row]) * int(self.world.pod_gpu_milli[self.row])

    @property
    def lp(self) -> bool:
        return bool(self.world.pod_lp[self.row])


def packing(case: Case) -> Floats:
    """1 less the share of the node's GPUs that stays free."""
    held, n = case.ground.occupancy, case.nodes
    left = held.free_gpus[n] * WHOLE_GPU_MILLI + held.shared_rest_milli[n] - case.milli
    room = np.maximum(case.ground.snapshot.node_allocatable[n], 1) * WHOLE_GPU_MILLI
    return np.asarray(1 - np.clip(left / room, 0, 1))


def same_class(case: Case) -> Floats:
    """Share of the GPU time asked on the node by pods of the same tier; unknown where nobody is."""
    capacity, n = case.ground.capacity, case.nodes
    hp = (capacity.hp_milli + capacity.standby_milli)[n].astype(np.float64)
    lp = capacity.lp_milli[n].astype(np.float64)
    everybody = hp + lp
    mine = lp if case.lp else hp
    return np.asarray(np.divide(mine, everybody, out=np.full(len(n), np.nan), where=everybody > 0))


def eviction_history(case: Case) -> Floats:
    """LP where fewest were evicted, HP where most were (the study's third rule); unknown where nobody counted."""
    if case.evictions is None:
        return np.full(len(case.nodes), np.nan)
    names = case.ground.snapshot.node_name
    seen = np.array([case.evictions.get(names[n], np.nan) for n in case.nodes.tolist()], np.float64)
    most = np.nanmax(seen) if np.isfinite(seen).any() else 0.0
    if most <= 0:
        return np.where(np.isnan(seen), np.nan, NEUTRAL)
    return np.asarray(1 - seen / most if case.lp else seen / most)


def fragmentation(case: Case) -> Floats:
    """1 where F_n(M) falls by all that is asked, 0 where it grows by as much; unknown where nothing is asked."""
    ground, n = case.ground, case.nodes
    if not ground.mix.total or not case.milli:
        return np.full(len(n), np.nan)
    grows = (fragments(after_one(case), ground.mix) - ground.fragments[n]) / ground.mix.total
    return np.asarray(np.clip(NEUTRAL - grows / (2 * case.milli), 0, 1))


def after_one(case: Case) -> OpenNodes:
    """[k] The nodes with one pod of the kind: whole GPUs are taken free, a share takes the tightest device."""
    now, n, world, row = case.ground.open_nodes, case.nodes, case.world, case.row
    at = np.full(len(now.free), UNKNOWN, np.int64)
    at[n] = np.arange(len(n))
    kept = at[now.rest_node] != UNKNOWN
    node, rest, free = at[now.rest_node[kept]], now.rest_milli[kept].copy(), now.free[n].copy()
    gpus, share = int(world.pod_gpus[row]), int(world.pod_gpu_milli[row])
    if share < WHOLE_GPU_MILLI:
        node, rest, free = _share_taken(node, rest, free, gpus, share)
    else:
        free = np.maximum(free - gpus, 0)
    return replace(
        now,
        free=free,
        cpu_milli=np.maximum(now.cpu_milli[n] - int(world.pod_cpu_milli[row]), 0),
        memory_mib=np.maximum(now.memory_mib[n] - int(world.pod_memory_mib[row]), 0),
        model=now.model[n],
        rest_node=node,
        rest_milli=rest,
    )


def _share_taken(node: Longs, rest: Longs, free: Longs, gpus: int, share: int) -> tuple[Longs, Longs, Longs]:
    """The tightest touched devices that hold the share, then whole ones."""
    order = np.lexsort((rest, node))
    node, rest = node[order], rest[order]
    able = rest >= share
    turn = np.cumsum(able) - np.concatenate([[0], np.cumsum(able)])[np.searchsorted(node, node)]
    taken = able & (turn <= gpus)
    rest = rest - taken * share
    opened = np.minimum(gpus - np.bincount(node[taken], minlength=len(free)), free)
    new = np.repeat(np.arange(len(free)), opened)
    rest = np.concatenate([rest, np.full(len(new), WHOLE_GPU_MILLI - share)])
    node = np.concatenate([node, new])
    order = np.argsort(node, kind="stable")
    some = rest[order] > 0
    return node[order][some], rest[order][some], free - opened


def network_load(case: Case) -> Floats:
    """1 less the share of the GPUs under the same switch that work in jobs which cross it; unknown without a switch."""
    ground = case.ground
    place = ground.domains_at(ground.levels[1]) if len(ground.levels) > 2 else np.full(len(ground.untouched), UNKNOWN)
    known = place != UNKNOWN
    size = np.zeros(int(place.max(initial=-1)) + 1)
    crossing = size.copy()
    np.add.at(size, place[known], ground.snapshot.node_gpus[known])
    np.add.at(crossing, place[known], ground.crossing_gpus[known])
    load = np.append(np.divide(crossing, size, out=np.zeros_like(size), where=size > 0), np.nan)
    return np.asarray(1 - np.clip(load[place[case.nodes]], 0, 1))


def power(case: Case) -> Floats:
    """1 where somebody works already; where a node is woken, its idle draw as a share of what its boards draw at most.

    What an empty node draws anyway is not saved by leaving it empty, so little is lost by using it.
    """
    ground, snapshot = case.ground, case.ground.snapshot
    idle = idle_watts(snapshot, ground.occupancy)
    found = np.ones(len(case.nodes))
    asleep = ground.untouched[case.nodes]
    for m in np.unique(snapshot.node_model[case.nodes][asleep]).tolist():
        rows = asleep & (snapshot.node_model[case.nodes] == m)
        found[rows] = _share_of_idle(snapshot, m, idle, snapshot.node_gpus[case.nodes][rows])
    return found


def _share_of_idle(snapshot: Snapshot, model: int, idle: Mapping[str, float], gpus: Ints) -> Floats:
    name = snapshot.models[model] if model != UNKNOWN else ""
    known = accelerator(name)
    if name not in idle or known is None or known.power_watts is None:
        return np.full(len(gpus), np.nan)
    return np.asarray(np.clip(idle[name] / (known.power_watts * np.maximum(gpus, 1)), 0, 1))


TERMS: dict[str, Callable[[Case], Floats]] = {
    "packing": packing,
    "same_class": same_class,
    "eviction_history": eviction_history,
    "fragmentation": fragmentation,
    "network_load": network_load,
    "power": power,
}
assert tuple(TERMS) == NODE_TERMS


def terms_of(case: Case, policies: Sequence[Policy]) -> dict[str, Floats]:
    """[k] of each term that has a weight in one of the policies."""
    return {name: term(case) for name, term in TERMS.items() if any(one.weight(name) > 0 for one in policies)}


def weighed(terms: Mapping[str, Floats], policy: Policy, count: int) -> Floats:
    """[k] The weighted mean of what is known, 0.5 where nothing is."""
    total, weight = np.zeros(count), np.zeros(count)
    for name, value in terms.items():
        known: Bools = ~np.isnan(value)
        total += np.where(known, value, 0) * policy.weight(name)
        weight += known * policy.weight(name)
    return np.asarray(np.divide(total, weight, out=np.full(count, NEUTRAL), where=weight > 0))
