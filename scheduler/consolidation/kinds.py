"""Kinds: pods that ask for the same and may run on the same nodes; the exact stage counts them and names nobody."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Ints, Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import number_alike
from scheduler.consolidation.columns import NONE, Arena

HOMES = ((c.P_LEVEL, c.P_DOMAIN), (c.P_LEVEL_2, c.P_DOMAIN_2))
ASKED = (c.P_CLASS, c.P_GPUS, c.P_MILLI, c.P_DEVICE_MEMORY, c.P_CPU, c.P_MEMORY, *HOMES[0], *HOMES[1])
WITH_COMPANY = c.TRAIT_PORTS | c.TRAIT_REFUSAL | c.TRAIT_AFFINITY | c.TRAIT_SLICES
PARTS = (1, 2, 3)  # of the functions in ``on_devices``
GPU_MILLI = 3  # position among the resources


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """Axes: p pod, n node, k kind, r resource.

    Resources: pods, CPU milli, memory MiB, GPU milli, then ``on_devices``, then places for whole GPUs: of a node with
    room for g of them no more than g // d pods of d GPUs fit, each larger pod counted as often as d goes into it.
    """

    of: Longs  # [p] NONE for pods that stay
    asks: Longs  # [k, r]
    first: Longs  # [k] a pod of the kind
    free: Longs  # [n, r] what could be free to those who arrive, before anybody leaves; never negative


def kinds_of(a: Arena, lent: Ints) -> Kinds:
    """Number the pods that may move, as the tables stand before any move; ``lent``: rows of borrowers."""
    of = movable(a)
    rows = np.flatnonzero(of != NONE)
    company = np.where(a.pod[rows, c.P_TRAITS] & WITH_COMPANY, a.pod[rows, c.P_COMPANY], NONE)
    asked = np.column_stack([a.pod[rows][:, ASKED], company])
    number = number_alike(asked, range(asked.shape[1]))
    of[rows] = number
    first = rows[np.unique(number, return_index=True)[1]]
    uses, sizes = _uses(a.pod), sizes_of(a.pod[first])
    asks = np.column_stack([uses[first], *(whole(a.pod[first]) // size for size in sizes)])
    free = np.column_stack([_free(a, uses, lent), *places(a, of, sizes, lent)])
    return Kinds(of, asks, first, free)


def among(kinds: Kinds, numbers: frozenset[int]) -> Kinds:
    """These kinds alone, numbered anew in their order."""
    chosen = np.array(sorted(numbers), np.int64)
    number = np.full(len(kinds.first) + 1, NONE)  # the last one is for pods that stay
    number[chosen] = np.arange(len(chosen))
    return Kinds(number[kinds.of], kinds.asks[chosen], kinds.first[chosen], kinds.free)


def movable(a: Arena) -> Longs:
    """[p] 0 for pods that may move, NONE for the others, as the tables stand before any move."""
    free = (a.pod[:, c.P_NODE] >= 0) & (a.pod[:, c.P_FIXED] == 0) & (a.pod[:, c.P_AGENT] == 0)
    return np.where(free, 0, NONE)


def sizes_of(pod: Longs) -> list[int]:
    """Numbers of whole GPUs above one that a pod asks for, most at first."""
    sizes = np.unique(whole(pod))
    return sizes[sizes > 1][::-1].tolist()  # type: ignore[no-any-return]


def whole(pod: Longs) -> Longs:
    """[pod] Whole GPUs that are asked for."""
    return np.where(pod[:, c.P_MILLI] == WHOLE_GPU_MILLI, pod[:, c.P_GPUS], 0)


def places(a: Arena, of: Longs, sizes: list[int], lent: Ints) -> Iterator[Longs]:
    """[n] For each size: places on what the pods that stay leave, without those that are taken now."""
    stay = a.pod[:, c.P_NODE] >= 0
    stay[lent] = False
    fixed, moves = np.flatnonzero(stay & (of == NONE)), np.flatnonzero(stay & (of != NONE))
    left = a.node[:, c.N_ROOM] * WHOLE_GPU_MILLI
    np.subtract.at(left, a.pod[fixed, c.P_NODE], a.pod[fixed, c.P_GPUS] * a.pod[fixed, c.P_MILLI])
    for size in sizes:
        found = np.maximum(left, 0) // WHOLE_GPU_MILLI // size
        np.subtract.at(found, a.pod[moves, c.P_NODE], whole(a.pod[moves]) // size)
        yield np.maximum(found, 0)


def _uses(pod: Longs) -> Longs:
    """[p, r] Without the places for whole GPUs."""
    plain = [np.ones(len(pod), np.int64), pod[:, c.P_CPU], pod[:, c.P_MEMORY], pod[:, c.P_GPUS] * pod[:, c.P_MILLI]]
    shared = (pod[:, c.P_GPUS] > 0) & (pod[:, c.P_MILLI] != WHOLE_GPU_MILLI)
    parts = PARTS if shared.any() else ()
    return np.stack([*plain, *(pod[:, c.P_GPUS] * on_devices(pod[:, c.P_MILLI], part) for part in parts)], 1)


def on_devices(milli: Longs, k: int) -> Longs:
    """What a share of a device weighs if each device weighs k (k + 1): shares that fit on one weigh no more together.

    The dual feasible function u(k) of Fekete and Schepers, New classes of fast lower bounds for bin packing problems
    (2001): x where (k + 1) x is whole, else floor((k + 1) x) / k.
    """
    whole, rest = np.divmod((k + 1) * milli, WHOLE_GPU_MILLI)
    return np.asarray(np.where(rest == 0, k * whole, (k + 1) * whole))


def _free(a: Arena, uses: Longs, lent: Ints) -> Longs:
    """Borrowers count as gone: where they go, they take no less than they leave behind."""
    stay = a.pod[:, c.P_NODE] >= 0
    stay[lent] = False
    free = np.zeros((len(a.node), uses.shape[1]), np.int64)
    free[:, : GPU_MILLI + 1] = a.node[:, [c.N_SLOTS, c.N_CPU, c.N_MEMORY, c.N_MILLI]]
    np.add.at(free[:, : GPU_MILLI + 1], a.pod[lent, c.P_NODE], uses[lent, : GPU_MILLI + 1])
    for r, k in zip(range(GPU_MILLI + 1, uses.shape[1]), PARTS, strict=False):
        free[:, r] = a.node[:, c.N_ROOM] * k * (k + 1)
        np.subtract.at(free[:, r], a.pod[stay, c.P_NODE], uses[stay, r])
    return np.maximum(free, 0)


def suits(a: Arena, p: int, nodes: Longs) -> Bools:
    """[nodes] Whether the pod may run there at all: eligibility, topology, the memory of whole devices."""
    good = a.eligible[a.pod[p, c.P_CLASS], a.node[nodes, c.N_CLASS]]
    if a.pod[p, c.P_MILLI] == WHOLE_GPU_MILLI:
        enough = a.node[nodes, c.N_DEVICE_MEMORY] >= a.pod[p, c.P_DEVICE_MEMORY]
        good = good & (enough | (a.node[nodes, c.N_OWN] != NONE))
    for level, domain in HOMES:
        if a.pod[p, c.P_TRAITS] & c.TRAIT_TOPOLOGY and a.pod[p, level] != NONE:
            there = a.at_level[a.pod[p, level], nodes]
            good = good & (there != NONE) & ((a.pod[p, domain] == NONE) | (there == a.pod[p, domain]))
    return np.asarray(good)


def company_terms(a: Arena, p: int) -> tuple[set[int], set[int]]:
    """Terms of which a node holds one pod only, and all terms in which the pod meets others; ports count downwards."""
    if a.pod[p, c.P_TRAITS] & (c.TRAIT_PORTS | c.TRAIT_REFUSAL) == 0:
        return set(), set()
    k = a.pod[p, c.P_COMPANY]
    start = a.company_start
    ports, refused, carried = (
        set(a.company[start[kind, k] : start[kind, k + 1]].tolist()) for kind in (c.PORTS, c.REFUSES, c.CARRIES)
    )
    taken = {-1 - port for port in ports}
    return taken | refused & carried, taken | refused | carried
