"""Where a job would stand: all of its pending pods, in one domain where it requires one, on one GPU model, or nobody.

Among homes the one with least to spare is taken, then the first by name; inside it the nodes on which least remains,
so that large blocks stay whole.  Pods of one shape are certain either way.  Those of several shapes are filled the
hardest first; where that seats nobody, every way is looked at (``together``), until its budget ends, which is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs
from scheduler.placement.homes import Ways, domains_of, homes_of, models_of, pools_of
from scheduler.placement.parts import Asked, Part, Wanted
from scheduler.placement.room import Room
from scheduler.placement.together import STEPS, Budget, together

HOMES_TRIED = 8  # of a job of several shapes: each is filled for a try

Placed = tuple[Part, int, tuple[int, ...]]  # pods of the part on the node


@dataclass(frozen=True, slots=True)
class Seats:
    """``domain``: of the closest level required, UNKNOWN where none is."""

    placed: tuple[Placed, ...]
    domain: int

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for _, node, _ in self.placed}))


@dataclass(frozen=True, slots=True)
class Found:
    """``seats`` None: there are none, or with ``sure`` False the search ended before it knew."""

    seats: Seats | None
    sure: bool
    most: int  # pods that find a place in the best home, never more than are asked for


def ways_of(room: Room, job: Wanted, levels: tuple[str, ...], *, beside: bool = True) -> Ways:
    """``beside``: where members run, only in their domain."""
    running = job.running if beside and levels else ()
    of_model = tuple(part.on_devices(room.snapshot) for part in job.parts)
    alone = sum(len(part.pods) for part, bound in zip(job.parts, of_model, strict=True) if bound) < 2
    key = job.cluster, levels, running, job.running, job.mixes, alone, of_model
    if key not in room.ways:
        place = job.cluster, levels, running
        if place not in room.homes:
            room.homes[place] = homes_of(domains_of(room.snapshot, *place))
        wide, model = room.homes[place], models_of(room.snapshot, job)
        one = model is None or len(np.unique(model[wide.order])) < 2
        room.ways[key] = Ways(wide if model is None or one else pools_of(wide.of, model), wide, of_model)
    return room.ways[key]


def find(
    room: Room,
    job: Wanted,
    *,
    free_of_level: bool = False,
    only: Bools | None = None,
    open_nodes: Bools | None = None,
    steps: int = STEPS,
) -> Found:
    """Seats for the job in the room as it is.  ``only`` [n]: nodes that may be used; ``free_of_level``: anywhere.

    ``open_nodes`` [n]: of models of which its tenant has quota, which matters to pods that use some of it alone.
    ``steps``: budget for jobs of several shapes.
    """
    masks = [_both(only, open_nodes if part.charged(room.snapshot) else None) for part in job.parts]
    slots = [_within(room.slots(part), mask) for part, mask in zip(job.parts, masks, strict=True)]
    ways = ways_of(room, job, () if free_of_level else job.levels)
    wanted = np.array([len(part.pods) for part in job.parts])[:, None]
    totals = np.stack([ways.sums(i, np.minimum(count, wanted[i])) for i, count in enumerate(slots)])
    if not totals.shape[1]:
        return Found(None, True, 0)
    most = int(np.minimum(totals, wanted).sum(axis=0).max())
    good = np.flatnonzero((totals >= wanted).all(axis=0))
    order = good[np.argsort(totals[0][good], kind="stable")].tolist() if len(good) > 1 else good.tolist()
    sure, budget = True, Budget(steps)
    for d, exact in _tries(order, len(job.parts)):
        inside = [ways.inside(i, d) for i in range(len(job.parts))]
        placed = _exactly(room, job.parts, inside, slots, budget) if exact else _fill(room, job, inside, slots, masks)
        if placed is not None:
            home = UNKNOWN if free_of_level or not job.levels else ways.domain(d)
            return Found(Seats(placed, home), True, int(wanted.sum()))
        sure = sure and not (exact and budget.ran_out)
    return Found(None, sure, most)


def _tries(order: list[int], parts: int) -> Iterator[tuple[int, bool]]:
    """(home, whether every way is looked at)"""
    if parts == 1:
        yield from ((d, False) for d in order[:1])
        return
    yield from ((d, False) for d in order[:HOMES_TRIED])
    yield from ((d, True) for d in order)


def take(room: Room, seats: Seats) -> None:
    for part, node, pods in seats.placed:
        room.seat(part, pods, node)


def blocks(room: Room, job: Wanted) -> Iterator[tuple[str, int, int]]:
    """Level, how many pods like its largest ones find room in one place of it now, and a node of that place."""
    count = room.slots(job.parts[0])
    one = Asked(job.cluster, (Part(job.parts[0].shape, (job.parts[0].pods * 2)[:2]),), (), (), job.mixes)
    here = np.where(room.snapshot.node_cluster == job.cluster, count, 0)
    yield "host", int(here.max(initial=0)), int(here.argmax()) if len(here) else UNKNOWN
    for level in (*(level for level in room.snapshot.levels if level not in ("host", "cluster")), "cluster"):
        pools = ways_of(room, one, () if level == "cluster" else (level,), beside=False).pools
        sums = pools.sums(count)
        if len(sums):
            yield level, int(sums.max()), pools.first(int(sums.argmax()))


def _within(slots: Longs, only: Bools | None) -> Longs:
    return slots if only is None else np.where(only, slots, 0)


def _both(one: Bools | None, other: Bools | None) -> Bools | None:
    return other if one is None else one if other is None else one & other


def _fill(
    room: Room, job: Wanted, inside: Sequence[Bools], slots: Sequence[Longs], masks: Sequence[Bools | None]
) -> tuple[Placed, ...] | None:
    """Seats on these nodes; a job of several shapes is filled shape by shape, in a copy of the room."""
    placed: list[Placed] = []
    trial = room.copy() if len(job.parts) > 1 else room
    for i, part in enumerate(job.parts):
        count = slots[i] if i == 0 else _within(trial.slots(part), masks[i])
        seats = _spread(trial, part, np.where(inside[i], count, 0))
        if seats is None:
            return None
        placed += seats
        if len(job.parts) > 1:
            for _, node, pods in seats:
                trial.seat(part, pods, node)
    return tuple(placed)


def _exactly(
    room: Room, parts: Sequence[Part], inside: Sequence[Bools], slots: Sequence[Longs], budget: Budget
) -> tuple[Placed, ...] | None:
    counts = [np.where(mask, count, 0) for mask, count in zip(inside, slots, strict=True)]
    found = together(room, parts, counts, budget)
    if found is None:
        return None
    left = [list(part.pods) for part in parts]
    placed: list[Placed] = []
    for node, amounts in found:
        for i, amount in enumerate(amounts):
            here, left[i] = left[i][:amount], left[i][amount:]
            if here:
                placed.append((parts[i], node, tuple(here)))
    return tuple(placed)


def _spread(room: Room, part: Part, count: Longs) -> list[Placed] | None:
    """On the nodes with the fewest places for it first; ties by what is free, then by name."""
    nodes = np.flatnonzero(count > 0)
    if int(np.minimum(count[nodes], len(part.pods)).sum()) < len(part.pods):
        return None
    order = nodes[_smallest(_weights(room, nodes, count, len(part.pods)), len(part.pods))]
    used = int(np.searchsorted(np.cumsum(count[order]), len(part.pods))) + 1
    placed: list[Placed] = []
    left = list(part.pods)
    for node in order[:used].tolist():
        here, left = left[: int(count[node])], left[int(count[node]) :]
        placed.append((part, node, tuple(here)))
    return placed


def _weights(room: Room, nodes: Longs, count: Longs, wanted: int) -> Longs:
    """Fewest places first, then fewest free GPUs, then least CPU; one number each, so that they sort at once."""
    places = np.minimum(count[nodes], wanted)
    return np.asarray(
        ((places << 12) + np.clip(room.free[nodes], 0, 4095) << 24) + np.clip(room.cpu[nodes], 0, 2**24 - 1)
    )


def _smallest(weight: Longs, wanted: int) -> Longs:
    """Positions of the ``wanted`` smallest ones in order; of equal ones the first."""
    if wanted == 1:
        return np.array([int(weight.argmin())])
    if wanted < len(weight):
        limit = np.partition(weight, wanted - 1)[wanted - 1]
        below = np.flatnonzero(weight < limit)
        chosen = np.sort(np.concatenate([below, np.flatnonzero(weight == limit)[: wanted - len(below)]]))
    else:
        chosen = np.arange(len(weight))
    return np.asarray(chosen[np.argsort(weight[chosen], kind="stable")])
