# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Seats for pods that stand nowhere yet, as kernels: directly where there is room, else where the fewest have to leave.

A pod without a node stands on a node of its own that nothing may enter (``limbo``), so that it moves like any other.
"""

from collections.abc import Callable

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation.candidates import fits_without, leavers
from scheduler.consolidation.columns import (
    ENDLESS,
    L_DEPTH,
    L_PARENT,
    N_ATTRACTED,
    N_CLASS,
    N_CPU,
    N_GPUS,
    N_MEMORY,
    N_MILLI,
    N_OPEN,
    N_PINNED,
    N_ROOM,
    N_WORK,
    NONE,
    P_CLASS,
    P_COMPANY,
    P_CPU,
    P_GPUS,
    P_GROUP,
    P_MEMORY,
    P_MILLI,
    P_TRAITS,
    TRAIT_TOPOLOGY,
    W_CHAINS,
    W_CHECKS,
    W_LIMIT,
    W_MOVES,
    Arena,
)
from scheduler.consolidation.kernel import edition, entry, kernel, pasted
from scheduler.consolidation.moves import move, undo
from scheduler.consolidation.room import at_home, fits
from scheduler.consolidation.search import eject, eject_directly

A_MOVE = 1 << 32  # in a price: GPU milli that move come second
HOPELESS = 1 << 62
DIRECT = -1  # levels: nobody may leave


@kernel
def price_of(a: Arena, p: int, t: int) -> int:
    """About how many pods, and how much of their GPUs, have to leave ``t`` for the pod; HOPELESS where it is no use."""
    if a.node[t, N_OPEN] == 0 or a.node[t, N_ATTRACTED] > 0 or a.node[t, N_WORK] <= a.node[t, N_PINNED]:
        return HOPELESS
    if a.node[t, N_ROOM] < a.pod[p, P_GPUS] or a.node[t, N_GPUS] < 0:
        return HOPELESS
    if not a.eligible[a.pod[p, P_CLASS], a.node[t, N_CLASS]]:
        return HOPELESS
    if a.pod[p, P_TRAITS] & TRAIT_TOPOLOGY and not at_home(a, p, t):
        return HOPELESS
    milli = a.pod[p, P_GPUS] * a.pod[p, P_MILLI] - a.node[t, N_MILLI]
    cpu, memory = a.pod[p, P_CPU] - a.node[t, N_CPU], a.pod[p, P_MEMORY] - a.node[t, N_MEMORY]
    price = 0
    for q in leavers(a, t):
        if price > 0 and milli <= 0 and cpu <= 0 and memory <= 0:
            break
        leaves = a.pod[q, P_GPUS] * a.pod[q, P_MILLI]
        milli, cpu, memory = milli - leaves, cpu - a.pod[q, P_CPU], memory - a.pod[q, P_MEMORY]
        price += A_MOVE + leaves
    return price if milli <= 0 and cpu <= 0 and memory <= 0 else HOPELESS


@pasted
def helps(a: Arena, p: int, t: int, q: int) -> bool:
    """Whether the pod's leaving brings what is short; where no amount is, anybody may stand in the way."""
    milli = a.pod[p, P_GPUS] * a.pod[p, P_MILLI] - a.node[t, N_MILLI]
    cpu, memory = a.pod[p, P_CPU] - a.node[t, N_CPU], a.pod[p, P_MEMORY] - a.node[t, N_MEMORY]
    if milli <= 0 and cpu <= 0 and memory <= 0:
        return True
    gpus = a.pod[q, P_GPUS] > 0
    return (milli > 0 and gpus) or (cpu > 0 and a.pod[q, P_CPU] > 0) or (memory > 0 and a.pod[q, P_MEMORY] > 0)


@kernel
def leave(a: Arena, q: int, members: Longs, levels: int) -> bool:
    return eject(a, q, members, levels, False)


@pasted
def send_one_off(a: Arena, p: int, t: int, members: Longs, levels: int) -> bool:
    """The smallest pod that suffices alone leaves, else the largest that can and helps; False if nobody does."""
    found = leavers(a, t)
    for i in range(len(found) - 1, -1, -1):
        if fits_without(a, p, t, found[i]) and leave(a, found[i], members, levels):
            return True
    gone = False
    for q in found:
        gone = gone or (a.work[W_CHECKS] > 0 and helps(a, p, t, q) and leave(a, q, members, levels))
    return gone


@pasted
def make_way(a: Arena, p: int, t: int, members: Longs, levels: int) -> bool:
    """Let pods leave ``t`` until ``p`` fits, and seat it there; or change nothing."""
    mark, going = a.work[W_MOVES], True
    a.node[t, N_OPEN] = 0
    while going and not fits(a, p, t):
        going = a.work[W_CHECKS] > 0 and send_one_off(a, p, t, members, levels)
    a.node[t, N_OPEN] = 1
    if not going:
        undo(a, mark)
        return False
    for row in range(mark, a.work[W_MOVES]):
        if a.log[row, L_PARENT] == NONE:
            a.log[row, L_PARENT] = p
        a.log[row, L_DEPTH] += 1
    move(a, p, t, 0, NONE)
    return True


@pasted
def seat_by_moves(a: Arena, p: int, places: Longs, members: Longs, levels: int, tries: int, noise: Longs) -> bool:
    """Try the cheapest nodes of ``places`` first."""
    prices = np.empty(len(places), np.int64)
    for i in range(len(places)):
        price = price_of(a, p, places[i])
        prices[i] = price if price == HOPELESS else price + noise[i]
    order = np.argsort(prices, kind="mergesort")
    for i in order[:tries]:
        if prices[i] == HOPELESS or a.work[W_CHECKS] <= 0:
            break
        if make_way(a, p, places[i], members, levels):
            return True
    return False


@pasted
def alike(a: Arena, p: int, q: int) -> bool:
    same = a.pod[p, P_GROUP] == a.pod[q, P_GROUP] and a.pod[p, P_COMPANY] == a.pod[q, P_COMPANY]
    return same and a.pod[p, P_CPU] == a.pod[q, P_CPU] and a.pod[p, P_MEMORY] == a.pod[q, P_MEMORY]


@pasted
def seat(a: Arena, p: int, places: Longs, members: Longs, levels: int, tries: int, noise: Longs, seated: int) -> bool:
    mark = a.work[W_MOVES]
    if eject_directly(a, p, places, 0, NONE):
        return True
    if levels == DIRECT or not seat_by_moves(a, p, places, members, levels, tries, noise):
        return False
    if a.work[W_MOVES] - seated - 1 > a.work[W_LIMIT]:
        undo(a, mark)
        return False
    a.work[W_CHAINS] += 1
    return True


def _price_entry(stamp: int) -> Callable[[Arena, int, Longs], Longs]:
    @entry
    def prices_of(a: Arena, p: int, places: Longs) -> Longs:
        """[places] About what has to leave each of them for the pod, HOPELESS where that is no use."""
        prices = np.empty(len(places), np.int64)
        for i in range(len(places)):
            if stamp >= 0:
                prices[i] = price_of(a, p, places[i])
        return prices

    return prices_of


prices_of = _price_entry(edition("room", "moves", "candidates", "search", "seating"))


def _seat_entry(stamp: int) -> Callable[[Arena, Longs, Longs, Longs, int, int, int, Longs], int]:
    @entry
    def seat_all(
        a: Arena, pods: Longs, places: Longs, members: Longs, levels: int, tries: int, checks: int, noise: Longs
    ) -> int:
        """Seat the pods on nodes of ``places``, one after the other; others leave for ``members``.

        ``levels``: depth of the chains of those who leave, DIRECT: nobody does.  ``tries`` nodes at most are looked at
        for one pod, and ``checks`` candidates.  ``noise`` [places] is added to their prices.  A pod like one that found
        no seat finds none.  Returns how many are seated.
        """
        a.stuck[:] = ENDLESS
        seated, failed = 0, NONE
        for p in pods:
            if failed != NONE and alike(a, p, failed):
                continue
            a.work[W_CHECKS] = checks
            if seat(a, p, places, members, levels, tries, noise, seated) and stamp >= 0:
                seated += 1
            else:
                failed = p
        return seated

    return seat_all


seat_all = _seat_entry(edition("room", "moves", "candidates", "search", "seating"))
