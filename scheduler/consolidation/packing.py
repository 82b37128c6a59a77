"""The tables of ``refill``: what each node may hold of each kind, and what stays there for good."""

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.columns import Arena
from scheduler.consolidation.kinds import Kinds, suits
from scheduler.consolidation.refill import AMOUNTS, Packing

MEETS = c.TRAIT_PORTS | c.TRAIT_REFUSAL
Company = tuple[set[int], set[int], set[int]]  # host ports, labels that it refuses, labels that it is refused for
FREE = [c.N_SLOTS, c.N_CPU, c.N_MEMORY, c.N_MILLI]
SEED = np.uint64(0x9E3779B97F4A7C15)  # of a generator that must not begin with 0


def packing(a: Arena, kinds: Kinds, home: Longs, held: Longs, seed: int) -> Packing:
    """``home`` and ``held`` [n, k]: pods that may be placed anew, before any move and now; all others stay."""
    first = a.pod[kinds.first]
    gpus, milli = first[:, c.P_GPUS], first[:, c.P_MILLI]
    share = np.where(gpus > 0, milli, 0)
    columns = [np.ones_like(gpus), first[:, c.P_CPU], first[:, c.P_MEMORY], gpus * milli, share, gpus]
    kind = np.stack(columns, axis=1)
    parts = np.flatnonzero((share > 0) & (share < WHOLE_GPU_MILLI))
    stay = _staying(a, kinds, home)
    clash, most = _company(a, kinds, home, stay)
    devices, start, fixed = _fixed_devices(a, stay)
    room = a.node[:, FREE] + home @ kind[:, :AMOUNTS]
    return Packing(
        kind=kind,
        by_share=parts[np.argsort(-share[parts], kind="stable")],
        worth=np.ones(len(kind)),
        clash=clash,
        node=np.column_stack([room, devices, start[:-1], start[1:]]),
        fixed=fixed,
        most=most,
        home=home,
        held=held,
        loose=np.zeros(len(kind), np.int64),
        trial=np.zeros((3, len(kind)), np.int64),
        item=np.zeros((4, 2 * len(kind)), np.int64),
        value=np.zeros(2 * len(kind)),
        density=np.zeros(2 * len(kind)),
        free=np.zeros(AMOUNTS + int(a.node[:, c.N_ROOM].max(initial=0)), np.int64),
        dice=np.array([seed], np.uint64) ^ SEED,
    )


def _staying(a: Arena, kinds: Kinds, home: Longs) -> Longs:
    """Rows of the pods that are not placed anew."""
    rows = np.flatnonzero(a.pod[:, c.P_NODE] >= 0)
    of = kinds.of[rows]
    return np.asarray(rows[(of < 0) | (home[a.pod[rows, c.P_NODE], np.maximum(of, 0)] == 0)])


def _fixed_devices(a: Arena, stay: Longs) -> tuple[Longs, Longs, Longs]:
    """[n] devices without the whole GPUs of pods that stay; their shares, by node and largest first."""
    pod = a.pod[stay]
    whole = pod[:, c.P_MILLI] == WHOLE_GPU_MILLI
    devices = a.node[:, c.N_ROOM].copy()
    np.subtract.at(devices, pod[whole, c.P_NODE], pod[whole, c.P_GPUS])
    shares = pod[~whole].repeat(pod[~whole, c.P_GPUS], axis=0)
    shares = shares[np.lexsort((-shares[:, c.P_MILLI], shares[:, c.P_NODE]))]
    start = np.searchsorted(shares[:, c.P_NODE], np.arange(len(a.node) + 1))
    return devices, start.astype(np.int64), shares[:, c.P_MILLI].copy()


def _company(a: Arena, kinds: Kinds, home: Longs, stay: Longs) -> tuple[Bools, Longs]:
    """Kinds that clash, and how many of each a node may take at most."""
    meets = [_lists(a, p) for p in kinds.first.tolist()]
    clash = np.zeros((len(meets), len(meets)), np.bool_)
    choosy = [k for k, one in enumerate(meets) if any(one)]
    for k in choosy:
        clash[k, choosy] = [_clashes(meets[k], meets[m]) for m in choosy]
    most = np.zeros_like(home)
    nodes, total = np.arange(len(a.node)), home.sum(axis=0)
    for k, p in enumerate(kinds.first.tolist()):
        most[suits(a, p, nodes), k] = 1 if clash[k, k] else total[k]
    for p in stay[(a.pod[stay, c.P_TRAITS] & MEETS) != 0].tolist():
        here = _lists(a, p)
        most[a.pod[p, c.P_NODE], [_clashes(here, one) for one in meets]] = 0
    return clash, np.maximum(most, home)


def _lists(a: Arena, p: int) -> Company:
    if a.pod[p, c.P_TRAITS] & MEETS == 0:
        return set(), set(), set()
    start, k = a.company_start, a.pod[p, c.P_COMPANY]
    ports, refuses, carries = (
        set(a.company[start[kind, k] : start[kind, k + 1]].tolist()) for kind in (c.PORTS, c.REFUSES, c.CARRIES)
    )
    return ports, refuses, carries


def _clashes(one: Company, other: Company) -> bool:
    return bool(one[0] & other[0] or one[1] & other[2] or one[2] & other[1])
