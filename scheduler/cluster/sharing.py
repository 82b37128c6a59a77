"""Layout of shares and listed devices on many nodes at once; the rule is that of ``layout``."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, Bools, Longs, Snapshot

NO_BOUND = np.int64(2**62)


@dataclass(frozen=True, slots=True)
class Rounds:
    """``nodes`` are laid out; ``pods`` = their pods that share or list devices; ``whole`` [n] GPUs of all others."""

    snapshot: Snapshot
    nodes: Longs
    pods: Longs
    listed: Bools  # [p]
    whole: Longs


@dataclass(slots=True)
class _Bench:
    """Axes k, g: nodes laid out and their devices."""

    exists: Bools  # [k, g]
    use: Longs  # [k, g] milli
    memory: Longs  # [k, g] MiB
    touched: Bools  # [k, g]
    room: Longs  # [k] devices that may be touched
    limit: Longs  # [k] memory of a device
    unplaced: Longs  # [k] milli


@dataclass(frozen=True, slots=True)
class Together:
    """Axes: k nodes laid out, r their touched devices that have something left, ordered by node and device."""

    free: Longs  # [k] whole devices
    rest_milli: Longs  # [k] left of touched ones
    over_milli: Longs  # [k] asked for beyond what there is
    device_node: Longs  # [r] -> n
    device_milli: Longs  # [r] left


def lay_out_together(rounds: Rounds) -> Together:
    """What is free, left and missing on each of ``rounds.nodes``."""
    if not len(rounds.nodes):
        return Together(*(np.zeros(0, np.int64),) * 5)
    snapshot = rounds.snapshot
    row_of = np.full(len(snapshot.node_name), -1, np.int64)
    row_of[rounds.nodes] = np.arange(len(rounds.nodes))
    pods = rounds.pods[row_of[snapshot.pod_node[rounds.pods]] >= 0]
    bench = _bench(snapshot, rounds.nodes)
    _bind_listed(snapshot, bench, pods[rounds.listed[pods]], row_of)
    _place_whole(bench, rounds.whole[rounds.nodes])
    _place_shares(snapshot, bench, pods[~rounds.listed[pods]], row_of)
    left = np.where(bench.touched, WHOLE_GPU_MILLI - bench.use, 0)
    row, _ = found = np.nonzero(left > 0)
    return Together(*_sums(bench), rounds.nodes[row], left[found])


def _bench(snapshot: Snapshot, nodes: Longs) -> _Bench:
    gpus = snapshot.node_gpus[nodes]
    shape = (len(nodes), int(gpus.max()))
    memory = snapshot.node_gpu_memory_mib[nodes]
    return _Bench(
        exists=np.arange(shape[1]) < gpus[:, None],
        use=np.zeros(shape, np.int64),
        memory=np.zeros(shape, np.int64),
        touched=np.zeros(shape, np.bool_),
        room=snapshot.node_allocatable[nodes].astype(np.int64),
        limit=np.where(memory == ABSENT, NO_BOUND, memory),
        unplaced=np.zeros(len(nodes), np.int64),
    )


def _bind_listed(snapshot: Snapshot, bench: _Bench, pods: Longs, row_of: Longs) -> None:
    counts = [len(snapshot.pod_devices[p]) for p in pods.tolist()]
    device = np.array([d for p in pods.tolist() for d in snapshot.pod_devices[p]], np.int64)
    pod = np.repeat(pods, counts)
    row = row_of[snapshot.pod_node[pod]]
    np.add.at(bench.use, (row, device), snapshot.pod_gpu_milli[pod])
    np.add.at(bench.memory, (row, device), snapshot.pod_gpu_memory_mib[pod])
    bench.touched[row, device] = True


def _place_whole(bench: _Bench, wanted: Longs) -> None:
    fresh = bench.exists & ~bench.touched
    taken = np.minimum(wanted, np.maximum(bench.room - bench.touched.sum(axis=1), 0))
    chosen = _first(fresh, taken)
    bench.use[chosen] = WHOLE_GPU_MILLI
    bench.touched |= chosen
    bench.unplaced += (wanted - chosen.sum(axis=1)) * WHOLE_GPU_MILLI


def _place_shares(snapshot: Snapshot, bench: _Bench, pods: Longs, row_of: Longs) -> None:
    """The k-th largest share of every node is placed in round k: one step for all nodes."""
    row = row_of[snapshot.pod_node[pods]]
    order = np.lexsort((pods, -snapshot.pod_gpu_milli[pods], row))
    pods, row = pods[order], row[order]
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    turn = np.arange(len(row)) - np.repeat(starts, np.diff(starts, append=len(row)))
    by_turn = np.argsort(turn, kind="stable")
    for part in np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]) if len(turn) else ():
        _place_round(snapshot, bench, pods[part], row[part])


def _place_round(snapshot: Snapshot, bench: _Bench, pods: Longs, row: Longs) -> None:
    milli = snapshot.pod_gpu_milli[pods].astype(np.int64)
    memory = snapshot.pod_gpu_memory_mib[pods]
    gpus = snapshot.pod_gpus[pods].astype(np.int64)
    touched = bench.touched[row]
    good = bench.exists[row] & (bench.use[row] + milli[:, None] <= WHOLE_GPU_MILLI)
    good &= bench.memory[row] + memory[:, None] <= bench.limit[row, None]
    good &= touched | _first(good & ~touched, bench.room[row] - touched.sum(axis=1))
    chosen = _first(good, gpus)
    bench.use[row] += chosen * milli[:, None]
    bench.memory[row] += chosen * memory[:, None]
    bench.touched[row] = touched | chosen
    bench.unplaced[row] += (gpus - chosen.sum(axis=1)) * milli


def _first(good: Bools, count: Longs) -> Bools:
    """The first ``count`` devices of each row that are good."""
    ordinal: NDArray[np.int64] = np.cumsum(good, axis=1)
    return np.asarray(good & (ordinal <= count[:, None]))


def _sums(bench: _Bench) -> tuple[Longs, Longs, Longs]:
    touched = bench.touched.sum(axis=1)
    asked = bench.use.sum(axis=1)
    inside = np.minimum(bench.use, WHOLE_GPU_MILLI).sum(axis=1)
    free = np.maximum(bench.room - touched, 0)
    left = np.minimum(WHOLE_GPU_MILLI * touched - inside, WHOLE_GPU_MILLI * (bench.room - free) - inside)
    over = np.maximum(bench.unplaced + asked - inside, asked + bench.unplaced - WHOLE_GPU_MILLI * bench.room)
    return free, np.maximum(left, 0), np.maximum(over, 0)
