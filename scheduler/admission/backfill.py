"""When room comes free, which large jobs it is reserved for, and who may start before them meanwhile.

Only ends that somebody stated are known: that of pods that are leaving, and estimates that are handed in.  A pod
without one may run for ever, so a start that depends on it is unknown, never guessed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.admission.allowed import by_quota
from scheduler.admission.diagnosis import Ground
from scheduler.admission.jobs import Job
from scheduler.admission.quota import Book, holders, returned
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Longs, Snapshot
from scheduler.placement.company import terms_of
from scheduler.placement.prey import without
from scheduler.placement.room import Room, room_of
from scheduler.placement.seating import Seats, find, take
from scheduler.plan.ask import within


@dataclass(frozen=True, slots=True)
class Release:
    """What comes free at one instant."""

    at_s: int
    pods: tuple[int, ...]  # rows
    gpu_milli: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for a job at the first instant at which enough has ended; None: it depends on ends that nobody knows."""

    job: str
    start_s: int | None
    seats: Seats | None
    gpu_milli: int
    unknown_gpu_milli: int  # held by pods without a known end, on nodes that the job could use
    unknown_pods: int  # those pods

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.seats.nodes if self.seats is not None else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """Large jobs get a reservation, and others may start before them only where they are out of the way by then.

    Raises ``ParamError`` for the first field out of range.
    """

    large_gpus: int = 64  # jobs of at least so many are large
    estimates: Mapping[str, int] = field(default_factory=dict)  # running pod or gang -> instant at which it ends
    runtimes_s: Mapping[str, int] = field(default_factory=dict)  # pending job -> how long it will run

    def __post_init__(self) -> None:
        within("large_gpus", self.large_gpus, 1, 1_000_000)


def ends_of(snapshot: Snapshot, estimates: Mapping[str, int]) -> Longs:
    """[p] when each live pod ends, ABSENT where nobody says; ``estimates``: pod, or ``namespace/name`` of its gang."""
    found = np.full(len(snapshot.pod_name), ABSENT, np.int64)
    stated = snapshot.pod_terminating & (snapshot.pod_deleted_at_s != ABSENT) & (snapshot.pod_grace_s != ABSENT)
    gangs = [estimates.get(f"{gang.namespace}/{gang.name}") for gang in snapshot.gangs]
    for p in np.flatnonzero(snapshot.pod_live).tolist() if estimates else ():
        gang = int(snapshot.pod_gang[p])
        end = estimates.get(snapshot.pod_key(p), gangs[gang] if gang != UNKNOWN else None)
        if end is not None:
            found[p] = end
    leaving = snapshot.pod_deleted_at_s[stated] + snapshot.pod_grace_s[stated]
    found[stated] = np.where(found[stated] == ABSENT, leaving, np.minimum(found[stated], leaving))
    return np.where(snapshot.pod_live, found, ABSENT)


def releases(snapshot: Snapshot, ends: Longs, now_s: int) -> tuple[Release, ...]:
    """The timeline: by instant; an end that has passed comes free now."""
    rows = np.flatnonzero(ends != ABSENT)
    at = np.maximum(ends[rows], now_s)
    milli = snapshot.pod_gpus[rows].astype(np.int64) * snapshot.pod_gpu_milli[rows]
    found = []
    for instant in np.unique(at).tolist():
        mine = at == instant
        found.append(Release(instant, tuple(rows[mine].tolist()), int(milli[mine].sum())))
    return tuple(found)


def reserve(ground: Ground, job: Job, ends: Longs, taken: Sequence[Seats] = ()) -> Reservation:
    """The earliest instant at which the job finds seats, and which; of others in the queue only ``taken`` is counted.

    Room and quota only grow as pods end, so that the instant is found by halves.
    """
    known = np.unique(np.maximum(ends[ends != ABSENT], ground.now_s))
    instants = np.unique(np.append(known, ground.now_s))
    low, high, seats = 0, len(instants) - 1, _seats(ground, job, ends, int(instants[-1]), taken)
    if seats is None:
        return Reservation(job.key, None, None, job.gpu_milli, *_unknown(ground, job, ends))
    while low < high:
        middle = (low + high) // 2
        found = _seats(ground, job, ends, int(instants[middle]), taken)
        if found is None:
            low = middle + 1
        else:
            high, seats = middle, found
    return Reservation(job.key, int(instants[low]), seats, job.gpu_milli, *_unknown(ground, job, ends))


def backfills(job: Job, reserved: Sequence[Reservation], runtime_s: int | None, now_s: int) -> tuple[int, ...]:
    """Nodes that the job may not use: those reserved from before the instant at which it would end.

    Who does not know its run time ends no time before anything.
    """
    closed: set[int] = set()
    for one in reserved:
        late = runtime_s is None or one.start_s is None or now_s + runtime_s > one.start_s
        if one.job != job.key and late:
            closed |= set(one.nodes)
    return tuple(sorted(closed))


def _seats(ground: Ground, job: Job, ends: Longs, at_s: int, taken: Sequence[Seats]) -> Seats | None:
    room: Room = ground.now
    gone = (ends != ABSENT) & (ends <= at_s)
    refusal, nodes = by_quota(ground.snapshot, _book_then(ground, job, gone), job)
    if refusal is not None:
        return None
    if gone.any():
        terms = terms_of(ground.snapshot, [part.pods[0] for part in job.parts])
        room = room_of(without(ground.snapshot, gone), ground.rules, terms)
    if taken:
        room = room.copy()
        for seats in taken:
            take(room, seats)
    return find(room, job, open_nodes=nodes).seats


def _book_then(ground: Ground, job: Job, gone: Bools) -> Book:
    return returned(ground.book, ground.snapshot, gone) if job.gpu_milli and gone.any() else ground.book


def _unknown(ground: Ground, job: Job, ends: Longs) -> tuple[int, int]:
    """Thousandths of GPUs that pods of unknown end hold of its quota, or on nodes that it may run on; those pods."""
    snapshot = ground.snapshot
    may = np.logical_or.reduce([ground.rules.eligible(part.pods[0]) for part in job.parts])
    rows = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_agent & (ends == ABSENT))
    refusal, _ = by_quota(snapshot, _book_then(ground, job, ends != ABSENT), job)
    share = holders(ground.book, snapshot, refusal) if refusal else np.zeros(len(ends), np.bool_)
    rows = rows[may[snapshot.pod_node[rows]] | share[rows]]
    return int((snapshot.pod_gpus[rows].astype(np.int64) * snapshot.pod_gpu_milli[rows]).sum()), len(rows)
