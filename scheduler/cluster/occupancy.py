"""What is in use and what is free on every node, as columns.

Nodes whose pods take whole GPUs are counted; shares and listed devices are laid out for all such nodes at once, one
pod per node and round; the few nodes with odd devices go through ``layout`` one by one.  All three say the same.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.layout import layout
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.rows import frozen
from scheduler.cluster.sharing import Rounds, lay_out_together
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Bytes, Ints, Longs, Snapshot

NONE, EMPTY, SLACK, FULL = 0, 1, 2, 3
STATES = ("none", "empty", "slack", "full")
WIDEST = 16  # devices of a node that is laid out together with others


@dataclass(frozen=True, slots=True, eq=False)
class Occupancy:
    """Axes: n nodes, r touched devices with something left, ordered by node.

    Lending is counted once; nothing is negative; all arrays are read-only.
    """

    used_cpu_milli: Longs
    used_memory_mib: Longs
    used_gpu_milli: Longs  # asked for by live pods, slices not counted
    pods: Ints  # live
    workload_pods: Ints  # live and no agents
    free_gpus: Ints  # whole devices that no live pod touches
    shared_rest_milli: Longs  # left of devices that shares touch
    rest_node: Longs  # [r] -> n
    rest_milli: Longs  # [r] left of that device; the sum per node is shared_rest_milli
    over_committed_milli: Longs  # GPU asked for beyond what the node's devices hold
    state: Bytes  # NONE where nothing is said: no allocatable GPUs, cordoned or not ready


def occupancy(snapshot: Snapshot) -> Occupancy:
    """Measure every node; whatever its state, what its pods use is counted."""
    count = len(snapshot.node_name)
    live = np.flatnonzero(snapshot.pod_live)
    node = snapshot.pod_node[live]
    borrowing = borrowers(snapshot)
    gpu = np.where(_has_slices(snapshot), 0, snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli)
    free, rest, over, left = _devices(snapshot, live, borrowing)
    workload = np.bincount(node[~snapshot.pod_agent[live]], minlength=count).astype(np.int32)
    return Occupancy(
        used_cpu_milli=frozen(used_once(snapshot, snapshot.pod_cpu_milli, live, borrowing)),
        used_memory_mib=frozen(_by_node(node, snapshot.pod_memory_mib[live], count)),
        used_gpu_milli=frozen(used_once(snapshot, gpu, live, borrowing)),
        pods=frozen(np.bincount(node, minlength=count).astype(np.int32)),
        workload_pods=frozen(workload),
        free_gpus=frozen(free.astype(np.int32)),
        shared_rest_milli=frozen(rest),
        rest_node=frozen(left[0]),
        rest_milli=frozen(left[1]),
        over_committed_milli=frozen(over),
        state=frozen(_states(snapshot, workload, free, rest)),
    )


def borrowers(snapshot: Snapshot) -> Ints:
    """Live LP pods that borrow from a live sleeping HP pod on their own node."""
    rows = np.flatnonzero((snapshot.pod_lender != UNKNOWN) & snapshot.pod_live & snapshot.pod_lp)
    lender = snapshot.pod_lender[rows]
    lends = snapshot.pod_standby[lender] & ~snapshot.pod_lp[lender] & snapshot.pod_live[lender]
    return np.asarray(rows[lends & (snapshot.pod_node[lender] == snapshot.pod_node[rows])], np.int32)


def used_once(snapshot: Snapshot, amount: Longs, live: Longs, borrowing: Ints) -> Longs:
    """[n] The sum per node, in which a sleeping pod and its borrowers count as the larger of the two."""
    counted = np.zeros(len(amount), np.int64)
    counted[live] = amount[live]
    borrowed = np.zeros(len(amount), np.int64)
    np.add.at(borrowed, snapshot.pod_lender[borrowing], amount[borrowing])
    counted[borrowing] = 0
    counted = np.where(borrowed > 0, np.maximum(counted, borrowed), counted)
    return _by_node(snapshot.pod_node[live], counted[live], len(snapshot.node_name))


def _by_node(node: Ints, amount: Longs, count: int) -> Longs:
    total = np.zeros(count, np.int64)
    np.add.at(total, node, amount)
    return total


def _has_slices(snapshot: Snapshot) -> Bools:
    specs = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)
    return np.asarray(specs[snapshot.pod_spec])


def _states(snapshot: Snapshot, workload: Ints, free: Longs, rest: Longs) -> Bytes:
    state = np.where((free == 0) & (rest == 0), FULL, SLACK)
    state = np.where(workload == 0, EMPTY, state)
    said = snapshot.node_usable & (snapshot.node_allocatable > 0)
    return np.where(said, state, NONE).astype(np.int8)


def _devices(snapshot: Snapshot, live: Longs, borrowing: Ints) -> tuple[Longs, Longs, Longs, tuple[Longs, Longs]]:
    """[n] Free whole devices, rest of shared ones, what is asked for beyond them; [r] node and rest of each device."""
    asks = (snapshot.pod_gpus > 0) & ~_has_slices(snapshot)
    pods = live[asks[live]]
    listed = np.zeros(len(asks), np.bool_)
    listed[list(snapshot.pod_devices)] = True
    floats = listed | (snapshot.pod_gpu_milli < WHOLE_GPU_MILLI)
    floating = np.zeros(len(snapshot.node_name), np.bool_)
    floating[snapshot.pod_node[pods[floats[pods]]]] = True
    uneven = _uneven(snapshot, pods)
    odd = _odd(snapshot, borrowing) & floating | uneven | _broken(snapshot)
    whole = used_once(snapshot, np.where(asks & ~floats, snapshot.pod_gpus, 0).astype(np.int64), live, borrowing)
    room = snapshot.node_allocatable.astype(np.int64)
    free, over = np.maximum(room - whole, 0), np.maximum(whole - room, 0) * WHOLE_GPU_MILLI
    rest = np.zeros(len(room), np.int64)
    together = np.flatnonzero(floating & ~odd)
    found = lay_out_together(Rounds(snapshot, together, pods[floats[pods]], listed, whole))
    free[together], rest[together], over[together] = found.free, found.rest_milli, found.over_milli
    residents = _residents(snapshot, live, odd)
    alone: list[tuple[int, int]] = []
    for n in np.flatnonzero(odd).tolist():
        laid = layout(snapshot, n, residents.get(n, []))
        free[n], rest[n], over[n] = laid.free, laid.rest_milli, laid.over_milli
        alone.extend((n, milli) for milli in laid.rests)
    node, milli = np.array(alone, np.int64).reshape(-1, 2).T
    left = _within(np.concatenate([found.device_node, node]), np.concatenate([found.device_milli, milli]), rest)
    return free, rest, over, left


def _within(node: Longs, milli: Longs, limit: Longs) -> tuple[Longs, Longs]:
    """[r] The devices by node, cut where the node allocates less than its touched devices have left."""
    order = np.argsort(node, kind="stable")
    node, milli = node[order], milli[order]
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    before = np.cumsum(milli) - milli
    before -= np.repeat(before[starts], np.diff(starts, append=len(node)))
    milli = np.clip(limit[node] - before, 0, milli)
    return node[milli > 0], milli[milli > 0]


def _broken(snapshot: Snapshot) -> Bools:
    """[n] Nodes some of whose devices are no whole GPUs."""
    broken = np.zeros(len(snapshot.node_name), np.bool_)
    broken[[n for n, ds in snapshot.node_devices.items() if any(d.health == "failed" or d.mig for d in ds)]] = True
    return broken


def _odd(snapshot: Snapshot, borrowing: Ints) -> Bools:
    """[n] Floating nodes that need a look of their own: many devices, or lending."""
    odd = snapshot.node_gpus > WIDEST
    odd[snapshot.pod_node[borrowing]] = True
    return np.asarray(odd)


def _uneven(snapshot: Snapshot, pods: Longs) -> Bools:
    """[n] Nodes where somebody asks for device memory, and devices have memory of their own or none has so much."""
    found = np.zeros(len(snapshot.node_name), np.bool_)
    found[[n for n, ds in snapshot.node_devices.items() if any(d.memory_mib is not None for d in ds)]] = True
    asks = np.zeros(len(found), np.bool_)
    asks[snapshot.pod_node[pods[snapshot.pod_gpu_memory_mib[pods] > 0]]] = True
    found &= asks
    node, known = snapshot.pod_node[pods], snapshot.node_gpu_memory_mib
    found[node[(known[node] != ABSENT) & (snapshot.pod_gpu_memory_mib[pods] > known[node])]] = True
    return found


def _residents(snapshot: Snapshot, live: Longs, chosen: Bools) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    rows = live[chosen[snapshot.pod_node[live]]]
    for p, n in zip(rows.tolist(), snapshot.pod_node[rows].tolist(), strict=True):
        found.setdefault(n, []).append(p)
    return found
