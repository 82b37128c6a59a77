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
    room_milli: Longs  # GPU thousandths open now
    room_cpu_milli: Longs
    weight_milli: Longs  # GPU thousandths that would have to leave, and the room given up with them
    weight_cpu_milli: Longs


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
    load = np.maximum(in_use_milli(snapshot).sum(axis=0) - agent_milli, 0)
    room = capacity.free * WHOLE_GPU_MILLI + capacity.shared_rest_milli
    return Emptying(
        open=usable,
        movable=occupied & ~kept,
        occupied=occupied,
        free=np.maximum(snapshot.node_allocatable - agent_gpus, 0),
        cpu_milli=np.maximum(snapshot.node_cpu_milli - agent_cpu, 0),
        room_milli=room,
        room_cpu_milli=capacity.cpu_milli,
        weight_milli=load + room,
        weight_cpu_milli=np.maximum(held.used_cpu_milli - agent_cpu, 0) + capacity.cpu_milli,
    )


def gain_of(emptying: Emptying, found: Waterfall, shape: RequestShape) -> Longs:
    """[n] gain_n in thousandths; a request that may span nodes counts GPU by GPU."""
    each = shape.gpus if shape.level is None else 1
    cpu = shape.cpu_milli if shape.level is None else shape.cpu_milli // shape.gpus
    fits = emptying.free // each
    if cpu:
        fits = np.minimum(fits, emptying.cpu_milli // cpu)
    now = found.usable if shape.level is None else found.usable + found.topology + found.stranded
    return np.asarray(np.maximum(fits * each * WHOLE_GPU_MILLI - now, 0))


def recovery(emptying: Emptying, gain: Longs, found: Waterfall, shape: RequestShape, members: Longs) -> Recovery:
    """The split of what ``shape`` loses on the nodes ``members`` of one pool; ``gain`` as of ``gain_of``."""
    stranded = int(found.stranded[members].sum())
    lost = stranded + int(found.cpu_memory[members].sum())
    if lost == 0:
        return Recovery(0, 0, 0)
    remainder = 0 if shape.level is None else stranded
    sources = members[(gain[members] > 0) & emptying.occupied[members]]
    receivers = members[emptying.open[members]]
    room = int(emptying.room_milli[receivers].sum()), int(emptying.room_cpu_milli[receivers].sum())
    request = shape.gpus * WHOLE_GPU_MILLI
    now, unlocked = (
        min(lost, (_bound(emptying, gain, chosen, room) + remainder) // request * request)
        for chosen in (sources[emptying.movable[sources]], sources)
    )
    locked = max(unlocked - now, 0)
    return Recovery(now, locked, lost - now - locked)


def _bound(emptying: Emptying, gain: Longs, sources: Longs, room: tuple[int, int]) -> int:
    """The largest total gain from emptying some of ``sources``, by GPUs and by CPU."""
    weights = emptying.weight_milli, emptying.weight_cpu_milli
    return min(_poured(gain[sources], weight[sources], limit) for weight, limit in zip(weights, room, strict=True))


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
