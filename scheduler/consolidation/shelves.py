# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Nodes that may receive, sorted so that the first one with room is found without looking at those before it.

Two orders: for pods of whole GPUs by untouched devices, for all others by free thousandths in whole GPUs; inside a
shelf by free CPU.  Every class of pods has shelves of its own, with the nodes that it may run on.
"""

from typing import NamedTuple

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Longs
from scheduler.consolidation.columns import (
    N_CLASS,
    N_CPU,
    N_FLOATING,
    N_GPUS,
    N_MILLI,
    N_OPEN,
    N_OWN,
    N_SLOTS,
    NONE,
    P_CLASS,
    P_CPU,
    P_GPUS,
    P_LISTED,
    P_MILLI,
    P_NODE,
    Arena,
)
from scheduler.consolidation.kernel import kernel, pasted
from scheduler.consolidation.room import fits

SHELVES = 17  # 0 to 15 GPUs, and more
WHOLE, PARTS = 0, 1  # the two orders
STOCK_SHELF, STOCK_CPU, STOCK_SLOTS, STOCK_GPUS = range(4)  # the shelf for whole GPUs, then what was free
STOCK_COLUMNS = 4
SOON = 24  # nodes
ENTRIES = 1_000_000  # of classes with rows of their own, those with the fewest nodes first; the others share one row


class Shelves(NamedTuple):
    """Axes: o order, q pod class, w row, b shelf, e entry."""

    row: Longs  # [q] -> w
    start: Longs  # [o, w, b + 1]
    node: Longs  # [o, e]
    cpu: Longs  # [o, e] free on the node when the shelves were filled
    stock: Longs  # [n, STOCK_COLUMNS] each node then
    binds: Longs  # nodes that may take more whole GPUs than their shelf says
    exact: Longs  # [1] 1: the shelves of whole GPUs hold just the nodes with room for as many, but for ``binds``


def fill_shelves(a: Arena) -> Shelves:
    """Sort the open nodes as they stand; nodes that only get fuller later stay findable."""
    takers = np.flatnonzero((a.node[:, N_OPEN] == 1) & (a.node[:, N_GPUS] >= 0) & (a.node[:, N_SLOTS] > 0))
    classes = np.unique(a.pod[a.pod[:, P_NODE] >= 0, P_CLASS])
    entries = a.eligible[classes] @ np.bincount(a.node[takers, N_CLASS], minlength=a.eligible.shape[1])
    order = np.argsort(entries, kind="stable")
    classes = classes[order[np.cumsum(entries[order]) <= ENTRIES]]
    row = np.zeros(a.eligible.shape[0], np.int64)
    row[classes] = np.arange(len(classes)) + 1
    rights = [np.ones(a.eligible.shape[1], np.bool_), *a.eligible[classes]]
    parts = np.clip(a.node[:, N_MILLI], 0, None) // WHOLE_GPU_MILLI
    binds = _binds(a)
    whole = np.minimum(np.where(binds, parts, a.node[:, N_GPUS]), SHELVES - 1)
    starts, nodes = zip(*(_sort(a, takers, amount, rights) for amount in (whole, parts)), strict=True)
    node = np.array(nodes, np.int64)
    stock = np.stack([whole, *a.node[:, [N_CPU, N_SLOTS, N_GPUS]].T], 1)
    return Shelves(
        row,
        np.array(starts, np.int64),
        node,
        a.node[node, N_CPU],
        stock,
        takers[binds[takers]],
        np.array([not (a.slices < 0).any()], np.int64),
    )


def _binds(a: Arena) -> Bools:
    """[n] Nodes with listed devices, or with devices of unlike memory under shares: a whole GPU that arrives pushes
    shares aside, so that the untouched devices do not say whether it fits.
    """
    here = np.flatnonzero((a.pod[:, P_LISTED] != NONE) & (a.pod[:, P_NODE] >= 0))
    binds = (a.node[:, N_OWN] != NONE) & (a.node[:, N_FLOATING] > 0)
    binds[a.pod[here, P_NODE]] = True
    return binds


def _sort(a: Arena, takers: Longs, amount: Longs, rights: list[Bools]) -> tuple[list[Longs], Longs]:
    shelf = np.minimum(amount[takers], SHELVES - 1)
    order = np.lexsort((takers, a.node[takers, N_CPU], shelf))
    takers, shelf = takers[order], shelf[order]
    of_class, starts, chosen, count = a.node[takers, N_CLASS], [], [], 0
    for allowed in rights:
        inside = np.flatnonzero(allowed[of_class])
        starts.append(count + np.searchsorted(shelf[inside], np.arange(SHELVES + 1)))
        chosen.append(takers[inside])
        count += len(inside)
    return starts, np.concatenate(chosen)


@pasted
def order_of(a: Arena, p: int) -> int:
    return WHOLE if a.pod[p, P_GPUS] > 0 and a.pod[p, P_MILLI] == WHOLE_GPU_MILLI else PARTS


@pasted
def lowest_shelf(a: Arena, p: int) -> int:
    return min(a.pod[p, P_GPUS] * a.pod[p, P_MILLI] // WHOLE_GPU_MILLI, SHELVES - 1)


@kernel
def enough_cpu(s: Shelves, order: int, first: int, last: int, wanted: int) -> int:
    """The first entry from ``first`` to ``last`` whose node had so much CPU."""
    while first < last:
        middle = (first + last) // 2
        if s.cpu[order, middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def first_with_room(a: Arena, s: Shelves, p: int) -> int:
    """A node that takes the pod, NONE if none does: one with few free GPUs and little free CPU if such a one is found
    soon, else the emptiest one, where room is most likely.
    """
    order, row = order_of(a, p), s.row[a.pod[p, P_CLASS]]
    tries = SOON
    for b in range(lowest_shelf(a, p), SHELVES):
        last = s.start[order, row, b + 1]
        for i in range(enough_cpu(s, order, s.start[order, row, b], last, a.pod[p, P_CPU]), last):
            tries -= 1
            if tries < 0:
                break
            t = s.node[order, i]
            if a.node[t, N_OPEN] == 1 and fits(a, p, t):
                return t
    for b in range(SHELVES - 1, lowest_shelf(a, p) - 1 if tries < 0 else SHELVES, -1):
        last = s.start[order, row, b + 1]
        for i in range(last - 1, enough_cpu(s, order, s.start[order, row, b], last, a.pod[p, P_CPU]) - 1, -1):
            t = s.node[order, i]
            if a.node[t, N_OPEN] == 1 and fits(a, p, t):
                return t
    return NONE
