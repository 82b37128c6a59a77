"""How many pods of one kind the devices of a node hold, by the rule of ``cluster.layout``, for many nodes at once.

Nodes whose pods take whole unlisted devices alone are counted by division (``room``).  All others, where shares,
listed devices, device memory or broken devices matter, are laid out here; a test holds the kernel to ``layout``.  What
borrows from a sleeper is left to ``layout`` itself.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Ints, Longs, Snapshot

LISTED, WHOLE, SHARE = 0, 1, 2  # the order in which pods are laid
GPUS, MILLI, MEMORY, POD, TURN = range(5)
ENDLESS = np.int64(1 << 62)  # memory of a device of which nothing is known limits nothing


class Table(NamedTuple):
    """Axes: k nodes that are laid out, g devices, r their pods by node and in the order in which they are laid."""

    usable: Bools  # [k, g] there, healthy and not partitioned
    limit: Longs  # [k, g] memory
    allocatable: Longs  # [k]
    starts: Longs  # [k + 1] -> r
    pods: Longs  # [r, 5] of GPUS, MILLI, MEMORY, POD, TURN
    lists: Longs  # [r + 1] -> listed
    listed: Longs  # devices


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    table: Table
    row: Ints  # [n] -> k, UNKNOWN for nodes that division counts
    sound: Bools  # [k] the devices hold whoever stands there

    def counts(self, nodes: Longs, gpus: int, milli: int, memory: int, pod: int) -> Longs:
        """[nodes] pods that may come; all of the nodes have a row.  ``pod``: its row, which ends ties."""
        return np.asarray(_count(self.table, self.row[nodes].astype(np.int64), gpus, milli, memory, pod))


def odd_nodes(snapshot: Snapshot) -> Bools:
    """[n] Nodes that division does not count rightly."""
    odd = np.zeros(len(snapshot.node_name), np.bool_)
    special = [any(d.memory_mib is not None or d.mig or d.health == "failed" for d in ds)
               for ds in snapshot.node_devices.values()]  # fmt: skip
    odd[[n for n, some in zip(snapshot.node_devices, special, strict=True) if some]] = True
    laid = _laid(snapshot)
    known = snapshot.node_gpu_memory_mib[snapshot.pod_node[laid]]
    swollen = (known != ABSENT) & (snapshot.pod_gpu_memory_mib[laid] > known)
    listed = np.zeros(len(snapshot.pod_name), np.bool_)
    listed[list(snapshot.pod_devices)] = True
    floats = (snapshot.pod_gpu_milli[laid] < WHOLE_GPU_MILLI) | listed[laid] | swollen
    odd[snapshot.pod_node[laid[floats]]] = True
    return odd


def _laid(snapshot: Snapshot) -> Longs:
    """Live pods on devices, slices apart."""
    sliced = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)
    return np.flatnonzero(snapshot.pod_live & (snapshot.pod_gpus > 0) & ~sliced[snapshot.pod_spec])


def bench_of(snapshot: Snapshot, nodes: Bools) -> Bench:
    """``nodes`` [n] are laid out."""
    chosen = np.flatnonzero(nodes)
    row = np.full(len(nodes), UNKNOWN, np.int32)
    row[chosen] = np.arange(len(chosen))
    laid = _laid(snapshot)
    laid = laid[nodes[snapshot.pod_node[laid]]]
    table = _table(snapshot, chosen, row, laid)
    everywhere = np.arange(len(chosen))  # where nothing is to be laid out, no kernel is loaded for it
    sound = _count(table, everywhere, 0, 0, 0, 0) > 0 if len(chosen) else everywhere > 0
    return Bench(table, row, np.asarray(sound))


def _table(snapshot: Snapshot, chosen: Longs, row: Ints, laid: Longs) -> Table:
    gpus = snapshot.node_gpus[chosen]
    width = int(gpus.max(initial=0))
    usable = np.arange(width) < gpus[:, None]
    known = snapshot.node_gpu_memory_mib[chosen]
    limit = np.where(np.ones((1, width), np.bool_), np.where(known == ABSENT, ENDLESS, known)[:, None], 0)
    for k, n in enumerate(chosen.tolist()):
        for device in snapshot.node_devices.get(n, ()):
            usable[k, device.index] = device.health != "failed" and not device.mig
            if device.memory_mib is not None:
                limit[k, device.index] = device.memory_mib
    has_list = np.zeros(len(snapshot.pod_name), np.bool_)
    has_list[list(snapshot.pod_devices)] = True
    rows = rows_of(snapshot, laid, has_list[laid])
    order = np.lexsort((laid, np.where(rows[:, TURN] == SHARE, -rows[:, MILLI], 0), rows[:, TURN],
                        row[snapshot.pod_node[laid]]))  # fmt: skip
    laid, rows = laid[order], rows[order]
    lists = [snapshot.pod_devices[p] if listed else () for p, listed in zip(laid.tolist(), has_list[laid], strict=True)]
    return Table(
        usable, limit.astype(np.int64), snapshot.node_allocatable[chosen].astype(np.int64),
        np.searchsorted(row[snapshot.pod_node[laid]], np.arange(len(chosen) + 1)).astype(np.int64), rows,
        np.cumsum([0, *map(len, lists)]).astype(np.int64), np.array([d for some in lists for d in some], np.int64),
    )  # fmt: skip


def rows_of(snapshot: Snapshot, pods: Longs, listed: Bools | None = None) -> Longs:
    """[r, 5]"""
    milli = snapshot.pod_gpu_milli[pods].astype(np.int64)
    turn = np.where(milli < WHOLE_GPU_MILLI, SHARE, WHOLE)
    if listed is not None:
        turn = np.where(listed, LISTED, turn)
    return np.stack([snapshot.pod_gpus[pods], milli, snapshot.pod_gpu_memory_mib[pods], pods, turn], axis=1).astype(
        np.int64
    )


def with_seated(bench: Bench, node: int, seated: Longs) -> Bench:
    """The bench of this node alone, with pods that were given a seat there ([r, 5] as ``rows_of``)."""
    t, k = bench.table, int(bench.row[node])
    low, high = int(t.starts[k]), int(t.starts[k + 1])
    rows = np.concatenate([t.pods[low:high], seated])
    order = np.lexsort((rows[:, POD], np.where(rows[:, TURN] == SHARE, -rows[:, MILLI], 0), rows[:, TURN]))
    lists = t.lists[low : high + 1] - t.lists[low]
    table = Table(
        t.usable[k : k + 1], t.limit[k : k + 1], t.allocatable[k : k + 1], np.array([0, len(rows)]), rows[order],
        np.concatenate([lists, np.full(len(seated), lists[-1])]), t.listed[t.lists[low] : t.lists[high]],
    )  # fmt: skip
    row = np.full(len(bench.row), UNKNOWN, np.int32)
    row[node] = 0
    return Bench(table, row, np.ones(1, np.bool_))


@numba.njit(cache=True)
def _count(t: Table, nodes: Longs, gpus: int, milli: int, memory: int, pod: int) -> Longs:
    """[nodes] By doubling and halves, the fewer the easier; for pods without devices 1 where the node is sound."""
    found = np.zeros(nodes.size, np.int64)
    most = WHOLE_GPU_MILLI * t.usable.shape[1] // (gpus * milli) if gpus else 1
    for i in range(nodes.size):
        good, bad, step = 0, most + 1, 1
        while good + 1 < bad:
            probe = min(good + step, bad - 1)
            if _holds(t, nodes[i], gpus, milli, memory, pod, probe):
                good, step = probe, 2 * step
            else:
                bad, step = probe, max(1, (probe - good) // 2)
        found[i] = good
    return found


@numba.njit(cache=True)
def _holds(t: Table, k: int, gpus: int, milli: int, memory: int, pod: int, count: int) -> bool:
    """Whether ``count`` more pods lie on the devices beside all who stand there."""
    width = t.usable.shape[1]
    use, held, pods = np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.int64)
    touched = np.zeros(1, np.int64)
    unplaced = 0
    mine = SHARE if milli < WHOLE_GPU_MILLI else WHOLE
    waiting = gpus > 0
    for r in range(t.starts[k], t.starts[k + 1]):
        one = t.pods[r]
        if one[TURN] == LISTED:
            for at in range(t.lists[r], t.lists[r + 1]):
                _put(t, k, t.listed[at], one[MILLI], one[MEMORY], use, held, pods, touched)
            continue
        if waiting and _before(mine, milli, pod, one):
            for _ in range(count):
                unplaced += _lay(t, k, gpus, milli, memory, mine, use, held, pods, touched)
            waiting = False
        unplaced += _lay(t, k, one[GPUS], one[MILLI], one[MEMORY], one[TURN], use, held, pods, touched)
    if waiting:
        for _ in range(count):
            unplaced += _lay(t, k, gpus, milli, memory, mine, use, held, pods, touched)
    over, asked = unplaced, unplaced
    for d in range(width):
        if t.usable[k, d]:
            over += max(0, use[d] - WHOLE_GPU_MILLI)
            asked += use[d]
        if held[d] > t.limit[k, d]:
            return False
    return bool(over == 0 and asked <= WHOLE_GPU_MILLI * t.allocatable[k] and touched[0] <= t.allocatable[k])


@numba.njit(cache=True)
def _before(turn: int, milli: int, pod: int, other: Longs) -> bool:
    """Whole devices first, then the largest shares, ties by row."""
    if turn != other[TURN]:
        return bool(turn < other[TURN])
    if turn == SHARE and milli != other[MILLI]:
        return bool(milli > other[MILLI])
    return bool(pod < other[POD])


@numba.njit(cache=True)
def _put(
    t: Table, k: int, d: int, milli: int, memory: int, use: Longs, held: Longs, pods: Longs, touched: Longs
) -> None:
    if t.usable[k, d] and pods[d] == 0:
        touched[0] += 1
    use[d] += milli
    held[d] += memory
    pods[d] += 1


@numba.njit(cache=True)
def _lay(
    t: Table, k: int, gpus: int, milli: int, memory: int, turn: int, use: Longs, held: Longs, pods: Longs,
    touched: Longs,
) -> int:  # fmt: skip
    """The first devices that are good for it; milli that found none."""
    for d in range(use.size):
        if gpus == 0:
            return 0
        if not t.usable[k, d] or held[d] + memory > t.limit[k, d]:
            continue
        opens = pods[d] == 0 and touched[0] < t.allocatable[k]
        if opens or (turn == SHARE and pods[d] > 0 and use[d] + milli <= WHOLE_GPU_MILLI):
            _put(t, k, d, milli, memory, use, held, pods, touched)
            gpus -= 1
    return gpus * milli
