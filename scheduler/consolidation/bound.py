"""An upper bound on the net number of emptied nodes, by flows of one resource at a time.

Let F be the sum of what is free on all nodes that may receive and are not empty.  Emptying node j sends its use to
other nodes and takes its own free part out of F, so the emptied nodes X satisfy sum over X of (use + free) <= F, plus
the size of every empty node that is opened, each of which costs one.  Taking the smallest use + free first, and the
largest empty node first, gives the largest count: O(n log n).  This holds for GPU milli, CPU and memory, and for places
for whole GPUs (``kinds.places``): free GPUs in ones and twos are none for pods of eight.  It holds for the cluster as a
whole and for every group of GPU models between which pods may move; the least of these is the bound.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.columns import NONE, Arena
from scheduler.consolidation.kinds import movable, places, sizes_of, whole
from scheduler.plan.plan import Bound

AMOUNTS = 3  # GPU milli, CPU milli, memory MiB; places for whole GPUs come after them


@dataclass(frozen=True, slots=True, eq=False)
class _Fluid:
    """Axes: n node, r resource."""

    free: Longs  # [n, r] never negative, 0 where nothing may arrive
    use: Longs  # [n, r] of pods other than agents
    floating: Longs  # [n, r] the part of it that pods without GPUs use: they may go to nodes of any model
    may_empty: Bools  # [n]
    empty: Bools  # [n]


def net_upper(snapshot: Snapshot, compiled: Compiled) -> int:
    """No plan on this snapshot empties more nodes, net.  The tables stand as before any move."""
    fluid = _fluid(snapshot, compiled)
    everywhere = _most(fluid, np.ones(len(fluid.empty), np.bool_), fluid.free)
    group = _model_groups(snapshot, compiled.arena)
    apart = 0
    for found in np.unique(group[fluid.may_empty]).tolist():
        # What needs no GPU may leave for other groups and make its room theirs
        apart += _most(fluid, group == found, fluid.free + fluid.floating)
    return min(everywhere, apart)


def net_uppers(snapshot: Snapshot, compiled: Compiled, parts: Iterable[Bools]) -> list[int]:
    """The same for each part [n], between which no pod may move; their sum holds for the cluster, too."""
    fluid = _fluid(snapshot, compiled)
    return [_most(fluid, part, fluid.free) for part in parts]


def bound_of(upper: int, net: int) -> Bound:
    """gap = (upper - net) / upper, 0 where the bound is 0; proven where nothing better exists."""
    gap = (upper - net) / upper if upper else 0.0
    return Bound(net_upper=upper, gap=gap, proven=net == upper)


def _most(fluid: _Fluid, inside: Bools, room: Longs) -> int:
    """The least over all resources of the largest net count among the nodes ``inside``."""
    able, empty = inside & fluid.may_empty, inside & fluid.empty
    best = int(able.sum())
    for r in range(room.shape[1]):
        weight = np.cumsum(np.sort((fluid.use + fluid.free)[able, r]))
        opened = np.concatenate([[0], np.cumsum(np.sort(fluid.free[empty, r])[::-1])])
        total = int(room[inside & ~fluid.empty, r].sum())
        counts = np.searchsorted(weight, total + opened, side="right") - np.arange(len(opened))
        best = min(best, int(counts.max()))
    return best


def _fluid(snapshot: Snapshot, compiled: Compiled) -> _Fluid:
    a = compiled.arena
    nodes = len(a.node)
    pods = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_agent)
    row = a.pod[pods]
    amounts = np.stack([row[:, c.P_GPUS] * row[:, c.P_MILLI], row[:, c.P_CPU], row[:, c.P_MEMORY]], 1)
    home = snapshot.pod_node[pods]
    use, floating = np.zeros((nodes, AMOUNTS), np.int64), np.zeros((nodes, AMOUNTS), np.int64)
    np.add.at(use, home, amounts)
    light = (a.pod[pods, c.P_GPUS] == 0) & (a.pod[pods, c.P_FIXED] == 0)
    np.add.at(floating, home[light], amounts[light])
    left = a.node[:, [c.N_MILLI, c.N_CPU, c.N_MEMORY]]
    left[:, 0] += _lent_shares(snapshot)
    taken, places = _in_places(snapshot, a)
    use, floating = np.hstack([use, taken]), np.hstack([floating, np.zeros_like(taken)])
    free = np.maximum(np.hstack([left, places]), 0) * snapshot.node_usable[:, None]
    able = (a.node[:, c.N_DRAINABLE] == 1) & (a.node[:, c.N_WORK] > 0) & (a.node[:, c.N_PINNED] == 0)
    return _Fluid(free, use, floating, able & ~_tied(snapshot, a), compiled.empty_before)


def _in_places(snapshot: Snapshot, a: Arena) -> tuple[Longs, Longs]:
    """[n, sizes] Places that pods take which may move, and that are left beside them."""
    lent = borrowers(snapshot)
    of = movable(a)
    rows = np.setdiff1d(np.flatnonzero(of != NONE), lent)
    pod = a.pod[rows]
    sizes = sizes_of(pod)
    taken = np.zeros((len(a.node), len(sizes)), np.int64)
    np.add.at(taken, pod[:, c.P_NODE], whole(pod)[:, None] // np.array(sizes, np.int64))
    left = list(places(a, of, sizes, lent))
    return taken, np.stack(left, 1) if left else np.zeros_like(taken)


def _lent_shares(snapshot: Snapshot) -> Longs:
    """[n] GPU milli of borrowers that hold shares of their lender's devices.

    The tables lay such shares out beside the lender's, which is safe for moves; a bound must not count them twice.
    """
    lender = snapshot.pod_lender
    shares = np.flatnonzero(snapshot.pod_live & (lender != UNKNOWN) & (snapshot.pod_gpu_milli < WHOLE_GPU_MILLI))
    shares = shares[snapshot.pod_node[lender[shares]] == snapshot.pod_node[shares]]
    lent = np.zeros(len(snapshot.node_name), np.int64)
    np.add.at(lent, snapshot.pod_node[shares], snapshot.pod_gpus[shares] * snapshot.pod_gpu_milli[shares])
    return lent


def _tied(snapshot: Snapshot, a: Arena) -> Bools:
    """[n] Nodes with a pod that no other usable node may run."""
    per_class = np.bincount(a.node[snapshot.node_usable, c.N_CLASS], minlength=a.eligible.shape[1])
    choices = a.eligible @ per_class
    pods = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_agent)
    home = snapshot.pod_node[pods]
    at_home = a.eligible[a.pod[pods, c.P_CLASS], a.node[home, c.N_CLASS]] & snapshot.node_usable[home]
    tied = np.zeros(len(a.node), np.bool_)
    tied[home[choices[a.pod[pods, c.P_CLASS]] <= at_home]] = True
    return tied


def _model_groups(snapshot: Snapshot, a: Arena) -> Ints:
    """[n] Number of the group of GPU models that pods with GPUs connect, -1 for nodes without a model."""
    models = len(snapshot.models)
    of_class = np.zeros((a.eligible.shape[1], models), np.bool_)
    known = snapshot.node_usable & (snapshot.node_model >= 0)
    of_class[a.node[known, c.N_CLASS], snapshot.node_model[known]] = True
    pods = np.flatnonzero(snapshot.pod_live & (a.pod[:, c.P_FIXED] == 0) & (a.pod[:, c.P_GPUS] > 0))
    sliced = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)[snapshot.pod_spec]
    pods = np.concatenate([pods, np.flatnonzero(snapshot.pod_live & sliced)])
    homes = np.unique(np.stack([a.pod[pods, c.P_CLASS], snapshot.node_model[snapshot.pod_node[pods]]], 1), axis=0)
    group = np.arange(models)
    for q, home in homes.tolist():
        linked = np.flatnonzero(of_class[a.eligible[q]].any(axis=0))
        joined = np.unique(group[[*linked, home] if home >= 0 else linked])
        group[np.isin(group, joined)] = joined.min(initial=models)
    return np.where(snapshot.node_model < 0, -1, np.append(group, -1)[snapshot.node_model]).astype(np.int32)
