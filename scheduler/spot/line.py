"""The line for one GPU model, run many times over on drawn paths of what there is: when does an ask start?

Each run goes step by step.  Who ends gives back; where less is left than spot work holds, those that started last are
reclaimed and wait at the front; then whoever waits and fits starts, in the order of the line.  The ask that is asked
about holds nothing and only notes the first step at which it would fit.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.snapshot import Bools, Longs

Floats = NDArray[np.float64]
NEVER = -1
ANY = -1.0


class Probe(NamedTuple):
    """The ask: GPUs with which it starts, what finds room now, the part of what comes free beside that it can use, and

    the most that it could ever find (the largest domain).
    """

    gpus: int
    now: int
    share: float
    most: int


class Others(NamedTuple):
    """Spot work beside the ask.  Axes: k runs, j jobs that are there in the order of the line, m newcomers of all runs.

    ``fit``: the part of what is free on which such pods find room.  ``now``: GPUs that it finds on what is free at
    first, too few for those who wait, and beside which ``fit`` is of what comes free; ANY: not known.
    ``lasts``: steps that it still has to run.
    """

    gpus: Longs  # [j]
    fit: Floats  # [j]
    now: Floats  # [j]
    running: Bools  # [j]
    lasts: Longs  # [k, j]
    first: Longs  # [k + 1] newcomers of each run, by arrival
    new_gpus: Longs  # [m]
    new_fit: Floats  # [m]
    new_lasts: Longs  # [m]
    arrives: Longs  # [m] step


@numba.njit(cache=True)
def first_starts(supply: Longs, others: Others, probe: Floats) -> tuple[Longs, Bools]:
    """([k] step at which the ask starts, NEVER; [k, t] whether one that is asked at that step would start then).

    ``supply`` [k, t]; ``probe``: the fields of ``Probe``.
    """
    runs, steps = supply.shape
    found = np.full(runs, NEVER, np.int64)
    late = np.zeros((runs, steps), np.bool_)
    old = others.gpus.size
    for k in range(runs):
        part = slice(others.first[k], others.first[k + 1])
        gpus = np.concatenate((others.gpus, others.new_gpus[part]))
        fit = np.concatenate((others.fit, others.new_fit[part]))
        now = np.concatenate((others.now, np.full(others.new_gpus[part].size, ANY)))
        left = np.concatenate((others.lasts[k], others.new_lasts[part]))
        arrives = others.arrives[part]
        on, back, ends = np.zeros(gpus.size, np.int64), np.zeros(gpus.size, np.int64), np.zeros(gpus.size, np.int64)
        given = np.zeros(steps + 1, np.int64)  # GPUs that come back at each step
        held, there, lost, free_then = 0, old, 0, 0
        for j in range(old):
            if others.running[j]:
                held += _begin(j, 0, gpus, left, on, ends, given)
        for t in range(steps):
            held -= given[t]
            while there - old < arrives.size and arrives[there - old] <= t:
                there += 1
            back_gpus, more = _reclaimed(held - supply[k, t], t, gpus, left, on, back, ends, given)
            held, lost = held - back_gpus, lost + more
            free = supply[k, t] - held
            free_then = free if t == 0 else free_then
            for turn in range(3):  # reclaimed, those that were there before the ask, newcomers
                if turn == 2 and found[k] == NEVER and _finds(free, free_then, probe) >= probe[0]:
                    found[k] = t
                if turn == 0 and not lost:
                    continue
                for j in range(0 if turn < 2 else old, there if turn != 1 else old):
                    if free < 1:
                        break
                    if on[j] or left[j] <= 0 or (turn == 0) != (back[j] == 1):
                        continue
                    if _room(free, free_then, now[j], fit[j]) < gpus[j]:
                        continue
                    lost -= back[j]
                    back[j], now[j] = 0, ANY
                    free -= gpus[j]
                    held += _begin(j, t, gpus, left, on, ends, given)
            late[k, t] = _finds(free, free_then, probe) >= probe[0]
    return found, late


@numba.njit(cache=True)
def _begin(j: int, t: int, gpus: Longs, left: Longs, on: Longs, ends: Longs, given: Longs) -> int:
    """Job ``j`` starts at step ``t``; ``on`` keeps the step after its start.  Its GPUs."""
    on[j], ends[j], left[j] = t + 1, t + left[j], 0
    given[min(ends[j], given.size - 1)] += gpus[j]
    return int(gpus[j])


@numba.njit(cache=True)
def _reclaimed(
    over: int, t: int, gpus: Longs, left: Longs, on: Longs, back: Longs, ends: Longs, given: Longs
) -> tuple[int, int]:  # fmt: skip
    """Who started last leaves first, until ``over`` GPUs are back: (their GPUs, how many they are)."""
    gone, jobs, steps = 0, 0, given.size - 1
    while over > gone:
        last = _last(t, on, ends)
        if last == NEVER:
            break
        gone += gpus[last]
        jobs += 1
        given[min(ends[last], steps)] -= gpus[last]
        on[last], back[last], left[last] = 0, 1, ends[last] - t
    return gone, jobs


@numba.njit(cache=True)
def _last(t: int, on: Longs, ends: Longs) -> int:
    """Of those that still run the one that started last; NEVER where nobody does."""
    found = NEVER
    for j in range(on.size):
        if on[j] and ends[j] > t and (found < 0 or on[j] >= on[found]):
            found = j
    return found


@numba.njit(cache=True)
def _finds(free: int, free_then: int, probe: Floats) -> float:
    """GPUs on which the ask finds room: what it finds now, and its part of what is more or less free than now."""
    return float(min(_room(free, free_then, probe[1], probe[2]), probe[3]))


@numba.njit(cache=True)
def _room(free: int, free_then: int, now: float, share: float) -> float:
    if now < 0:
        return free * share
    if free < free_then:
        return now * max(free, 0) / free_then
    return now + share * (free - free_then)
