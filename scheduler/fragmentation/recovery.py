"""What moves could win back of the GPUs that are stranded or short of CPU, as an upper bound in O(n log n).

For one pool and one request shape let lost = stranded + cpu_memory, and let a node be *emptied* when all its pods but
agents have moved to what is free elsewhere.  The bound is a fluid one: moved pods may be poured into free GPUs and CPU
in any amounts, parts of nodes may be emptied, and of eligibility only the accepted GPU models count.

    gain_n      GPUs that the shape could use on n once it is emptied, minus those it can use now
    reclaimable the largest total gain such that, in GPUs and in CPU each taken alone, what leaves the emptied nodes
                fits into what is free on the others of the pool, and what accepts other nodes into what is free on the
                rest of the cluster; whole requests only, and at most lost.  Nodes that hold an immovable pod (locked
                or otherwise, see ``holders``) are never emptied, though they receive.
                A request that may span nodes gains GPU by GPU, and joins them to the pool's remainder.
    locked      of the rest of lost, what stands on nodes that an immovable pod keeps and that the shape could use more
                of if they were empty
    unfixable   what remains: no move helps
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.fragmentation.capacity import Capacity, admits_plain_pods, in_use_milli
from scheduler.fragmentation.causes import Waterfall
from scheduler.fragmentation.demand import RequestShape
from scheduler.fragmentation.holders import NOT_HELD, Holds
from scheduler.fragmentation.sums import sum_by


@dataclass(frozen=True, slots=True)
class Recovery:
    """GPU thousandths; the three add up to stranded + cpu_memory of the pool and shape."""

    reclaimable: int
    locked: int
    unfixable: int


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """One resource of the nodes: GPU thousandths, or milli-cores.  Axes: n node, c cluster."""

    room: Longs  # open now
    weight: Longs  # what would leave (all use but that of agents), and the room that is given up with it
    roaming: Longs  # the part of what would leave that accepts nodes of other pools
    by_cluster: Longs  # [c] all room


@dataclass(frozen=True, slots=True, eq=False)
class Emptying:
    """What does not depend on the shape.  Axis n: node."""

    movable: Bools  # usable, with pods other than agents, none of them immovable
    occupied: Bools  # usable, with pods other than agents
    cluster: Ints
    free: Longs  # whole devices once emptied
    cpu_milli: Longs  # left once emptied
    openings: Longs  # plain pods that may come once emptied
    gpu: Load
    cpu: Load


def emptying_of(capacity: Capacity, holds: Holds) -> Emptying:
    """Read once for all pools and shapes."""
    snapshot, held = capacity.snapshot, capacity.occupancy
    agents = snapshot.pod_live & snapshot.pod_agent
    asked = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli
    agent_cpu = _on_nodes(snapshot, agents, snapshot.pod_cpu_milli)
    agent_milli = _on_nodes(snapshot, agents, asked)
    gpu_milli = in_use_milli(snapshot).sum(axis=0)
    usable = snapshot.node_usable
    free_cpu = np.where(usable, capacity.cpu_milli, 0)
    occupied = usable & (held.workload_pods > 0)
    return Emptying(
        movable=occupied & (holds.reason == NOT_HELD),
        occupied=occupied,
        cluster=snapshot.node_cluster,
        free=np.maximum(snapshot.node_allocatable - _on_nodes(snapshot, agents, snapshot.pod_gpus), 0),
        cpu_milli=np.maximum(snapshot.node_cpu_milli - agent_cpu, 0),
        openings=_openings(snapshot, held.pods - held.workload_pods),
        gpu=_load(
            snapshot, capacity.free * WHOLE_GPU_MILLI + capacity.shared_rest_milli, gpu_milli, agent_milli, asked
        ),
        cpu=_load(snapshot, free_cpu, held.used_cpu_milli, agent_cpu, snapshot.pod_cpu_milli),
    )


def _load(snapshot: Snapshot, room: Longs, used: Longs, agents: Longs, asked: Longs) -> Load:
    return Load(
        room=room,
        weight=np.maximum(used - agents, 0) + room,
        roaming=_on_nodes(snapshot, _roaming(snapshot), asked),
        by_cluster=sum_by(snapshot.node_cluster, room, len(snapshot.clusters)),
    )


def _on_nodes(snapshot: Snapshot, pods: Bools, amount: Longs | Ints) -> Longs:
    return sum_by(snapshot.pod_node[pods], amount[pods], len(snapshot.node_name))


def _roaming(snapshot: Snapshot) -> Bools:
    """[p] live pods, not agents, that do not insist on the GPU model of their node."""
    order = {model: index for index, model in enumerate(snapshot.models)}
    named = [spec.gpu_models[0] if len(spec.gpu_models) == 1 else "" for spec in snapshot.pod_specs]
    only = [order.get(model, UNKNOWN) for model in named]
    wanted = np.array(only, np.int64)[snapshot.pod_spec]
    insists = (wanted != UNKNOWN) & (snapshot.pod_gpus > 0)
    return np.asarray(snapshot.pod_live & ~snapshot.pod_agent & ~insists)


def _openings(snapshot: Snapshot, agents: Ints) -> Longs:
    slots = np.maximum(snapshot.node_max_pods.astype(np.int64) - agents, 0)
    return np.where(admits_plain_pods(snapshot), slots, 0)


def gain_of(emptying: Emptying, found: Waterfall, shape: RequestShape) -> Longs:
    """[n] gain_n in thousandths; a request that may span nodes counts GPU by GPU."""
    each = shape.gpus if shape.level is None else 1
    cpu = shape.cpu_milli if shape.level is None else shape.cpu_milli // shape.gpus
    fits = emptying.free // each
    if cpu:
        fits = np.minimum(fits, emptying.cpu_milli // cpu)
    fits = np.minimum(fits, emptying.openings) if shape.level is None else np.where(emptying.openings > 0, fits, 0)
    now = found.usable if shape.level is None else found.usable + found.topology + found.stranded
    return np.asarray(np.maximum(fits * each * WHOLE_GPU_MILLI - now, 0))


def recovery(emptying: Emptying, gain: Longs, found: Waterfall, shape: RequestShape, members: Longs) -> Recovery:
    """The split of what ``shape`` loses on the nodes ``members`` of one pool; ``gain`` as of ``gain_of``."""
    stranded = int(found.stranded[members].sum())
    lost = stranded + int(found.cpu_memory[members].sum())
    if lost == 0:
        return Recovery(0, 0, 0)
    remainder = 0 if shape.level is None else stranded
    gaining = members[(gain[members] > 0) & emptying.occupied[members]]
    movable = emptying.movable[gaining]
    request = shape.gpus * WHOLE_GPU_MILLI
    reclaimable = min(lost, (_bound(emptying, gain, gaining[movable], members) + remainder) // request * request)
    behind = int((found.stranded + found.cpu_memory)[gaining[~movable]].sum())
    locked = min(lost - reclaimable, behind)
    return Recovery(reclaimable, locked, lost - reclaimable - locked)


def _bound(emptying: Emptying, gain: Longs, sources: Longs, members: Longs) -> int:
    """The largest total gain from emptying some of ``sources``, by GPUs and by CPU."""
    if sources.size == 0:
        return 0
    cluster = int(emptying.cluster[sources[0]])
    loads = (emptying.gpu, emptying.cpu)
    return min(_poured(gain[sources], load.weight[sources], _limit(load, sources, members, cluster)) for load in loads)


def _limit(load: Load, sources: Longs, members: Longs, cluster: int) -> int:
    """The room of the pool, and of the rest of the cluster for what accepts it."""
    here = int(load.room[members].sum())
    return here + min(int(load.roaming[sources].sum()), int(load.by_cluster[cluster]) - here)


def _poured(gain: Longs, weight: Longs, limit: int) -> int:
    """A fractional knapsack: emptying a node takes up its load and gives up its own room."""
    order = np.lexsort((weight, -gain / np.maximum(weight, 1)))
    filled = np.cumsum(weight[order])
    whole = int(np.searchsorted(filled, limit, side="right"))
    total = int(gain[order][:whole].sum())
    if whole == order.size:
        return total
    before = int(filled[whole - 1]) if whole else 0
    split = order[whole]
    return total + (limit - before) * int(gain[split]) // int(weight[split])
