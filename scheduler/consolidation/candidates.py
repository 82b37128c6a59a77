# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Which node takes a pod, and which pods could leave a node to make room for it: kernels over one group of nodes."""

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation.columns import (
    N_ATTRACTED,
    N_CLASS,
    N_CPU,
    N_DRAINABLE,
    N_FIRST,
    N_GPUS,
    N_MEMORY,
    N_MILLI,
    N_OPEN,
    N_PINNED,
    N_ROOM,
    N_WORK,
    NONE,
    P_AGENT,
    P_CLASS,
    P_CPU,
    P_FIXED,
    P_GPUS,
    P_IDENTITY,
    P_MEMORY,
    P_MILLI,
    P_MOVED,
    P_NEXT,
    W_CHECKS,
    Arena,
)
from scheduler.consolidation.kernel import kernel, pasted
from scheduler.consolidation.room import fits, place, remove

TARGETS = 6  # nodes looked at closely when a pod fits nowhere
CPU_RANGE = 1 << 36


@pasted
def fullness(a: Arena, t: int) -> int:
    """Smaller is the better target: nodes that stay anyway, then fewest free devices, then least free CPU."""
    stays = a.node[t, N_DRAINABLE] == 0 or a.node[t, N_PINNED] > 0
    return ((0 if stays else 1 << 22) + a.node[t, N_MILLI]) * CPU_RANGE + a.node[t, N_CPU]


@pasted
def best_target(a: Arena, p: int, members: Longs) -> int:
    """The best node of the group that takes the pod as things stand, or NONE."""
    best, found = 2**62, NONE
    gpus = a.pod[p, P_GPUS]
    for t in members:
        if a.node[t, N_OPEN] == 0:
            continue
        a.work[W_CHECKS] -= 1
        if a.node[t, N_CPU] < a.pod[p, P_CPU] or a.node[t, N_MILLI] < gpus * a.pod[p, P_MILLI]:
            continue
        score = fullness(a, t)
        if score < best and fits(a, p, t):
            best, found = score, t
    return found


@pasted
def shortfall(a: Arena, p: int, t: int) -> int:
    """Smaller is the more promising node to make room on; NONE where no departure could help."""
    if a.node[t, N_OPEN] == 0 or a.node[t, N_ATTRACTED] > 0 or a.node[t, N_WORK] <= a.node[t, N_PINNED]:
        return NONE
    gpus, milli = a.pod[p, P_GPUS], a.pod[p, P_MILLI]
    if a.node[t, N_ROOM] < gpus or a.node[t, N_GPUS] < 0 or not a.eligible[a.pod[p, P_CLASS], a.node[t, N_CLASS]]:
        return NONE
    stays = a.node[t, N_DRAINABLE] == 0 or a.node[t, N_PINNED] > 0
    lacking = max(0, gpus * milli - a.node[t, N_MILLI])
    cpu = max(0, a.pod[p, P_CPU] - a.node[t, N_CPU])
    return (lacking + (0 if stays else 500)) * CPU_RANGE + cpu


@kernel
def promising(a: Arena, p: int, members: Longs, nodes: Longs) -> None:
    """Write to ``nodes`` [TARGETS] where the least has to leave for the pod, best first, NONE behind the last one."""
    scores = np.empty(TARGETS, np.int64)
    for i in range(TARGETS):
        nodes[i], scores[i] = NONE, 2**62
    for t in members:
        a.work[W_CHECKS] -= 1
        score = shortfall(a, p, t)
        if score == NONE or score >= scores[TARGETS - 1]:
            continue
        i = TARGETS - 1
        while i > 0 and scores[i - 1] > score:
            nodes[i], scores[i] = nodes[i - 1], scores[i - 1]
            i -= 1
        nodes[i], scores[i] = t, score


@pasted
def larger(a: Arena, p: int, q: int) -> bool:
    """Order of the pods of a node: more of its devices first, then more CPU, then identity."""
    mine, other = a.pod[p, P_GPUS] * a.pod[p, P_MILLI], a.pod[q, P_GPUS] * a.pod[q, P_MILLI]
    if mine != other:
        return mine > other
    if a.pod[p, P_CPU] != a.pod[q, P_CPU]:
        return a.pod[p, P_CPU] > a.pod[q, P_CPU]
    return a.pod[p, P_IDENTITY] < a.pod[q, P_IDENTITY]


@kernel
def leavers(a: Arena, t: int) -> Longs:
    """The pods that may still leave the node, largest first."""
    found = np.empty(a.node[t, N_WORK], np.int64)
    count = 0
    p = a.node[t, N_FIRST]
    while p != NONE:
        if a.pod[p, P_FIXED] == 0 and a.pod[p, P_MOVED] == 0 and a.pod[p, P_AGENT] == 0:
            i = count
            while i > 0 and larger(a, p, found[i - 1]):
                found[i] = found[i - 1]
                i -= 1
            found[i] = p
            count += 1
        p = a.pod[p, P_NEXT]
    return found[:count]


@kernel
def next_leaver(a: Arena, t: int, asked: int) -> int:
    """The smallest pod that may still leave the node and is larger than the one asked last (NONE: any), or NONE."""
    found = NONE
    p = a.node[t, N_FIRST]
    while p != NONE:
        free = a.pod[p, P_FIXED] == 0 and a.pod[p, P_MOVED] == 0 and a.pod[p, P_AGENT] == 0
        if free and (asked == NONE or larger(a, p, asked)) and (found == NONE or larger(a, found, p)):
            found = p
        p = a.pod[p, P_NEXT]
    return found


@kernel
def fits_without(a: Arena, p: int, t: int, q: int) -> bool:
    """Whether ``p`` would fit on ``t`` once ``q`` has left it."""
    a.work[W_CHECKS] -= 1
    if a.node[t, N_CPU] + a.pod[q, P_CPU] < a.pod[p, P_CPU]:
        return False
    if a.node[t, N_MEMORY] + a.pod[q, P_MEMORY] < a.pod[p, P_MEMORY]:
        return False
    if a.node[t, N_MILLI] + a.pod[q, P_GPUS] * a.pod[q, P_MILLI] < a.pod[p, P_GPUS] * a.pod[p, P_MILLI]:
        return False
    remove(a, q)
    good = fits(a, p, t)
    place(a, q, t)
    return good
