"""The waterfall: why each GPU of a node cannot be used by a request shape, in thousandths that add up to all GPUs.

What is in use, unhealthy or a shared device's rest does not depend on the shape and stands in ``Capacity``.  The whole
free GPUs that remain fall, per shape, under the first of these that applies:

    stranded     fewer GPUs than one request needs: the node's remainder, or for a request that may span nodes the
                 pool's remainder
    cpu_memory   enough GPUs, but not the CPU that goes with them
    topology     would serve a request anywhere in the pool, but not under one domain of the level it asks for;
                 nodes of unknown place share no domain
    constraint   a taint that a plain request does not tolerate, or no pod slot left

and what is left is usable: as often as the shape fits, times its GPUs.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Ints, Longs
from scheduler.fragmentation.capacity import Capacity
from scheduler.fragmentation.demand import RequestShape
from scheduler.fragmentation.sums import sum_by

CAUSES = (
    "unhealthy",
    "allocated_hp",
    "allocated_lp",
    "standby",
    "fractional",
    "stranded",
    "cpu_memory",
    "topology",
    "constraint",
)


@dataclass(frozen=True, slots=True, eq=False)
class Waterfall:
    """GPU thousandths of each node, columns [n]; the nine causes and ``usable`` add up to the node's physical GPUs."""

    unhealthy: Longs
    allocated_hp: Longs
    allocated_lp: Longs
    standby: Longs
    fractional: Longs
    stranded: Longs
    cpu_memory: Longs
    topology: Longs
    constraint: Longs
    usable: Longs

    def cause(self, name: str) -> Longs:
        """[n] the thousandths under one of ``CAUSES``."""
        return np.asarray(getattr(self, name))


def waterfall(capacity: Capacity, shape: RequestShape) -> Waterfall:
    """Every GPU of every node under its cause for ``shape``.  Nodes outside all pools keep their GPUs as stranded."""
    parts = _on_one_node(capacity, shape) if shape.level is None else _in_one_domain(capacity, shape, shape.level)
    stranded, cpu_memory, topology, constraint, usable = (part * WHOLE_GPU_MILLI for part in parts)
    return Waterfall(
        capacity.unhealthy_milli,
        capacity.hp_milli,
        capacity.lp_milli,
        capacity.standby_milli,
        capacity.shared_rest_milli,
        stranded,
        cpu_memory,
        topology,
        constraint,
        usable,
    )


def _on_one_node(capacity: Capacity, shape: RequestShape) -> tuple[Longs, ...]:
    """Whole GPUs [n]: stranded, cpu_memory, topology, constraint, usable."""
    by_gpus = capacity.free // shape.gpus
    by_cpu = np.minimum(by_gpus, capacity.cpu_milli // shape.cpu_milli) if shape.cpu_milli else by_gpus
    fits = np.minimum(by_cpu, capacity.openings)
    return (
        capacity.free - by_gpus * shape.gpus,
        (by_gpus - by_cpu) * shape.gpus,
        np.zeros_like(fits),
        (by_cpu - fits) * shape.gpus,
        fits * shape.gpus,
    )


def _in_one_domain(capacity: Capacity, shape: RequestShape, level: str) -> tuple[Longs, ...]:
    """The same for a request that may span the nodes of a pool that share a domain of ``level``."""
    units, allowed = capacity.units(shape.cpu_milli // shape.gpus)
    domain, domains = _domains_of_pools(capacity, level)
    usable = _taken(allowed, domain, _whole_requests(allowed, domain, domains, shape.gpus))
    left = allowed - usable
    pools = len(capacity.pools)
    anywhere = _whole_requests(allowed, capacity.pool, pools, shape.gpus)
    topology = _taken(left, capacity.pool, anywhere - sum_by(capacity.pool, usable, pools))
    return left - topology, capacity.free - units, topology, units - allowed, usable


def _domains_of_pools(capacity: Capacity, level: str) -> tuple[Longs, int]:
    """[n] an ordinal for each (pool, domain of the level), UNKNOWN where either is; and how many there are."""
    place = capacity.domains_at(level)
    known = (place != UNKNOWN) & (capacity.pool != UNKNOWN)
    pairs = capacity.pool[known].astype(np.int64) * (int(place.max(initial=0)) + 1) + place[known]
    found, ordinal = np.unique(pairs, return_inverse=True)
    domain = np.full(place.size, UNKNOWN, np.int64)
    domain[known] = ordinal
    return domain, found.size


def _whole_requests(units: Longs, group: Ints | Longs, groups: int, gpus: int) -> Longs:
    """[group] GPUs of the whole requests that the units of each group can serve."""
    return sum_by(group, units, groups) // gpus * gpus


def _taken(units: Longs, group: Ints | Longs, limit: Longs) -> Longs:
    """[n] units taken from each node, in row order, until the group's limit is used up; none outside all groups."""
    taken = np.zeros(units.size, np.int64)
    rows = np.flatnonzero(group != UNKNOWN)
    rows = rows[np.argsort(group[rows], kind="stable")]
    if rows.size == 0:
        return taken
    so_far = np.cumsum(units[rows]) - units[rows]
    starts = np.flatnonzero(np.diff(group[rows], prepend=-1))
    sizes = np.diff(starts, append=rows.size)
    so_far -= np.repeat(so_far[starts], sizes)
    taken[rows] = np.clip(limit[group[rows]] - so_far, 0, units[rows])
    return taken
