"""What moves could win back of the GPUs that are stranded or short of CPU, as an upper bound in O(n log n).

For one pool and one request shape let lost = stranded + cpu_memory, and let a node be *emptied* when all its pods but
agents have moved to free GPUs elsewhere in the pool.  The bound is a fluid one: moved pods may be poured into free
GPUs and CPU in any amounts, parts of nodes may be emptied, and eligibility is ignored.

    gain_n      GPUs that the shape could use on n once it is emptied, minus those it can use now
    reclaimable the largest total gain such that, in GPUs and in CPU each taken alone, what leaves the emptied nodes
                fits into what is free on the others; whole requests only, and at most lost.  Nodes that hold an
                immovable pod (locked or otherwise, see ``mobility``) are never emptied, though they receive.
                A request that may span nodes gains GPU by GPU, and joins them to the pool's remainder.
    locked      what the same bound allows in addition if no pod were immovable
    unfixable   the rest of lost: no move helps
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Longs
from scheduler.fragmentation.capacity import Capacity, in_use_milli
from scheduler.fragmentation.causes import Waterfall
from scheduler.fragmentation.demand import RequestShape
from scheduler.fragmentation.mobility import FREE_TO_MOVE, holds
from scheduler.fragmentation.sums import sum_by


@dataclass(frozen=True, slots=True)
class Recovery:
    """GPU thousandths; the three add up to stranded + cpu_memory of the pool and shape."""

    reclaimable: int
    locked: int
    unfixable: int


@dataclass(frozen=True, slots=True, eq=False)
class Emptying:
    """What does not depend on the shape.  Axis n: node."""

    open: Bools  # may give and receive: usable and without a taint
    movable: Bools  # has pods other than agents, none of them immovable
    occupied: Bools  # has pods other than agents
    free: Longs  # whole devices once emptied
    cpu_milli: Longs  # left once emptied
    load_milli: Longs  # GPU thousandths that would have to leave
    load_cpu_milli: Longs
    room_milli: Longs  # GPU thousandths open now
    room_cpu_milli: Longs


def emptying_of(capacity: Capacity) -> Emptying:
    """Read once for all pools and shapes."""
    snapshot, held = capacity.snapshot, capacity.occupancy
    nodes = len(snapshot.node_name)
    agents = snapshot.pod_live & snapshot.pod_agent
    agent_cpu = sum_by(snapshot.pod_node[agents], snapshot.pod_cpu_milli[agents], nodes)
    agent_gpus = sum_by(snapshot.pod_node[agents], snapshot.pod_gpus[agents], nodes)
    agent_milli = sum_by(
        snapshot.pod_node[agents], (snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli)[agents], nodes
    )
    stays = (holds(snapshot) != FREE_TO_MOVE) & snapshot.pod_live
    kept = np.bincount(snapshot.pod_node[stays], minlength=nodes) > 0
    usable = snapshot.node_usable & (capacity.openings > 0)
    occupied = usable & (held.workload_pods > 0)
    return Emptying(
        open=usable,
        movable=occupied & ~kept,
        occupied=occupied,
        free=np.maximum(snapshot.node_allocatable - agent_gpus, 0),
        cpu_milli=np.maximum(snapshot.node_cpu_milli - agent_cpu, 0),
        load_milli=np.maximum(in_use_milli(snapshot).sum(axis=0) - agent_milli, 0),
        load_cpu_milli=np.maximum(held.used_cpu_milli - agent_cpu, 0),
        room_milli=capacity.free * WHOLE_GPU_MILLI + capacity.shared_rest_milli,
        room_cpu_milli=capacity.cpu_milli,
    )


def recovery(emptying: Emptying, found: Waterfall, shape: RequestShape, members: Longs) -> Recovery:
    """The split of what ``shape`` loses on the nodes ``members`` of one pool."""
    lost = int((found.stranded + found.cpu_memory)[members].sum())
    gain = _gain(emptying, found, shape)
    remainder = 0 if shape.level is None else int(found.stranded[members].sum())
    receivers = members[emptying.open[members]]
    now, unlocked = (
        _bound(emptying, gain, members[source[members]], receivers, shape, remainder)
        for source in (emptying.movable, emptying.occupied)
    )
    reclaimable = min(lost, now)
    locked = min(lost, max(now, unlocked)) - reclaimable
    return Recovery(reclaimable, locked, lost - reclaimable - locked)


def _gain(emptying: Emptying, found: Waterfall, shape: RequestShape) -> Longs:
    """[n] thousandths; a request that may span nodes counts GPU by GPU."""
    each = shape.gpus if shape.level is None else 1
    cpu = shape.cpu_milli if shape.level is None else shape.cpu_milli // shape.gpus
    fits = emptying.free // each
    if cpu:
        fits = np.minimum(fits, emptying.cpu_milli // cpu)
    now = found.usable if shape.level is None else found.usable + found.topology + found.stranded
    return np.asarray(np.maximum(fits * each * WHOLE_GPU_MILLI - now, 0))


def _bound(
    emptying: Emptying, gain: Longs, sources: Longs, receivers: Longs, shape: RequestShape, remainder: int
) -> int:
    """The largest total gain from emptying some of ``sources``, floored to whole requests."""
    sources = sources[gain[sources] > 0]
    by_gpu, by_cpu = (
        _poured(gain[sources], (load + room)[sources], room[receivers])
        for load, room in (
            (emptying.load_milli, emptying.room_milli),
            (emptying.load_cpu_milli, emptying.room_cpu_milli),
        )
    )
    request = shape.gpus * WHOLE_GPU_MILLI
    return (min(by_gpu, by_cpu) + remainder) // request * request


def _poured(gain: Longs, weight: Longs, room: Longs) -> int:
    """A fractional knapsack: emptying a node takes up its load and gives up its own room."""
    order = np.lexsort((weight, -gain / np.maximum(weight, 1)))
    filled = np.cumsum(weight[order])
    limit = int(room.sum())
    whole = int(np.searchsorted(filled, limit, side="right"))
    total = int(gain[order][:whole].sum())
    if whole == order.size:
        return total
    before = int(filled[whole - 1]) if whole else 0
    split = order[whole]
    return total + (limit - before) * int(gain[split]) // int(weight[split])
