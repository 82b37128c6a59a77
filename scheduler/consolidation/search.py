"""Ejection chains: empty a node by moving its pods, and the pods that stand in their way, to other nodes.

All pods of the drained node find a place, or nothing of that node moves.  While room is made on a node it is closed,
so no chain comes back to it; an emptied node stays closed; no pod moves twice.
"""

from collections.abc import Callable
from functools import cache

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation.candidates import best_target, fits_without, leavers, promising
from scheduler.consolidation.columns import (
    N_DRAINABLE,
    N_OPEN,
    N_PINNED,
    N_WORK,
    NONE,
    W_CHAINS,
    W_CHECKS,
    W_LIMIT,
    W_MOVES,
    Arena,
)
from scheduler.consolidation.kernel import edition, entry, kernel
from scheduler.consolidation.moves import move, undo
from scheduler.consolidation.room import fits

MAX_DEPTH = 3
TOGETHER = 4  # pods that may leave one node for one other pod
Eject = Callable[[Arena, int, Longs, int, int], bool]


@kernel
def eject_directly(a: Arena, p: int, members: Longs, depth: int, parent: int) -> bool:
    """Move the pod to the best node that takes it as things stand."""
    t = best_target(a, p, members)
    if t == NONE:
        return False
    move(a, p, t, depth, parent)
    return True


def _make_room(below: Eject) -> Callable[[Arena, int, int, Longs, int], bool]:
    """Kernel: let one pod leave node ``t``, else a few of them, smallest first, until pod ``p`` fits."""

    @kernel
    def one_leaves(a: Arena, p: int, t: int, pods: Longs, members: Longs, depth: int) -> bool:
        mark = a.work[W_MOVES]
        for i in range(len(pods) - 1, -1, -1):
            if a.work[W_CHECKS] <= 0:
                return False
            if fits_without(a, p, t, pods[i]) and below(a, pods[i], members, depth + 1, p):
                if fits(a, p, t):
                    return True
                undo(a, mark)
        return False

    @kernel
    def some_leave(a: Arena, p: int, t: int, pods: Longs, members: Longs, depth: int) -> bool:
        mark, left = a.work[W_MOVES], 0
        for i in range(len(pods) - 1, -1, -1):
            if left == TOGETHER or a.work[W_CHECKS] <= 0:
                break
            if below(a, pods[i], members, depth + 1, p):
                left += 1
                if fits(a, p, t):
                    return True
        undo(a, mark)
        return False

    @kernel
    def make_room(a: Arena, p: int, t: int, members: Longs, depth: int) -> bool:
        pods = leavers(a, t)
        a.node[t, N_OPEN] = 0
        made = one_leaves(a, p, t, pods, members, depth) or (
            len(pods) > 1 and some_leave(a, p, t, pods, members, depth)
        )
        a.node[t, N_OPEN] = 1
        return made

    return make_room


def _eject(levels: int) -> Eject:
    """Kernel: the same with at most ``levels`` levels of pods that make room."""
    if levels == 0:
        return eject_directly
    make_room = _make_room(_eject(levels - 1))

    @kernel
    def eject(a: Arena, p: int, members: Longs, depth: int, parent: int) -> bool:
        if eject_directly(a, p, members, depth, parent):
            return True
        if a.work[W_CHECKS] <= 0:
            return False
        for t in promising(a, p, members):
            if t == NONE or a.work[W_CHECKS] <= 0:
                break
            if make_room(a, p, t, members, depth):
                move(a, p, t, depth, parent)
                return True
        return False

    return eject


@cache
def drain_kernel(depth: int) -> Callable[[Arena, Longs, Longs, int], int]:
    """The compiled ``drain_all(arena, order, members, checks) -> nodes emptied`` for one depth, 0 to MAX_DEPTH.

    ``order`` are the nodes to drain, easiest first, ``members`` the possible targets, ``checks`` the candidates that
    may be looked at for one node.
    """
    eject = _eject(depth)

    @kernel
    def drain(a: Arena, node: int, members: Longs, checks: int) -> bool:
        mark, was_open = a.work[W_MOVES], a.node[node, N_OPEN]
        a.node[node, N_OPEN] = 0
        a.work[W_CHECKS] = checks
        for p in leavers(a, node):
            if not eject(a, p, members, 0, NONE) or a.work[W_MOVES] > a.work[W_LIMIT]:
                undo(a, mark)
                a.node[node, N_OPEN] = was_open
                return False
        a.work[W_CHAINS] += 1
        return True

    stamp = edition("room", "moves", "candidates", "search")

    @entry
    def drain_all(a: Arena, order: Longs, members: Longs, checks: int) -> int:
        if stamp < 0:
            return 0
        emptied = 0
        for node in order:
            if a.node[node, N_DRAINABLE] == 1 and a.node[node, N_WORK] > 0 and a.node[node, N_PINNED] == 0:
                emptied += drain(a, node, members, checks)
        return emptied

    return drain_all
