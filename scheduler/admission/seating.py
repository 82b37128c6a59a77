"""Where a job would stand: all of its pending pods, in one domain where it requires one, or nobody.

Among domains the one with least to spare is taken, then the first by name; inside it the nodes on which least remains,
so that large blocks stay whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduler.admission.jobs import Job, Part
from scheduler.admission.room import Homes, Room, homes_of
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs
from scheduler.placement.ground import places_at

DOMAINS_TRIED = 8  # of a job of several shapes: each is filled for a try


@dataclass(frozen=True, slots=True)
class Seats:
    """``placed``: (part, node) -> pods; ``domain``: of the closest level required, UNKNOWN where none is."""

    placed: tuple[tuple[Part, int, tuple[int, ...]], ...]
    domain: int

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for _, node, _ in self.placed}))


@dataclass(frozen=True, slots=True)
class Found:
    """``seats`` None: there are none, or with ``sure`` False the search did not look everywhere."""

    seats: Seats | None
    sure: bool
    most: int  # pods that find a place in the best domain, never more than are asked for


def find(
    room: Room, job: Job, *, free_of_level: bool = False, company: bool = True, only: Bools | None = None
) -> Found:
    """Seats for the job in the room as it is.  ``only`` [n]: nodes that may be used; ``free_of_level``: anywhere."""
    slots = [_within(room.slots(part), only) for part in job.parts]
    homes = _homes(room, job, () if free_of_level else job.levels)
    wanted = [len(part.pods) for part in job.parts]
    totals = np.stack([homes.sums(np.minimum(count, want)) for count, want in zip(slots, wanted, strict=True)])
    if not totals.shape[1]:
        return Found(None, True, 0)
    most = int(np.minimum(totals, np.array(wanted)[:, None]).sum(axis=0).max())
    good = np.flatnonzero((totals >= np.array(wanted)[:, None]).all(axis=0))
    sure = not any(part.shape in room.partial for part in job.parts)
    order = good[np.argsort(totals[0][good], kind="stable")].tolist() if len(good) > 1 else good.tolist()
    for domain in order[: 1 if len(job.parts) == 1 else DOMAINS_TRIED]:
        seats = _fill(room, job, homes.inside(domain), slots, only)
        if seats is not None:
            return Found(
                Seats(seats, UNKNOWN if free_of_level or not job.levels else homes.domain(domain)), True, sum(wanted)
            )
    return Found(None, sure and not order, most)


def take(room: Room, seats: Seats) -> None:
    for part, node, pods in seats.placed:
        room.seat(part, pods, node)


def blocks(room: Room, job: Job) -> Iterator[tuple[str, int]]:
    """Level, and how many pods like its largest ones find room in one place of that level now."""
    count = room.slots(job.parts[0])
    yield "host", int(count.max(initial=0))
    for level in room.snapshot.levels:
        sums = _homes(room, job, (level,), beside=False).sums(count)
        if len(sums):
            yield level, int(sums.max())
    yield "cluster", int(count.sum())


def _within(slots: Longs, only: Bools | None) -> Longs:
    return slots if only is None else np.where(only, slots, 0)


def _homes(room: Room, job: Job, levels: tuple[str, ...], *, beside: bool = True) -> Homes:
    """Of the job's cluster; ``beside``: where members run, only where they do."""
    running = job.running if beside and levels else ()
    key = job.cluster, levels, running
    if key not in room.homes:
        room.homes[key] = homes_of(_domains(room, job.cluster, levels, running))
    return room.homes[key]


def _domains(room: Room, cluster: int, levels: tuple[str, ...], running: tuple[int, ...]) -> Ints:
    """[n] the domain that a job on this node would have to stay in: of all levels the closest; UNKNOWN: not here."""
    snapshot = room.snapshot
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


def _fill(
    room: Room, job: Job, inside: Bools, slots: list[Longs], only: Bools | None
) -> tuple[tuple[Part, int, tuple[int, ...]], ...] | None:
    """Seats on these nodes; a job of several shapes is filled shape by shape, in a copy of the room."""
    placed: list[tuple[Part, int, tuple[int, ...]]] = []
    trial = room.copy() if len(job.parts) > 1 else room
    for i, part in enumerate(job.parts):
        count = slots[i] if i == 0 else _within(trial.slots(part), only)
        seats = _spread(trial, part, np.where(inside, count, 0))
        if seats is None:
            return None
        placed += seats
        if len(job.parts) > 1:
            for _, node, pods in seats:
                trial.seat(part, pods, node)
    return tuple(placed)


def _spread(room: Room, part: Part, count: Longs) -> list[tuple[Part, int, tuple[int, ...]]] | None:
    """On the nodes with the fewest places for it first; ties by what is free, then by name."""
    nodes = np.flatnonzero(count > 0)
    if int(np.minimum(count[nodes], len(part.pods)).sum()) < len(part.pods):
        return None
    order = nodes[_smallest(_weights(room, nodes, count, len(part.pods)), len(part.pods))]
    used = int(np.searchsorted(np.cumsum(count[order]), len(part.pods))) + 1
    placed: list[tuple[Part, int, tuple[int, ...]]] = []
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
