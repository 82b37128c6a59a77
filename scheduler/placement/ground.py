"""What a snapshot offers to everybody who asks: read once, used for many requests."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scheduler.cluster.errors import ParamError
from scheduler.cluster.occupancy import Occupancy
from scheduler.cluster.room import pods_by_node
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.fragmentation.capacity import Capacity, capacity_of
from scheduler.fragmentation.demand import Mix, coarsened, mix_of
from scheduler.fragmentation.devices import open_nodes
from scheduler.fragmentation.gradient import OpenNodes, fragments
from scheduler.fragmentation.shapes import CLUSTER, HOST
from scheduler.placement.company import terms_of
from scheduler.placement.room import Room, room_of

COARSE_CPU_MILLI, COARSE_MEMORY_MIB = 4_000, 16_384


class _Nobody:
    """Rules of a room in which nobody asks for a seat."""

    def eligible(self, pod: int, /) -> Bools:
        raise LookupError(pod)


@dataclass(frozen=True, eq=False)
class Ground:
    """Axes: n node, p pod, l level.  Nothing of it is changed by a placement."""

    snapshot: Snapshot
    capacity: Capacity
    order: Ints  # live pods by node
    starts: Ints  # [n + 1] first position of each node in ``order``

    @property
    def occupancy(self) -> Occupancy:
        return self.capacity.occupancy

    def residents(self, node: int) -> list[int]:
        """Live pods on the node."""
        return self.order[self.starts[node] : self.starts[node + 1]].tolist()  # type: ignore[no-any-return]

    @property
    def levels(self) -> tuple[str, ...]:
        """From one node to the whole cluster."""
        return (HOST, *(level for level in self.snapshot.levels if level not in (HOST, CLUSTER)), CLUSTER)

    def domains_at(self, level: str) -> Ints:
        """[n] The domain of each node; UNKNOWN is no domain, and no two nodes share it."""
        if level == HOST:
            return np.arange(len(self.snapshot.node_name), dtype=np.int32)
        if level == CLUSTER:
            return self.snapshot.node_cluster
        return np.asarray(self.snapshot.node_at_level[self.snapshot.levels.index(level)])

    def domain_name(self, level: str, domain: int) -> str:
        if level == HOST:
            return self.snapshot.node_name[domain]
        if level == CLUSTER:
            return self.snapshot.clusters[domain].name
        return self.snapshot.domain_name[domain]

    def check_level(self, field: str, level: str) -> None:
        """Raises ``ParamError`` for a level that the cluster does not have."""
        if level and level not in self.levels:
            raise ParamError(field, level, f"must be {', '.join(self.levels)}")

    @cached_property
    def untouched(self) -> Bools:
        """[n] No live pod but agents."""
        return np.asarray(self.occupancy.workload_pods == 0)

    @cached_property
    def room(self) -> Room:
        """For ``Room.asking``: nobody has been asked about yet."""
        return room_of(self.snapshot, _Nobody(), terms_of(self.snapshot, ()), self.occupancy)

    @cached_property
    def mix(self) -> Mix:
        """What pods ask for, coarsely: a term of a score needs no more, and exact amounts cost seconds."""
        return coarsened(mix_of(self.snapshot), COARSE_CPU_MILLI, COARSE_MEMORY_MIB)

    @cached_property
    def open_nodes(self) -> OpenNodes:
        return open_nodes(self.capacity)

    @cached_property
    def fragments(self) -> Longs:
        """[n] F_n(M) now, times the weight of the mix."""
        return fragments(self.open_nodes, self.mix)

    @cached_property
    def crossing_gpus(self) -> Longs:
        """[n] GPUs of live gangs that stand on several nodes which share no known domain of the lowest level."""
        snapshot = self.snapshot
        found = np.zeros(len(snapshot.node_name), np.int64)
        rows = np.flatnonzero(snapshot.pod_live & (snapshot.pod_gang != UNKNOWN) & (snapshot.pod_gpus > 0))
        if not len(rows):
            return found
        node, gang = snapshot.pod_node[rows], snapshot.pod_gang[rows]
        place = _places(self.domains_at(self.levels[1]), node)
        pairs = np.unique(np.stack([gang, place]), axis=1)
        spread = np.bincount(pairs[0], minlength=len(snapshot.gangs)) > 1
        np.add.at(found, node[spread[gang]], snapshot.pod_gpus[rows[spread[gang]]])
        return found


def _places(domain: Ints, node: Ints) -> Longs:
    """The domain of each of ``node``; where nobody knows it, the node is a place of its own."""
    here = domain[node].astype(np.int64)
    return np.where(here == UNKNOWN, len(domain) + node.astype(np.int64), here)


def ground_of(snapshot: Snapshot) -> Ground:
    return Ground(snapshot, capacity_of(snapshot), *pods_by_node(snapshot))
