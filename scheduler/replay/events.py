"""Events ahead as a binary heap, and chance that depends on who is asked and how often, not on who was asked before.

Draws are hashes of (seed, what, who, how often): so two policies meet the same failures and the same exits, and a
replay that is taken up again needs no memory of its draws.
"""

import math

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel, pasted

SUBJECT = 1 << 40
MASK = (1 << 63) - 1
FAILURE_DRAW, REPAIR_DRAW, EXIT_DRAW = 1, 2, 3
# Seconds from notice to exit, log-normal and cut off at the grace time.  The OSDI '26 study measures a mean of 13 s, a
# P95 of 48 s and under 5 % killed at 60 s; these two give 13.3 s, 48 s and 3.2 %.
EXIT_MEDIAN_S, EXIT_SIGMA, GRACE_S = 8.1, 1.08, 60


@pasted
def before(heap, a, b):  # type: ignore[no-untyped-def]
    return heap[a, 0] < heap[b, 0] or (heap[a, 0] == heap[b, 0] and heap[a, 1] < heap[b, 1])


@kernel
def swap(heap, a, b):  # type: ignore[no-untyped-def]
    for column in range(3):
        heap[a, column], heap[b, column] = heap[b, column], heap[a, column]


@kernel
def push(state, at, kind, subject, epoch):  # type: ignore[no-untyped-def]
    heap, row = state.heap, state.clock[c.C_HEAP]
    heap[row, 0], heap[row, 1], heap[row, 2] = at, kind * SUBJECT + subject, epoch
    state.clock[c.C_HEAP] += 1
    while row and before(heap, row, (row - 1) // 2):
        swap(heap, row, (row - 1) // 2)
        row = (row - 1) // 2


@kernel
def pop(state):  # type: ignore[no-untyped-def]
    """Take the first event off; it then stands in the row behind the last one."""
    heap = state.heap
    state.clock[c.C_HEAP] -= 1
    last = state.clock[c.C_HEAP]
    swap(heap, 0, last)
    row = 0
    while True:
        child = 2 * row + 1
        if child >= last:
            break
        if child + 1 < last and before(heap, child + 1, child):
            child += 1
        if not before(heap, child, row):
            break
        swap(heap, row, child)
        row = child


@kernel
def chance(seed, what, who, time):  # type: ignore[no-untyped-def]
    """Above 0 and below 1, by the finaliser of splitmix64 over the four numbers."""
    word = seed & MASK
    for one in (what, who, time):
        word = (word ^ (one + 0x1E3779B97F4A7C15 + ((word << 6) & MASK) + (word >> 2))) & MASK
        word = ((word ^ (word >> 30)) * 0x3F58476D1CE4E5B9) & MASK
        word = ((word ^ (word >> 27)) * 0x14D049BB133111EB) & MASK
        word ^= word >> 31
    return ((word >> 10) + 0.5) / (1 << 53)


@kernel
def exponential(mean, draw):  # type: ignore[no-untyped-def]
    return max(1, int(-mean * math.log(draw)))


@kernel
def bell(draw):  # type: ignore[no-untyped-def]
    """The quantile of the standard normal distribution, by bisection of its distribution function."""
    low, high = -8.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        if 0.5 * math.erfc(-middle / math.sqrt(2.0)) < draw:
            low = middle
        else:
            high = middle
    return low


@kernel
def exit_seconds(seed, job, times):  # type: ignore[no-untyped-def]
    """Seconds until a job that is told to leave has left, the grace time at most."""
    drawn = EXIT_MEDIAN_S * math.exp(EXIT_SIGMA * bell(chance(seed, EXIT_DRAW, job, times)))
    return min(GRACE_S, max(1, int(drawn + 0.5)))
