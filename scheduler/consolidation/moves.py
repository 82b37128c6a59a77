"""Moves on the tables, their log, and how to take them back."""

from collections.abc import Callable

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation.columns import (
    L_CHAIN,
    L_DEPTH,
    L_PARENT,
    L_POD,
    L_SOURCE,
    L_TARGET,
    N_OPEN,
    P_MOVED,
    P_NODE,
    W_CHAINS,
    W_MOVES,
    Arena,
)
from scheduler.consolidation.kernel import edition, entry, kernel, pasted
from scheduler.consolidation.room import place, remove


@kernel
def move(a: Arena, p: int, t: int, depth: int, parent: int) -> None:
    """Move a pod; ``parent`` is the pod for which it makes room, NONE where it leaves the drained node."""
    row = a.work[W_MOVES]
    a.log[row, L_POD], a.log[row, L_SOURCE], a.log[row, L_TARGET] = p, a.pod[p, P_NODE], t
    a.log[row, L_DEPTH], a.log[row, L_PARENT], a.log[row, L_CHAIN] = depth, parent, a.work[W_CHAINS]
    a.work[W_MOVES] = row + 1
    remove(a, p)
    a.pod[p, P_MOVED] = 1
    place(a, p, t)


@pasted
def undo(a: Arena, mark: int) -> None:
    """Take back all moves from row ``mark`` of the log on."""
    unwind(a, a.work[W_MOVES], mark)
    a.work[W_MOVES] = mark


@kernel
def unwind(a: Arena, last: int, first: int) -> None:
    """Put the pods of rows ``first`` to ``last`` of the log back, latest first; the log stays."""
    for row in range(last - 1, first - 1, -1):
        p = a.log[row, L_POD]
        remove(a, p)
        a.pod[p, P_MOVED] = 0
        place(a, p, a.log[row, L_SOURCE])


def _travel_entry(stamp: int) -> Callable[[Arena, int, int], None]:
    @entry
    def travel(a: Arena, moves: int, forward: int) -> None:
        """Make (``forward`` 1) or take back (0) the first ``moves`` rows of the log."""
        if forward == 0 and stamp >= 0:
            unwind(a, moves, 0)
            return
        for row in range(moves):
            p = a.log[row, L_POD]
            remove(a, p)
            a.pod[p, P_MOVED] = 1
            place(a, p, a.log[row, L_TARGET])

    return travel


travel = _travel_entry(edition("room", "moves"))


def _take_back_entry(stamp: int) -> Callable[[Arena, int], None]:
    @entry
    def take_back(a: Arena, mark: int) -> None:
        """Take back all moves from row ``mark`` of the log on."""
        if stamp >= 0:
            undo(a, mark)

    return take_back


take_back = _take_back_entry(edition("room", "moves"))


def clear(a: Arena, opened: Longs) -> None:
    """Take all moves back; ``opened`` [n]: the nodes that were open before any."""
    take_back(a, 0)
    a.work[W_CHAINS] = 0
    a.node[:, N_OPEN] = opened


def install(a: Arena, log: Longs) -> None:
    """Make the moves of another log, on tables that stand before any."""
    a.log[: len(log)] = log
    a.work[W_MOVES] = len(log)
    a.work[W_CHAINS] = int(log[:, L_CHAIN].max(initial=-1)) + 1
    travel(a, len(log), 1)
