"""The devices of each node: what is left of them for F_n(M), and what each one is doing for the zoomed map."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.layout import Layout, layout
from scheduler.cluster.occupancy import borrowers, occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Longs, Snapshot
from scheduler.fragmentation.capacity import Capacity
from scheduler.fragmentation.gradient import OpenNodes
from scheduler.fragmentation.slices import in_slices
from scheduler.fragmentation.sums import sum_by

FREE, HP, LP, STANDBY, SHARED, FAILED = range(6)
NO_DEVICE = 255


@dataclass(frozen=True, slots=True, eq=False)
class GpuStates:
    """One byte per physical GPU, nodes in snapshot order: those of node n are ``states[offsets[n]:offsets[n + 1]]``."""

    states: NDArray[np.uint8]
    offsets: Longs  # [n + 1]


def open_nodes(capacity: Capacity) -> OpenNodes:
    """What the nodes still offer, for F_n(M); a node that is cordoned or not ready offers nothing."""
    snapshot, held = capacity.snapshot, capacity.occupancy
    offered = snapshot.node_usable[held.rest_node]
    return OpenNodes(
        free=capacity.free,
        cpu_milli=capacity.cpu_milli,
        memory_mib=capacity.memory_mib,
        model=snapshot.node_model.astype(np.int64),
        models=snapshot.models,
        rest_node=held.rest_node[offered],
        rest_milli=held.rest_milli[offered],
    )


def gpu_states(snapshot: Snapshot) -> GpuStates:
    """FREE, HP, LP, STANDBY, SHARED (by shares or slices) or FAILED (or not allocated by its node) for each GPU.

    What a sleeping pod lends shows as LP.  A GPU in use stays so whatever the node's health.
    """
    gpus = snapshot.node_gpus.astype(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(gpus)])
    states = np.full(int(offsets[-1]), NO_DEVICE, np.uint8)
    taken = snapshot.pod_live & (snapshot.pod_gpus > 0)
    whole = taken & (snapshot.pod_gpu_milli == WHOLE_GPU_MILLI) & ~in_slices(snapshot)
    single = _laid_out_singly(snapshot, taken)
    _in_order(snapshot, np.flatnonzero(whole), ~single, offsets, states)
    rows = np.flatnonzero(taken)
    rows = rows[single[snapshot.pod_node[rows]]]  # pods that are not live may name no node of the snapshot
    residents: dict[int, list[int]] = {}
    for pod, node in zip(rows.tolist(), snapshot.pod_node[rows].tolist(), strict=True):
        residents.setdefault(node, []).append(pod)
    for node in np.flatnonzero(single).tolist():
        laid = layout(snapshot, node, residents.get(node, []))
        states[offsets[node] : offsets[node + 1]] = states_of(snapshot, node, laid)
    return GpuStates(states, offsets)


def _laid_out_singly(snapshot: Snapshot, taken: Bools) -> Bools:
    """[n] nodes where it matters which device a pod has: listed, failed or sliced devices, and lent shares."""
    single = np.zeros(len(snapshot.node_name), np.bool_)
    listing = np.fromiter(snapshot.pod_devices, np.int64, len(snapshot.pod_devices))
    single[snapshot.pod_node[listing[taken[listing]]]] = True
    borrowing = borrowers(snapshot)
    shares = np.minimum(snapshot.pod_gpu_milli[borrowing], snapshot.pod_gpu_milli[snapshot.pod_lender[borrowing]])
    parted = (shares < WHOLE_GPU_MILLI) | (snapshot.pod_gpu_memory_mib[borrowing] > 0)
    single[snapshot.pod_node[borrowing[parted]]] = True
    odd = [n for n, devices in snapshot.node_devices.items() if any(d.mig or d.health == "failed" for d in devices)]
    single[odd] = True
    return single


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Neighbouring devices of one node in one state."""

    node: Longs
    code: Longs
    length: Longs


def _in_order(snapshot: Snapshot, whole: Longs, chosen: Bools, offsets: Longs, states: NDArray[np.uint8]) -> None:
    """Fill the chosen nodes: whole pods in the order of identities, then shared devices, free ones, and the rest."""
    held = occupancy(snapshot)
    runs = _whole_runs(snapshot, whole[chosen[snapshot.pod_node[whole]]])
    asked = sum_by(runs.node, runs.length, chosen.size)
    free = held.free_gpus.astype(np.int64)
    gpus = snapshot.node_gpus.astype(np.int64)
    shared = np.maximum(snapshot.node_allocatable - free - asked, 0)
    # Where more is asked than there is, free and shared are 0 and the runs are cut at the last device.
    failed = np.maximum(gpus - asked - shared - free, 0)
    nodes = np.flatnonzero(chosen)
    after = ((SHARED, shared), (FREE, free), (FAILED, failed))
    tail = [_Runs(nodes, np.full(nodes.size, code), length[nodes]) for code, length in after]
    node, code, length = _by_node([runs, *tail])
    before = np.cumsum(length) - length
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    before -= np.repeat(before[starts], np.diff(starts, append=node.size))
    length = np.clip(gpus[node] - before, 0, length)
    states[np.repeat(chosen, gpus)] = np.repeat(code, length)


def _whole_runs(snapshot: Snapshot, pods: Longs) -> _Runs:
    """What each pod holds: of a sleeper's devices the first are lent; what is borrowed beyond them comes last."""
    borrowing = np.isin(pods, borrowers(snapshot))
    lent = np.zeros(len(snapshot.pod_name), np.int64)
    np.add.at(lent, snapshot.pod_lender[pods[borrowing]], snapshot.pod_gpus[pods[borrowing]])
    owners = pods[~borrowing]
    own, at_work = snapshot.pod_gpus[owners].astype(np.int64), lent[owners]
    within = np.minimum(own, at_work)
    node = snapshot.pod_node[owners].astype(np.int64)
    lp = np.full(owners.size, LP)
    # Two runs for each owner, lent and kept, side by side.
    kept = _Runs(
        np.repeat(node, 2),
        np.stack([lp, _classes(snapshot)[owners]], axis=1).ravel(),
        np.stack([within, own - within], axis=1).ravel(),
    )
    node, code, length = _by_node([kept, _Runs(node, lp, at_work - within)])
    return _Runs(node, code, length)


def _by_node(runs: list[_Runs]) -> tuple[Longs, Longs, Longs]:
    """Node, code and length of all runs by node; on one node in the order given."""
    node = np.concatenate([one.node for one in runs])
    order = np.argsort(node, kind="stable")
    code, length = (np.concatenate(columns)[order] for columns in zip(*((r.code, r.length) for r in runs), strict=True))
    return node[order], code, length


def _classes(snapshot: Snapshot) -> NDArray[np.uint8]:
    """[p] the state of a device that the pod has alone."""
    asleep = snapshot.pod_standby & ~snapshot.pod_lp
    return np.where(asleep, STANDBY, np.where(snapshot.pod_lp, LP, HP)).astype(np.uint8)


def states_of(snapshot: Snapshot, node: int, laid: Layout) -> list[int]:
    """The states of one node from its layout."""
    listed = snapshot.node_devices.get(node, ())
    sliced = {device.index for device in listed if device.mig and device.health != "failed"}
    free = laid.free
    states = []
    for index, (pods, usable) in enumerate(zip(laid.pods, laid.usable, strict=True)):
        if pods:
            states.append(_of_pods(snapshot, pods))
        elif usable and free:
            states.append(FREE)
            free -= 1
        else:
            states.append(SHARED if index in sliced else FAILED)
    return states


def _of_pods(snapshot: Snapshot, pods: tuple[int, ...]) -> int:
    if any(snapshot.pod_gpu_milli[pod] < WHOLE_GPU_MILLI for pod in pods):
        return SHARED
    # A whole device with several pods is lent: its borrower is at work while the lender sleeps.
    return min((int(state) for state in _classes(snapshot)[list(pods)]), key=lambda state: state == STANDBY)
