"""Events ahead as a binary heap, and chance that depends on who is asked and how often, not on who was asked before.

Draws are hashes of (seed, what, who, how often): so two policies meet the same failures and the same exits, and a
replay that is taken up again needs no memory of its draws.
"""

import math

import numpy as np

from scheduler.performance.exit_times import GRACE_S
from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel, pasted

SUBJECT = 1 << 40
# A sleeper's process and memories stayed, so it is woken in place; nobody reports how long that takes: ours
RESUME_SIGMA, RESUME_LONGEST_S = 0.4, 15
STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
FAILURE_DRAW, REPAIR_DRAW, EXIT_DRAW, RESUME_DRAW = 1, 2, 3, 4


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
    """Above 0 and below 1, by the finaliser of splitmix64 over the four numbers, all in 64 bits without a sign."""
    word = np.uint64(seed)
    for one in (what, who, time):
        word ^= np.uint64(one) + STEP + (word << np.uint64(6)) + (word >> np.uint64(2))
        word = (word ^ (word >> np.uint64(30))) * FIRST
        word = (word ^ (word >> np.uint64(27))) * SECOND
        word ^= word >> np.uint64(31)
    return (np.float64(word >> np.uint64(11)) + 0.5) / 9007199254740992.0


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
def log_normal(median_milli, sigma_milli, draw):  # type: ignore[no-untyped-def]
    """Seconds; median in milliseconds, sigma in thousandths."""
    return median_milli / 1000.0 * math.exp(sigma_milli / 1000.0 * bell(draw))


@kernel
def exit_seconds(state, job, times):  # type: ignore[no-untyped-def]
    """Seconds until a job that is told to leave has left: killed where that is the grace time.

    The laws are those of ``performance.exit_times``.
    """
    setting = state.setting
    draw, hanging = chance(setting[c.S_SEED], EXIT_DRAW, job, times), setting[c.S_EXIT_HANGS] / 1000.0
    if draw >= 1.0 - hanging:
        return GRACE_S
    drawn = log_normal(setting[c.S_EXIT_MEDIAN], setting[c.S_EXIT_SIGMA], draw / (1.0 - hanging))
    return min(GRACE_S, max(1, int(drawn + 0.5)))


@kernel
def resume_seconds(state, job):  # type: ignore[no-untyped-def]
    """Seconds that a sleeper takes to serve once nobody is in its way."""
    setting = state.setting
    if not setting[c.S_RESUME]:
        return 0
    draw = chance(setting[c.S_SEED], RESUME_DRAW, job, state.clock[c.C_NOW])
    drawn = log_normal(setting[c.S_RESUME], setting[c.S_RESUME_SIGMA], draw)
    return min(RESUME_LONGEST_S, max(1, int(drawn + 0.5)))
