"""Why each pending job waits, and which would start now: one pass over the queue in its order.

Every job is looked at twice: alone, on what is free, for its reason; and after those before it, who take their room and
their quota.  Room that pods are leaving is held for the first job that it is enough for.  Nothing is bound here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.admission.allowed import Opening, on_model, opening_of
from scheduler.admission.backfill import Backfill, Reservation, backfills, ends_of, reserve
from scheduler.admission.classes import ahead_words, called
from scheduler.admission.diagnosis import Ground, Verdict, awaited_quota, ground_of, judge, quota_reason
from scheduler.admission.jobs import Job, pending_jobs
from scheduler.admission.order import QueueRules, queue_order
from scheduler.admission.promises import Lent, lent_of
from scheduler.admission.quota import CAP, Book, Refusal, book_of
from scheduler.admission.reasons import CAPACITY, FITS_NOW, FRAGMENTATION, PRECEDENCE, QUEUED, TOPOLOGY, Reason, first
from scheduler.admission.spending import spent_reason
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.snapshot import UNKNOWN, Longs, Snapshot
from scheduler.placement.room import Room
from scheduler.placement.seating import Seats, find, take

SEARCHES = 20_000


@dataclass(frozen=True, slots=True)
class Block:
    """The most pods like the job's largest that find room in one place of the level now, and their GPUs."""

    level: str
    pods: int
    gpu_milli: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """One pending job.  ``position`` counts from 1 in the order of the queue of its cluster."""

    job: Job
    cluster: str
    position: int
    reason: Reason
    others: tuple[Reason, ...]
    largest: tuple[Block, ...]  # one node, then the levels of the network from the closest, then the cluster
    seats: Seats | None  # where it would start now, or when others have left; None: nowhere
    called: str | None  # its priority class; None: it is in none, or there are none

    @property
    def key(self) -> str:
        return self.job.key

    @property
    def block(self) -> Block | None:
        """The largest block at the level that the job asks for: one node for one pod, else the cluster."""
        level = self.job.levels[0] if self.job.levels else "host" if len(self.job.pods) == 1 else "cluster"
        return next((block for block in self.largest if block.level == level), None)


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """``rows`` in the order of the queue, cluster by cluster; ``book`` is the quota state before anybody starts."""

    snapshot: Snapshot
    book: Book
    now_s: int
    rows: tuple[Explanation, ...]
    totals: Mapping[str, int] = field(default_factory=dict)  # reason -> jobs, in the order of precedence
    reservations: tuple[Reservation, ...] = ()  # of large jobs, where backfill is asked for

    @property
    def starts(self) -> tuple[Explanation, ...]:
        """Jobs that would start now, in the order of the queue: within quota, all of their pods, no slot twice."""
        return tuple(row for row in self.rows if row.reason.word == FITS_NOW)

    def row(self, key: str) -> Explanation | None:
        """Of the job of this key, or of the one that the pod of this key belongs to."""
        for one in self.rows:
            if one.key == key or any(self.snapshot.pod_key(p) == key for p in one.job.pods):
                return one
        return None


def explain(
    snapshot: Snapshot,
    *,
    book: Book | None = None,
    now_s: int | None = None,
    rules: QueueRules | None = None,
    backfill: Backfill | None = None,
    budget: int = SEARCHES,
    seed: int = 0,
) -> Explained:
    """One row per pending job.  ``budget`` counts searches for seats: jobs beyond it are not evaluated, and say so.

    ``backfill``: large jobs that find no room keep others from where they will start, unless those end before.
    ``seed`` is there as for every planner, and nothing is drawn.  Equal input gives the equal answer, whatever the
    order of its rows.
    """
    del seed
    eligible = eligibility(snapshot)
    jobs = pending_jobs(snapshot, eligible.pod_class)
    accounts = book_of(snapshot) if book is None else book
    instant = snapshot.now_s if now_s is None else now_s
    ordered = queue_order(snapshot, jobs, accounts, rules or QueueRules(), instant)
    ground = ground_of(snapshot, eligible, jobs, accounts, instant, budget)
    stage = _stage_of(ground, backfill)
    rows = tuple(_walk(ground, stage, ordered))
    counts = Counter(row.reason.word for row in rows)
    totals = {word: counts[word] for word in PRECEDENCE if counts[word]}
    return Explained(snapshot, accounts, instant, rows, totals, tuple(stage.reserved))


@dataclass(slots=True, eq=False)
class _Stage:
    """What those before have left: room now, room when others have left, quota, and kinds that no longer fit."""

    now: Room
    later: Room
    book: Book
    later_book: Book
    hopeless: set[tuple[object, ...]] = field(default_factory=set)
    first_taker: str = ""
    backfill: Backfill | None = None
    ends: Longs | None = None  # [p] where backfill is asked for
    taken: list[Seats] = field(default_factory=list)
    reserved: list[Reservation] = field(default_factory=list)
    lent: dict[tuple[object, ...], Lent | None] = field(default_factory=dict)
    roomy: dict[tuple[object, ...], bool] = field(default_factory=dict)  # kind and model -> whether there is room
    ahead: Counter[str] = field(default_factory=Counter)  # jobs of the cluster so far, by class

    def closed(self, job: Job, now_s: int) -> tuple[int, ...]:
        """Nodes that are reserved for others from before the instant at which the job would end."""
        if self.backfill is None:
            return ()
        return backfills(job, self.reserved, self.backfill.runtimes_s.get(job.key), now_s)


def _stage_of(ground: Ground, backfill: Backfill | None) -> _Stage:
    now = ground.now.copy()
    ends = None if backfill is None else ends_of(ground.snapshot, backfill.estimates)
    later = ground.later.copy() if ground.leaving else now
    return _Stage(now, later, ground.book, ground.later_book, backfill=backfill, ends=ends)


def _walk(ground: Ground, stage: _Stage, jobs: Sequence[Job]) -> Iterator[Explanation]:
    position, cluster = 0, UNKNOWN
    for job in jobs:
        position = position + 1 if job.cluster == cluster else 1
        if job.cluster != cluster:
            stage.ahead.clear()
        cluster = job.cluster
        row = _explained(ground, stage, job, position)
        stage.ahead[called(row.called)] += 1
        yield row


def _explained(ground: Ground, stage: _Stage, job: Job, position: int) -> Explanation:
    opening = _opening(ground, ground.later_book, job)
    spent = ground.book.spent(job.tenant, job.charged_at(ground.snapshot), job.gpu_milli)
    verdict = judge(ground, job, opening.nodes)
    held = _held(ground, job, opening) if verdict.fits and opening.refusal is None else None
    reasons = list(verdict.reasons)
    refusal = _by_quota(ground, stage, job, opening, verdict)
    if refusal is not None:
        reasons.append(quota_reason(refusal, opening.open))
    if spent:
        reasons.append(spent_reason(job.tenant or "", spent))
    stopped = opening.refusal is not None or bool(spent)
    if held is not None:
        reasons.append(awaited_quota(ground, held))
    seats = None
    if not stopped and (verdict.fits or verdict.waits):
        starts = verdict.fits and held is None
        seats, behind = _staged(ground, stage, job, starts)
        reasons.append(behind) if behind else None
        if seats is not None and starts:
            reasons.append(_starts(ground.snapshot, seats))
    if not stopped and seats is None and not verdict.misfit:
        _reserve(ground, stage, job)
    primary, others = first([*_lent(ground, stage, job, reasons)])
    found = ground.book.ranks.of(job.tenant, job.priority)
    name, called = ground.snapshot.clusters[job.cluster].name, None if found is None else found.name
    return Explanation(job, name, position, primary, others, _blocks(job, verdict), seats, called)


def _lent(ground: Ground, stage: _Stage, job: Job, reasons: Sequence[Reason]) -> Iterator[Reason]:
    """Where room is short and its own share is lent, what of that is protected."""
    for reason in reasons:
        if reason.word not in (CAPACITY, FRAGMENTATION, TOPOLOGY) or job.lp or not ground.book.min_runtime_s:
            yield reason
            continue
        key = (job.tenant, job.models, job.gpu_milli)
        if key not in stage.lent:
            stage.lent[key] = lent_of(ground.snapshot, job, ground.later_book, ground.now_s)
        lent = stage.lent[key]
        words = "" if lent is None else lent.words(ground.now_s)
        numbers = {**reason.numbers, **lent.numbers} if lent is not None and words else reason.numbers
        yield replace(reason, sentence=reason.sentence + words, numbers=numbers)


def _blocks(job: Job, verdict: Verdict) -> tuple[Block, ...]:
    each = job.parts[0].shape[2] * job.parts[0].shape[3]
    return tuple(Block(level, pods, pods * each) for level, pods in verdict.blocks)


def _starts(snapshot: Snapshot, seats: Seats) -> Reason:
    names = [snapshot.node_name[n] for n in seats.nodes]
    told = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    sentence = f"It would start now, such as on {told}: the cluster's scheduler has not bound it yet."
    return Reason(FITS_NOW, sentence, {"nodes": len(names), "first_node": names[0]})


def _opening(ground: Ground, book: Book, job: Job) -> Opening:
    return opening_of(ground.snapshot, book, job, ground.sizes.models.get(job.cluster, ()))


def _held(ground: Ground, job: Job, later: Opening) -> Refusal | None:
    """The quota that pods which are leaving still use, where it finds no room on models that are open before."""
    if not ground.leaving:
        return None
    now = _opening(ground, ground.book, job)
    if now.refusal is not None:
        return now.refusal
    shut = [refusal for refusal in now.refusals if refusal.model in later.open]
    return shut[0] if shut and not judge(ground, job, now.nodes).fits else None


def _by_quota(ground: Ground, stage: _Stage, job: Job, opening: Opening, verdict: Verdict) -> Refusal | None:
    """The refusal of least shortage of a model on which there is room; where no model is open, at least of any."""
    if verdict.misfit or (opening.open and (verdict.fits or verdict.waits)):
        return opening.refusal
    for refusal in opening.refusals if verdict.fits or verdict.waits or opening.open else ():
        if refusal.limit == CAP:
            return refusal
        key = (*job.kind, refusal.model)
        if key not in stage.roomy:
            ground.left -= 1
            mask = on_model(ground.snapshot, refusal.model)
            stage.roomy[key] = find(ground.later, job, open_nodes=mask).seats is not None
        if stage.roomy[key]:
            return refusal
    return opening.refusal


def _staged(ground: Ground, stage: _Stage, job: Job, starts: bool) -> tuple[Seats | None, Reason | None]:
    """Seats among what those before it have left, now or when others have gone, which are taken; or why none are."""
    opening = _opening(ground, stage.book if starts else stage.later_book, job)
    if opening.refusal is not None:
        return None, replace(quota_reason(opening.refusal), word=QUEUED)
    closed, only = stage.closed(job, ground.now_s), None
    if closed:
        only = np.ones(len(ground.snapshot.node_name), np.bool_)
        only[list(closed)] = False
    kind = (starts, *job.kind, opening.open if opening.refusals else (), closed)
    room = stage.now if starts else stage.later
    found = None if kind in stage.hopeless else find(room, job, only=only, open_nodes=opening.nodes).seats
    if found is None:
        stage.hopeless.add(kind)
        return None, Reason(
            QUEUED,
            f"There is room for it, which jobs before it in the queue take or wait for{_ahead(ground, stage, job)}.",
            {"first": stage.first_taker, "ahead": sum(stage.ahead.values())},
        )
    if starts:
        take(stage.now, found)
        stage.taken.append(found)
    if stage.later is not stage.now:
        take(stage.later, found)
    if not starts:
        stage.now.hold(list(found.nodes), stage.later)
    stage.book = _charged(ground.snapshot, stage.book, job, found)
    stage.later_book = _charged(ground.snapshot, stage.later_book, job, found)
    stage.first_taker = stage.first_taker or job.key
    return found, None


def _ahead(ground: Ground, stage: _Stage, job: Job) -> str:
    """By class, where there are classes."""
    if not ground.book.classes:
        return ""
    found = ground.book.ranks.of(job.tenant, job.priority)
    return f": {ahead_words(called(None if found is None else found.name), stage.ahead)}"


def _reserve(ground: Ground, stage: _Stage, job: Job) -> None:
    """Room for a large job at the first instant at which it will find some, behind those that start before it."""
    if stage.backfill is None or stage.ends is None or job.gpus < stage.backfill.large_gpus:
        return
    earlier = [*stage.taken, *(one.seats for one in stage.reserved if one.seats is not None)]
    stage.reserved.append(reserve(ground, job, stage.ends, earlier))


def _charged(snapshot: Snapshot, book: Book, job: Job, seats: Seats) -> Book:
    used: dict[str, int] = {}
    for part, node, pods in seats.placed:
        if not snapshot.pod_specs[part.shape[1]].mig and snapshot.node_model[node] != UNKNOWN:
            model = snapshot.models[snapshot.node_model[node]]
            used[model] = used.get(model, 0) + part.shape[2] * part.shape[3] * len(pods)
    for model, milli in sorted(used.items()):
        book = book.take(job.tenant, model, milli, lp=job.lp) if milli else book
    return book
