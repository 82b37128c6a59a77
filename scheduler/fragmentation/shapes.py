"""What fits now: how many jobs of N GPUs at 12 CPU per GPU find room at once on one node, in one domain, in a cluster.

Jobs never mix GPU models.  A job may take any GPUs of the place that have their CPU; nodes whose place is unknown have
room on the node and in the cluster, but in no domain.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Ints, Longs
from scheduler.fragmentation.capacity import Capacity
from scheduler.fragmentation.demand import CPU_MILLI_PER_GPU
from scheduler.fragmentation.sums import sum_by

SIZES = tuple(1 << power for power in range(11))
HOST, CLUSTER = "host", "cluster"


@dataclass(frozen=True, slots=True)
class Fit:
    """``count`` jobs of ``gpus`` GPUs fit at ``level``; None: larger than any such place, so it never fits."""

    gpus: int
    level: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """The most GPUs that one job can have at ``level`` now; None: no node is known to stand in such a place."""

    level: str
    gpus: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of one level that hold GPUs.  Axis d: place, ordered by pool."""

    level: str
    pool: Longs  # [d] -> pool
    units: Longs  # [d] GPUs with their CPU that a plain pod may take
    size: Longs  # [d] physical GPUs


def places(capacity: Capacity) -> tuple[Places, ...]:
    """One node, then each topology level from the closest, then the whole cluster."""
    _, units = capacity.units(CPU_MILLI_PER_GPU)
    nodes = np.arange(units.size, dtype=np.int32)
    named = [level for level in capacity.snapshot.levels if level not in (HOST, CLUSTER)]
    levels = [(HOST, nodes), *((level, capacity.domains_at(level)) for level in named)]
    levels.append((CLUSTER, capacity.snapshot.node_cluster))
    return tuple(_places(capacity, level, place, units) for level, place in levels)


def fits(levels: tuple[Places, ...], pool: int | None = None) -> tuple[Fit, ...]:
    """By size, then by level; of one pool, or of all pools together."""
    chosen = [_of_pool(level, pool) for level in levels]
    return tuple(Fit(gpus, level.level, _count(level, gpus)) for gpus in SIZES for level in chosen)


def largest_blocks(levels: tuple[Places, ...], pool: int | None = None) -> tuple[Block, ...]:
    """By level; of one pool, or the largest of all pools."""
    chosen = [_of_pool(level, pool) for level in levels]
    return tuple(Block(level.level, int(level.units.max()) if level.units.size else None) for level in chosen)


def _places(capacity: Capacity, level: str, place: Ints, units: Longs) -> Places:
    known = (place != UNKNOWN) & (capacity.pool != UNKNOWN)
    span = int(place.max(initial=0)) + 1
    pairs = capacity.pool[known].astype(np.int64) * span + place[known]
    found, ordinal = np.unique(pairs, return_inverse=True)
    gpus = capacity.snapshot.node_gpus[known]
    return Places(level, found // span, sum_by(ordinal, units[known], found.size), sum_by(ordinal, gpus, found.size))


def _of_pool(level: Places, pool: int | None) -> Places:
    if pool is None:
        return level
    chosen = level.pool == pool
    return Places(level.level, level.pool[chosen], level.units[chosen], level.size[chosen])


def _count(level: Places, gpus: int) -> int | None:
    if level.size.max(initial=0) < gpus:
        return None
    return int((level.units // gpus).sum())
