"""The order of the queue: HP before LP, then class or else priority, then the smallest share, then the longest wait.

Among jobs of one priority, shares grow as jobs are taken: the tenant with the smallest one gives its next job, which is
counted as if it ran.  A tenant's place follows the tree from above: first its department's share, then its own.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from scheduler.admission.fairness import CPU, Past, capacity_of, decayed, mixed, share, use_of
from scheduler.admission.jobs import Job, pending_jobs
from scheduler.admission.quota import Book, book_of
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.plan.ask import ParamError, within

UNASSIGNED = ""  # nobody's jobs share one place
MONTH_S = 31 * 86_400

Uses = dict[str, dict[str, Fraction]]
Turn = tuple[tuple[bool, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """What the order counts.  Raises ``ParamError`` for the first field out of range."""

    half_life_s: int = 7 * 86_400  # in which past use comes to count half
    past_percent: int = 50  # of the share; only where there is a past
    past: tuple[Past, ...] = ()
    waiting_since_s: Mapping[str, int] = field(
        default_factory=dict
    )  # job key -> instant; others wait since nobody knows
    fair: bool = True  # False: priority and age alone

    def __post_init__(self) -> None:
        within("half_life_s", self.half_life_s, 60, 100 * MONTH_S)
        within("past_percent", self.past_percent, 0, 100)
        for row in self.past:
            if row.to_s < row.from_s or row.milli < 0:
                raise ParamError("past", (row.tenant, row.from_s, row.to_s, row.milli), "must be a span and an amount")


def waiting_line(snapshot: Snapshot, *, book: Book | None = None, rules: QueueRules | None = None) -> tuple[Job, ...]:
    """Every job that waits, in the order in which ``explain`` looks at them; nothing is explained."""
    jobs = pending_jobs(snapshot, eligibility(snapshot).pod_class)
    return queue_order(snapshot, jobs, book or book_of(snapshot), rules or QueueRules(), snapshot.now_s)


def by_name(snapshot: Snapshot, line: Iterable[Job]) -> tuple[Job, ...]:
    """Those that their names mean: a pod without a gang that has the name of one cannot be asked for by name."""
    gangs = {(one.cluster, f"{one.namespace}/{one.name}") for one in snapshot.gangs}
    clusters = [one.name for one in snapshot.clusters]
    return tuple(job for job in line if job.gang != UNKNOWN or (clusters[job.cluster], job.key) not in gangs)


def queue_order(snapshot: Snapshot, jobs: Sequence[Job], book: Book, rules: QueueRules, now_s: int) -> tuple[Job, ...]:
    """All jobs, cluster by cluster; equal jobs in the order of their keys."""
    capacity = capacity_of(snapshot)
    uses = use_of(snapshot, book)
    if rules.past:
        uses = mixed(uses, decayed(book, rules.past, now_s, rules.half_life_s), rules.past_percent)
    classes: dict[tuple[int, bool, int], list[Job]] = defaultdict(list)
    ranks = book.ranks
    for job in jobs:
        classes[job.cluster, job.lp, -ranks.standing(job.tenant, job.priority)].append(job)
    ordered: list[Job] = []
    for key in sorted(classes):
        alike = sorted(classes[key], key=lambda job: _age(job, rules))
        ordered += _by_share(snapshot, alike, book, uses, capacity) if rules.fair else alike
    return tuple(ordered)


def _age(job: Job, rules: QueueRules) -> tuple[bool, int, str, int]:
    """Who has waited longest first; those of whom it is not known after all others."""
    since = rules.waiting_since_s.get(job.key)
    return since is None, since or 0, job.key, job.gang


def _by_share(snapshot: Snapshot, alike: list[Job], book: Book, uses: Uses, capacity: Mapping[str, int]) -> list[Job]:
    waiting: dict[str, list[Job]] = defaultdict(list)
    for job in alike:
        waiting[job.tenant or UNASSIGNED].append(job)
    place = {job: i for i, job in enumerate(alike)}
    heap = [(_turn(book, tenant, uses, capacity), place[mine[0]], tenant) for tenant, mine in waiting.items()]
    heapq.heapify(heap)
    ordered: list[Job] = []
    while heap:
        turn, at, tenant = heapq.heappop(heap)
        now = _turn(book, tenant, uses, capacity)
        if now != turn:  # a team of the same department was served meanwhile
            heapq.heappush(heap, (now, at, tenant))
            continue
        job = waiting[tenant].pop(0)
        ordered.append(job)
        _count(snapshot, book, uses, job)
        if waiting[tenant]:
            heapq.heappush(heap, (_turn(book, tenant, uses, capacity), place[waiting[tenant][0]], tenant))
    return ordered


def _turn(book: Book, tenant: str, uses: Uses, capacity: Mapping[str, int]) -> Turn:
    line = [account for account in book.tree.line(tenant) if account.listed]
    if not line:
        return (share(None, uses.get(tenant, {}), capacity).turn,)
    return tuple(share(account, uses.get(account.name, {}), capacity).turn for account in reversed(line))


def _count(snapshot: Snapshot, book: Book, uses: Uses, job: Job) -> None:
    """The job as if it ran: on the first model that it accepts, where it names one."""
    model = job.models[0] if job.models else (snapshot.models[0] if len(snapshot.models) == 1 else "")
    for name in [account.name for account in book.tree.line(job.tenant or UNASSIGNED)] or [job.tenant or UNASSIGNED]:
        sums = uses.setdefault(name, {})
        for resource, milli in ((model, job.gpu_milli), (CPU, job.cpu_milli)):
            if milli:
                sums[resource] = sums.get(resource, Fraction(0)) + milli
