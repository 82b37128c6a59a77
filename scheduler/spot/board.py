"""What one snapshot has for spot work: free, lent, promised and kept; asks take seats on it one after the other."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from scheduler.cluster.build import only_cluster
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, PodSpec, Snapshot
from scheduler.placement.company import terms_of
from scheduler.placement.filters import Few
from scheduler.placement.ground import Ground, ground_of
from scheduler.placement.parts import Part, part_of
from scheduler.placement.resolving import only_rows
from scheduler.placement.room import Room
from scheduler.plan.slots import with_pending
from scheduler.spot.asks import Ask
from scheduler.spot.lenders import Lenders, lenders_of


class Claimed(Protocol):
    """A promise: GPUs of a node that are kept for one claimant."""

    @property
    def node(self) -> str: ...
    @property
    def gpu_milli(self) -> int: ...
    @property
    def claimant(self) -> str: ...


@dataclass(slots=True, eq=False)
class Board:
    """Axes: n nodes, s sleepers.  ``room`` and ``lenders`` change with every seat that is taken (``seats.take``)."""

    ground: Ground
    cluster: int
    room: Room  # of a world with the pods that have a seat behind the snapshot's own
    lenders: Lenders
    promised: Longs  # [n] GPUs that are promised to others, of which the snapshot says nothing any more
    kept: Bools  # [n] no spot work may come
    lp_milli: Longs  # [n]
    evictions: Mapping[str, int] | None
    now_s: int

    @property
    def snapshot(self) -> Snapshot:
        """With the pods that have a seat, as pending ones."""
        return self.room.snapshot

    def copy(self) -> "Board":
        """To seat somebody for a try."""
        return replace(self, room=self.room.copy(), lenders=self.lenders.copy(), lp_milli=self.lp_milli.copy())

    def of_model(self, model: str) -> Bools:
        """[n] Nodes of the model on which spot work may run at all, were there room."""
        snapshot = self.ground.snapshot
        known = snapshot.models.index(model) if model in snapshot.models else None
        here = snapshot.node_usable & (snapshot.node_cluster == self.cluster) & ~self.kept
        return np.asarray(here & (snapshot.node_model == known)) if known is not None else np.zeros_like(here)

    def open_gpus(self, may: Bools | None = None) -> Longs:
        """[n] GPUs that are free, or lent by sleepers that may lend [s]."""
        return np.asarray(self.room.free + self.lenders.idle_on(len(self.kept), may))


def board_of(
    snapshot: Snapshot,
    *,
    cluster: str = "",
    promises: Iterable[Claimed] = (),
    kept: Collection[str] = (),
    evictions: Mapping[str, int] | None = None,
    now_s: int | None = None,
) -> Board:
    """``snapshot`` as other claimants must see it (promised room is cut off its nodes already); ``promises`` are for

    the reason that is told, and who is promised its own GPUs lends them to nobody.  ``kept``: nodes that a hold or a
    freeze keeps from spot work.  ``evictions`` by node, None where nobody counted.  Raises ``InputError`` where it is
    not clear which cluster is meant.
    """
    name = only_cluster(snapshot, cluster or None)
    ground = ground_of(snapshot)
    row = {node: n for n, node in enumerate(snapshot.node_name)}
    promised, waking = np.zeros(len(row), np.int64), set()
    for one in promises:
        waking.add(one.claimant)
        if one.node in row:
            promised[row[one.node]] += -(-one.gpu_milli // WHOLE_GPU_MILLI)
    return Board(
        ground=ground,
        cluster=[one.name for one in snapshot.clusters].index(name),
        room=ground.room.copy(),
        lenders=lenders_of(snapshot, frozenset(waking)),
        promised=promised,
        kept=np.array([node in set(kept) for node in snapshot.node_name], np.bool_) if kept else promised < 0,
        lp_milli=ground.capacity.lp_milli.astype(np.int64).copy(),
        evictions=evictions,
        now_s=snapshot.now_s if now_s is None else now_s,
    )


def asking(board: Board, ask: Ask) -> tuple[Room, Part]:
    """The board's room for the pods of an ask, which stand behind those of its world."""
    world = board.snapshot
    columns = {
        "cluster": board.cluster,
        "gpus": ask.gpus_per_pod,
        "gpu_milli": WHOLE_GPU_MILLI,
        "gpu_memory_mib": ask.gpu_memory_mib,
        "cpu_milli": ask.cpu_milli,
        "memory_mib": ask.memory_mib,
        "lp": True,
    }
    first = len(world.pod_name)
    spec = PodSpec(gpu_models=tuple(sorted(ask.models)))
    longer = with_pending(world, [f"spot-{first + i}" for i in range(ask.pods)], columns, spec)
    rows = tuple(range(first, first + ask.pods))
    rules = Few({first: eligibility(only_rows(longer, np.array([first], np.int32))).reasons(0)})
    return board.room.asking(longer, rules, terms_of(longer, rows[:1])), part_of(longer, rows)


def places(board: Board, level: str) -> Longs:
    """[n] The domain of each node at a level; UNKNOWN where nobody knows it, or the level."""
    ground = board.ground
    if level not in ground.levels:
        return np.full(len(board.kept), UNKNOWN, np.int64)
    return ground.domains_at(level).astype(np.int64)
