"""Ejection chains: empty a node by moving its pods, and the pods that stand in their way, to other nodes.

All pods of the drained node find a place, or nothing of that node moves.  While room is made on a node it is closed,
so no chain comes back to it; an emptied node stays closed; no pod moves twice.
"""

from collections.abc import Callable

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation.candidates import best_target, fits_without, leavers, promising
from scheduler.consolidation.columns import (
    L_CHAIN,
    L_TARGET,
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


def _eject(below: Eject) -> Eject:
    """Kernel: let one pod of a node make room, else a few small ones, each moving by ``below``.

    One kernel per level, because the compiler's disk cache does not bring recursive kernels back to life.
    """

    @kernel
    def eject(a: Arena, p: int, members: Longs, depth: int, parent: int) -> bool:
        if eject_directly(a, p, members, depth, parent):
            return True
        if a.work[W_CHECKS] <= 0:
            return False
        for t in promising(a, p, members):
            if t == NONE or a.work[W_CHECKS] <= 0:
                break
            pods, mark, made = leavers(a, t), a.work[W_MOVES], False
            a.node[t, N_OPEN] = 0
            for together in (1, TOGETHER):
                left = 0
                for i in range(len(pods) - 1, -1, -1):
                    if made or left == together or a.work[W_CHECKS] <= 0:
                        break
                    if together == 1 and not fits_without(a, p, t, pods[i]):
                        continue
                    if below(a, pods[i], members, depth + 1, p):
                        left += 1
                        made = fits(a, p, t)
                        if not made and together == 1:
                            undo(a, mark)
                            left = 0
                if not made:
                    undo(a, mark)
            a.node[t, N_OPEN] = 1
            if made:
                move(a, p, t, depth, parent)
                return True
        return False

    return eject


_once = _eject(eject_directly)
_twice = _eject(_once)
_thrice = _eject(_twice)


@kernel
def eject_within(a: Arena, p: int, members: Longs, levels: int) -> bool:
    """Move a pod off the drained node, with at most ``levels`` (0 to 3) levels of pods that make room for others."""
    if levels == 0:
        return eject_directly(a, p, members, 0, NONE)
    if levels == 1:
        return _once(a, p, members, 0, NONE)
    if levels == 2:
        return _twice(a, p, members, 0, NONE)
    return _thrice(a, p, members, 0, NONE)


@kernel
def drain(a: Arena, node: int, members: Longs, levels: int, checks: int) -> bool:
    """Empty and close the node, or change nothing."""
    if a.node[node, N_DRAINABLE] == 0 or a.node[node, N_WORK] == 0 or a.node[node, N_PINNED] > 0:
        return False
    mark, was_open = a.work[W_MOVES], a.node[node, N_OPEN]
    a.node[node, N_OPEN] = 0
    a.work[W_CHECKS] = checks
    for p in leavers(a, node):
        if not eject_within(a, p, members, levels) or a.work[W_MOVES] > a.work[W_LIMIT]:
            undo(a, mark)
            a.node[node, N_OPEN] = was_open
            return False
    a.work[W_CHAINS] += 1
    return True


@kernel
def chains_to(a: Arena, mark: int, t: int) -> int:
    """How many chains from row ``mark`` of the log on use node ``t``."""
    found, last = 0, NONE
    for row in range(mark, a.work[W_MOVES]):
        if a.log[row, L_TARGET] == t and a.log[row, L_CHAIN] != last:
            found, last = found + 1, a.log[row, L_CHAIN]
    return found


@kernel
def open_one(a: Arena, empty: int, order: Longs, members: Longs, levels: int, checks: int) -> int:
    """Let an empty node receive if that empties more than one other; returns the net gain."""
    mark, chains = a.work[W_MOVES], a.work[W_CHAINS]
    drained = np.full(len(order), NONE, np.int64)
    a.node[empty, N_OPEN] = 1
    gain = 0
    for node in order:
        if drain(a, node, members, levels, checks):
            drained[gain] = node
            gain += 1
    if gain > 1 and chains_to(a, mark, empty) == gain:
        return gain - 1
    undo(a, mark)
    a.work[W_CHAINS] = chains
    a.node[empty, N_OPEN] = 0
    for node in drained[:gain]:
        a.node[node, N_OPEN] = 1
    return 0


def _drain_entry(stamp: int) -> Callable[[Arena, Longs, Longs, Longs, int, int], int]:
    @entry
    def drain_all(a: Arena, order: Longs, members: Longs, empties: Longs, levels: int, checks: int) -> int:
        """Drain the nodes of ``order``, easiest first, towards ``members``; then try to open the ``empties``.

        ``levels`` is the depth of the chains, ``checks`` the number of candidates looked at for one node.  Returns the
        net number of emptied nodes.
        """
        gain = 0
        for node in order:
            gain += drain(a, node, members, levels, checks) and stamp >= 0
        for empty in empties:
            gain += open_one(a, empty, order, members, levels, checks)
        return gain

    return drain_all


drain_all = _drain_entry(edition("room", "moves", "candidates", "search"))
