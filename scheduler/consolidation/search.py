# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Ejection chains: empty a node by moving its pods, and the pods that stand in their way, to other nodes.

All pods of the drained node find a place, or nothing of that node moves.  While room is made on a node it is closed,
so no chain comes back to it; an emptied node stays closed; no pod moves twice.
"""

from collections.abc import Callable

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation.candidates import TARGETS, best_target, fits_without, leavers, next_leaver, promising
from scheduler.consolidation.columns import (
    BY_CHAINS,
    DIRECTLY,
    ENDLESS,
    L_CHAIN,
    L_TARGET,
    N_DRAINABLE,
    N_OPEN,
    N_PINNED,
    N_WORK,
    NONE,
    P_CPU,
    P_GROUP,
    P_MEMORY,
    P_NODE,
    P_TRAITS,
    S_CPU,
    S_MEMORY,
    TRAIT_AFFINITY,
    W_CHAINS,
    W_CHECKS,
    W_LIMIT,
    W_MOVES,
    W_OPENED,
    Arena,
)
from scheduler.consolidation.kernel import edition, entry, kernel, pasted
from scheduler.consolidation.moves import move, undo
from scheduler.consolidation.room import fits

TOGETHER = 4  # pods that may leave one node for one other pod

# A frame: the pod that needs room, for whom it makes room itself, the node in hand, the position of the next one, the
# pod asked last, how many may leave together, how many have left, where the log stood, the promising nodes.
F_POD, F_PARENT, F_TARGET, F_NEXT, F_ASKED, F_TOGETHER, F_LEFT, F_MARK, F_TARGETS = range(9)
FRAME_COLUMNS = F_TARGETS + TARGETS


@kernel
def eject_directly(a: Arena, p: int, members: Longs, depth: int, parent: int) -> bool:
    """Move the pod to the best node that takes it as things stand."""
    t = best_target(a, p, members)
    if t == NONE:
        return False
    move(a, p, t, depth, parent)
    return True


@pasted
def known_stuck(a: Arena, p: int, how: int) -> bool:
    """Whether the pod asks for no less than one that found no room in this pass: room only shrinks while it lasts."""
    row = a.stuck[how, a.pod[p, P_GROUP]]
    return a.pod[p, P_CPU] >= row[S_CPU] and a.pod[p, P_MEMORY] >= row[S_MEMORY]


@pasted
def note_stuck(a: Arena, p: int, how: int) -> None:
    """Remember that the pod found no room, if that says something of others: its own node was closed to it alone."""
    row = a.stuck[how, a.pod[p, P_GROUP]]
    less = a.pod[p, P_CPU] <= row[S_CPU] and a.pod[p, P_MEMORY] <= row[S_MEMORY]
    if less and a.pod[p, P_TRAITS] == 0 and a.work[W_OPENED] == NONE and not fits(a, p, a.pod[p, P_NODE]):
        row[S_CPU], row[S_MEMORY] = a.pod[p, P_CPU], a.pod[p, P_MEMORY]


@pasted
def start_frame(a: Arena, stack: Longs, depth: int, p: int, parent: int, members: Longs) -> None:
    """Begin to look for room for a pod that has none."""
    stack[depth, F_POD], stack[depth, F_PARENT] = p, parent
    stack[depth, F_TARGET], stack[depth, F_NEXT] = NONE, F_TARGETS
    promising(a, p, members, stack[depth, F_TARGETS:])


@pasted
def take_target(a: Arena, frame: Longs) -> bool:
    """Close the next promising node, to make room there; False where none is left."""
    if frame[F_NEXT] == FRAME_COLUMNS or frame[frame[F_NEXT]] == NONE or a.work[W_CHECKS] <= 0:
        return False
    frame[F_TARGET], frame[F_MARK] = frame[frame[F_NEXT]], a.work[W_MOVES]
    frame[F_NEXT] += 1
    frame[F_ASKED], frame[F_TOGETHER], frame[F_LEFT] = NONE, 1, 0
    a.node[frame[F_TARGET], N_OPEN] = 0
    return True


@pasted
def take_pod(a: Arena, frame: Longs) -> int:
    """The next pod that may leave the frame's node, smallest first: one alone, then a few together; NONE for nobody."""
    while frame[F_LEFT] < frame[F_TOGETHER] and a.work[W_CHECKS] > 0:
        q = next_leaver(a, frame[F_TARGET], frame[F_ASKED])
        if q == NONE:
            break
        frame[F_ASKED] = q
        if frame[F_TOGETHER] > 1 or fits_without(a, frame[F_POD], frame[F_TARGET], q):
            return q
    undo(a, frame[F_MARK])
    if frame[F_TOGETHER] == 1:
        frame[F_ASKED], frame[F_TOGETHER], frame[F_LEFT] = NONE, TOGETHER, 0
    else:
        a.node[frame[F_TARGET], N_OPEN] = 1
        frame[F_TARGET] = NONE
    return NONE


@pasted
def climb(a: Arena, stack: Longs, depth: int) -> int:
    """A pod has left the node of frame ``depth``: move all pods that have room now; returns the frame that goes on."""
    while depth >= 0:
        frame = stack[depth]
        frame[F_LEFT] += 1
        if not fits(a, frame[F_POD], frame[F_TARGET]):
            if frame[F_TOGETHER] == 1:
                undo(a, frame[F_MARK])
                frame[F_LEFT] = 0
            return depth
        a.node[frame[F_TARGET], N_OPEN] = 1
        move(a, frame[F_POD], frame[F_TARGET], depth, frame[F_PARENT])
        depth -= 1
    return depth


@pasted
def make_room(a: Arena, pod: int, members: Longs, levels: int) -> bool:
    """Move a pod that fits nowhere by letting others leave first, and others for those, ``levels`` deep.

    One pod of a node makes room, else a few small ones.  The levels are frames of a stack, because the compiler's disk
    cache does not bring recursive kernels back to life.
    """
    stack, depth = np.empty((levels, FRAME_COLUMNS), np.int64), 0
    start_frame(a, stack, 0, pod, NONE, members)
    while depth >= 0:
        frame = stack[depth]
        if frame[F_TARGET] == NONE and not take_target(a, frame):
            if depth == 0:
                return False
            depth -= 1
            continue
        q = take_pod(a, frame)
        if q == NONE:
            continue
        if not known_stuck(a, q, DIRECTLY) and eject_directly(a, q, members, depth + 1, frame[F_POD]):
            depth = climb(a, stack, depth)
        elif depth + 1 < levels and a.work[W_CHECKS] > 0:
            depth += 1
            start_frame(a, stack, depth, q, stack[depth - 1, F_POD], members)
    return True


@pasted
def eject(a: Arena, p: int, members: Longs, levels: int, clean: bool) -> bool:
    """Move a pod off the drained node, with at most ``levels`` levels of pods that make room for others.

    ``clean``: nothing has moved off this node yet, so a failure holds for others too.
    """
    if known_stuck(a, p, DIRECTLY):
        opened = a.work[W_OPENED]
        if opened != NONE and fits(a, p, opened):
            move(a, p, opened, 0, NONE)
            return True
    elif eject_directly(a, p, members, 0, NONE):
        return True
    elif clean:
        note_stuck(a, p, DIRECTLY)
    if levels == 0 or a.work[W_CHECKS] <= 0 or known_stuck(a, p, BY_CHAINS):
        return False
    if make_room(a, p, members, levels):
        return True
    if clean:
        note_stuck(a, p, BY_CHAINS)
    return False


@kernel
def drain(a: Arena, node: int, members: Longs, levels: int, checks: int) -> bool:
    """Empty and close the node, or change nothing.  Who can only follow somebody of the node goes after them."""
    if a.node[node, N_DRAINABLE] == 0 or a.node[node, N_WORK] == 0 or a.node[node, N_PINNED] > 0:
        return False
    mark, was_open = a.work[W_MOVES], a.node[node, N_OPEN]
    a.node[node, N_OPEN] = 0
    a.work[W_CHECKS] = checks
    pods = leavers(a, node)
    waiting, left = len(pods), 0
    while waiting > 0:
        for p in pods[:waiting]:
            clean = a.work[W_MOVES] == mark
            if not eject(a, p, members, levels, clean):
                pods[left] = p
                left += 1
                if a.pod[p, P_TRAITS] & TRAIT_AFFINITY == 0:
                    left = waiting
                    break
        if left == waiting or a.work[W_MOVES] > a.work[W_LIMIT]:
            undo(a, mark)
            a.node[node, N_OPEN] = was_open
            return False
        waiting, left = left, 0
    a.work[W_CHAINS] += 1
    return True


@pasted
def chains_to(a: Arena, mark: int, t: int) -> int:
    """How many chains from row ``mark`` of the log on use node ``t``."""
    found, last = 0, NONE
    for row in range(mark, a.work[W_MOVES]):
        if a.log[row, L_TARGET] == t and a.log[row, L_CHAIN] != last:
            found, last = found + 1, a.log[row, L_CHAIN]
    return found


@pasted
def open_one(a: Arena, empty: int, order: Longs, members: Longs, levels: int, checks: int) -> int:
    """Let an empty node receive if that empties more than one other; returns the net gain."""
    mark, chains = a.work[W_MOVES], a.work[W_CHAINS]
    drained = np.empty(len(order), np.int64)
    a.node[empty, N_OPEN], a.work[W_OPENED] = 1, empty
    gain = 0
    for node in order:
        if drain(a, node, members, levels, checks):
            drained[gain] = node
            gain += 1
    a.work[W_OPENED] = NONE
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
        a.stuck[:] = ENDLESS
        for node in order:
            gain += drain(a, node, members, levels, checks) and stamp >= 0
        for empty in empties:
            gain += open_one(a, empty, order, members, levels, checks)
        return gain

    return drain_all


drain_all = _drain_entry(edition("room", "moves", "candidates", "search"))
