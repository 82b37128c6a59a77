"""In which domain, and on nodes of which GPU model, a job would have to stay."""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.fragmentation.shapes import HOST
from scheduler.placement.parts import Wanted
from scheduler.plan.waiting import one_model


@dataclass(frozen=True, slots=True, eq=False)
class Homes:
    """Nodes by home: a domain, or the nodes of one GPU model in it.  Axis d: homes that have nodes, in their order."""

    of: Longs  # [n] -> home, UNKNOWN for none
    order: Longs  # nodes that have one, by home
    starts: Longs  # [d] first position of each home in ``order``

    def sums(self, count: Longs) -> Longs:
        """[d]"""
        if len(self.starts) < 2:
            inside = count if len(self.order) == len(count) else count[self.order]
            return np.array([inside.sum()] if len(self.starts) else [], np.int64)
        return np.asarray(np.add.reduceat(count[self.order], self.starts))

    def home(self, d: int) -> int:
        return int(self.of[self.first(d)])

    def first(self, d: int) -> int:
        """A node of it."""
        return int(self.order[self.starts[d]])

    def inside(self, d: int) -> Bools:
        """[n] nodes of the home."""
        return np.asarray(self.of == self.home(d))


def places_at(snapshot: Snapshot, level: str) -> Ints | None:
    """[n] The domain of each node at a level; a node is a place of its own at HOST.  None: nobody knows the level."""
    if level in snapshot.levels:
        return np.asarray(snapshot.node_at_level[snapshot.levels.index(level)])
    return np.arange(len(snapshot.node_name), dtype=np.int32) if level == HOST else None


def homes_of(place: Ints | Longs) -> Homes:
    nodes = np.flatnonzero(place != UNKNOWN)
    order = nodes[np.argsort(place[nodes], kind="stable")]
    return Homes(place.astype(np.int64), order, np.flatnonzero(np.diff(place[order], prepend=UNKNOWN)))


def domains_of(snapshot: Snapshot, cluster: int, levels: tuple[str, ...], running: tuple[int, ...]) -> Ints:
    """[n] the domain that a job on this node would have to stay in: of all levels the closest; UNKNOWN: not here.

    Where members are running, only where they are.
    """
    home = np.where(snapshot.node_cluster == cluster, 0, UNKNOWN)
    for level in reversed(levels):
        domains = places_at(snapshot, level)
        if domains is None:
            return np.full(len(home), UNKNOWN, np.int32)
        if running:
            there = set(domains[snapshot.pod_node[list(running)]].tolist())
            mine = there.pop() if len(there) == 1 else UNKNOWN
            domains = np.where(domains == mine, domains, UNKNOWN)
        home = np.where(home == UNKNOWN, UNKNOWN, domains)
    return np.asarray(home, np.int32)


def models_of(snapshot: Snapshot, job: Wanted) -> Longs | None:
    """[n] As ``plan.waiting.one_model``; None, too, for a job that may mix them."""
    waiting = sum(len(part.pods) for part in job.parts if part.on_devices(snapshot))
    return None if job.mixes else one_model(snapshot, waiting, job.running)


def pools_of(place: Ints | Longs, model: Longs) -> Homes:
    """Homes that are one domain and one GPU model."""
    width = int(model.max(initial=0)) + 1
    return homes_of(np.where((place == UNKNOWN) | (model == UNKNOWN), UNKNOWN, place.astype(np.int64) * width + model))


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Where the parts of a job may stand.  Axes: d homes of the whole job, i part."""

    pools: Homes  # d
    wide: Homes  # domains, for parts to which the GPU model does not matter
    of_model: tuple[bool, ...]  # [i]

    def sums(self, i: int, count: Longs) -> Longs:
        """[d]"""
        if self.of_model[i] or self.pools is self.wide:
            return self.pools.sums(count)
        at = np.searchsorted(self.wide.of[self.wide.order[self.wide.starts]], self._domains())
        return self.wide.sums(count)[at]

    def inside(self, i: int, d: int) -> Bools:
        """[n] nodes of home ``d`` that the part may use."""
        if self.of_model[i] or self.pools is self.wide:
            return self.pools.inside(d)
        return np.asarray(self.wide.of == self.domain(d))

    def domain(self, d: int) -> int:
        return int(self.wide.of[self.pools.first(d)])

    def _domains(self) -> Longs:
        return np.asarray(self.wide.of[self.pools.order[self.pools.starts]])
