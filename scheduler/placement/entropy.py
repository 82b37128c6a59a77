"""GPU entropy of a job, and the spread over domains that has least of it.

A job with g_i of its G GPUs in domain i has H = -sum p_i ln p_i, p_i = g_i / G (OSDI '26 study, section on topology).
``least_entropy`` is the paper's greedy: take the domain that leaves least entropy, that is one that holds all of the
rest, else the largest.

Why that is optimal for one job of equal pods.  Let c_1 >= c_2 >= ... be what the domains hold, and y a spread of k
pods.  The j largest parts of y sum to at most min(k, c_1 + ... + c_j), and the greedy's first j parts sum to just that.
So its spread majorises every other one, and H is Schur-concave: no spread has less.  Which of the domains that hold all
of the rest is taken does not change H; so the tightest is, and whole free domains are kept.  Not proven, and not true
in general: pods of different sizes (a subset-sum problem), several jobs at once (``joint``), and the sum over several
levels of a tree, where the widest level is settled first.
"""

import math
from collections.abc import Iterable

import numba
import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs


def entropy(parts: Iterable[int]) -> float:
    """H in nats of GPUs by domain; 0 where all lie in one or there are none."""
    held = [part for part in parts if part > 0]
    total = sum(held)
    return -math.fsum(part / total * math.log(part / total) for part in held) + 0.0 if len(held) > 1 else 0.0


def gpus_by_place(domain: Ints, node_gpus: dict[int, int]) -> list[int]:
    """GPUs of a job by domain; a node whose domain nobody knows is a place of its own."""
    known: dict[tuple[bool, int], int] = {}
    for node, gpus in node_gpus.items():
        here = int(domain[node])
        place = (True, here) if here != UNKNOWN else (False, node)
        known[place] = known.get(place, 0) + gpus
    return [known[place] for place in sorted(known)]


@numba.njit(cache=True)
def least_entropy(room: Longs, whole: Bools, rank: Longs, wanted: int) -> Longs:
    """[d] Pods taken of each domain, all 0 if together they do not hold ``wanted``.

    ``room`` [d] pods that it holds, ``whole`` [d] it is free and not to be opened while another one will do, ``rank``
    [d] its turn among equals.
    """
    taken = np.zeros(room.size, np.int64)
    if room.sum() < wanted:
        return taken
    rest, order, at = wanted, np.argsort(-room, kind="mergesort"), 0
    while rest > 0:
        fit = -1
        for d in range(room.size):
            if taken[d] == 0 and room[d] >= rest and (fit < 0 or _tighter(room, whole, rank, d, fit)):
                fit = d
        if fit >= 0:
            taken[fit] = rest
            return taken
        # none holds the rest: the largest, of equals the one whose turn is first
        best = -1
        while at < order.size and taken[order[at]] > 0:
            at += 1
        for i in range(at, order.size):
            d = order[i]
            if best >= 0 and room[d] < room[best]:
                break
            if taken[d] == 0 and (best < 0 or rank[d] < rank[best]):
                best = d
        taken[best] = room[best]
        rest -= room[best]
    return taken


@numba.njit(cache=True)
def _tighter(room: Longs, whole: Bools, rank: Longs, one: int, other: int) -> bool:
    if whole[one] != whole[other]:
        return bool(whole[other])
    if room[one] != room[other]:
        return bool(room[one] < room[other])
    return bool(rank[one] < rank[other])


@numba.njit(cache=True)
def by_domain(slots: Longs, domain: Ints, domains: int) -> Longs:
    """[d] Pods that the nodes of each domain hold; ``domain`` [n], negative where nobody knows it."""
    found = np.zeros(domains, np.int64)
    for n in range(slots.size):
        if domain[n] >= 0:
            found[domain[n]] += slots[n]
    return found


@numba.njit(cache=True)
def place_in_domains(slots: Longs, domain: Ints, domains: int, wanted: int, untouched: Bools) -> tuple[Longs, Longs]:
    """The whole way for one job of equal pods: [n] pods on each node, [d] in each domain; nothing where it cannot be.

    Nodes without a known domain take no part: this is for jobs that ask for domains.
    """
    room, whole = by_domain(slots, domain, domains), np.ones(domains, np.bool_)
    for n in range(slots.size):
        if domain[n] >= 0 and not untouched[n]:
            whole[domain[n]] = False
    taken = least_entropy(room, whole, np.arange(domains), wanted)
    on_node, rest = np.zeros(slots.size, np.int64), taken.copy()
    # nodes that are filled to the brim first, so that the last one alone is left half used
    for n in range(slots.size):
        d = domain[n]
        if d >= 0 and rest[d] > 0 and not untouched[n] and 0 < slots[n] <= rest[d]:
            on_node[n] = slots[n]
            rest[d] -= slots[n]
    for n in range(slots.size):
        d = domain[n]
        if d >= 0 and rest[d] > 0 and on_node[n] == 0 and slots[n] > 0:
            on_node[n] = min(slots[n], rest[d])
            rest[d] -= on_node[n]
    return on_node, taken
