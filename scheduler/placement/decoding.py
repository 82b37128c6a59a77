"""Seat plain jobs one after the other in a given order: the kernel under joint placement.

Plain: equal pods of whole GPUs, which share only GPUs, CPU, memory and the number of pods with others.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.snapshot import Bools, Ints, Longs
from scheduler.placement.entropy import least_entropy

NONE = -1
GPUS, CPU, MEMORY, PODS = range(4)
V_GPUS, V_JOBS, V_ENTROPY, V_OPENED = range(4)  # seated; -H x GPUs; - nodes that are opened: the more the better
type Values = NDArray[np.float64]


class Jobs(NamedTuple):
    """Axis j: job."""

    pods: Longs
    shape: Longs  # -> s
    required: Longs  # -> level, NONE
    preferred: Longs  # -> level, NONE


class Room(NamedTuple):
    """Axes: n node that has room for some shape, s shape, l level, r of GPUS, CPU, MEMORY, PODS."""

    left: Longs  # [n, r]
    asks: Longs  # [s, r]
    most: Longs  # [s, n] whatever is left
    domain: Ints  # [l, n] NONE where nobody knows it; of the last level none is NONE: unknown ones stand alone
    domains: Longs  # [l]
    touched: Bools  # [n] somebody works there


@numba.njit(cache=True)
def seat_in_order(order: Longs, jobs: Jobs, room: Room, fixed: Longs, tight: bool) -> tuple[Ints, Values]:
    """[j, n] pods of each job on each node, and what the whole is worth.

    ``fixed`` [j]: the domain of its required level in which a job is seated, NONE: any.  Where several hold it,
    ``tight`` takes the tightest, else the one that can hold most, as the OSDI '26 study's greedy does.
    """
    left, touched = room.left.copy(), room.touched.copy()
    count = left.shape[0]
    seats = np.zeros((jobs.pods.size, count), np.int32)
    value = np.zeros(4)
    slots = np.empty(count, np.int64)
    last = room.domain.shape[0] - 1
    for j in order:
        s, wanted = jobs.shape[j], jobs.pods[j]
        total = 0
        for n in range(count):
            slots[n] = room.most[s, n]
            for r in range(4):
                if room.asks[s, r] > 0:
                    slots[n] = min(slots[n], left[n, r] // room.asks[s, r])
            slots[n] = max(slots[n], 0)
            total += slots[n]
        if total < wanted:
            continue
        done = False
        if jobs.required[j] != NONE:
            done = _one_domain(j, jobs.required[j], wanted, slots, seats, left, touched, room, s, fixed[j], tight)
        else:
            if jobs.preferred[j] != NONE:
                done = _one_domain(j, jobs.preferred[j], wanted, slots, seats, left, touched, room, s, NONE, tight)
            if not done:
                done = _one_domain(j, last, wanted, slots, seats, left, touched, room, s, NONE, tight)
            if not done:
                _spread(j, last, wanted, slots, seats, left, touched, room, s)
                done = True
        if done:
            value[V_GPUS] += wanted * room.asks[s, GPUS]
            value[V_JOBS] += 1
            value[V_ENTROPY] -= (
                _entropy(seats[j], room.domain[last], room.domains[last], wanted) * wanted * room.asks[s, GPUS]
            )
    for n in range(count):
        if touched[n] and not room.touched[n]:
            value[V_OPENED] -= 1
    return seats, value


@numba.njit(cache=True)
def _rooms(slots: Longs, domain: Ints, domains: int) -> Longs:
    found = np.zeros(domains, np.int64)
    for n in range(slots.size):
        if domain[n] >= 0:
            found[domain[n]] += slots[n]
    return found


@numba.njit(cache=True)
def _one_domain(
    j: int, level: int, wanted: int, slots: Longs, seats: Ints, left: Longs, touched: Bools, room: Room, s: int,
    fixed: int, tight: bool,
) -> bool:  # fmt: skip
    rooms = _rooms(slots, room.domain[level], room.domains[level])
    best = NONE
    for d in range(rooms.size):
        if rooms[d] < wanted or (fixed != NONE and d != fixed):
            continue
        if best == NONE or (rooms[d] < rooms[best] if tight else rooms[d] > rooms[best]):
            best = d
    if best == NONE:
        return False
    _fill(j, level, best, wanted, slots, seats, left, touched, room, s)
    return True


@numba.njit(cache=True)
def _spread(
    j: int, level: int, wanted: int, slots: Longs, seats: Ints, left: Longs, touched: Bools, room: Room, s: int
) -> None:
    rooms = _rooms(slots, room.domain[level], room.domains[level])
    taken = least_entropy(rooms, np.zeros(rooms.size, np.bool_), np.arange(rooms.size), wanted)
    for d in range(rooms.size):
        if taken[d] > 0:
            _fill(j, level, d, taken[d], slots, seats, left, touched, room, s)


@numba.njit(cache=True)
def _fill(
    j: int, level: int, domain: int, wanted: int, slots: Longs, seats: Ints, left: Longs, touched: Bools, room: Room,
    s: int,
) -> None:  # fmt: skip
    """The nodes with fewest GPUs left first, so that whole nodes stay whole for those who need them."""
    while wanted > 0:
        best = NONE
        for n in range(slots.size):
            if room.domain[level, n] == domain and slots[n] > 0 and (best == NONE or left[n, GPUS] < left[best, GPUS]):
                best = n
        pods = min(wanted, slots[best])
        seats[j, best] += pods
        for r in range(4):
            left[best, r] -= pods * room.asks[s, r]
        slots[best], touched[best] = 0, True
        wanted -= pods


@numba.njit(cache=True)
def _entropy(seats: Ints, domain: Ints, domains: int, total: int) -> float:
    parts = np.zeros(domains, np.int64)
    for n in range(seats.size):
        if seats[n] > 0:
            parts[domain[n]] += seats[n]
    found = 0.0
    for part in parts:
        if 0 < part < total:
            found -= part / total * np.log(part / total)
    return found
