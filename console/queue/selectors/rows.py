"""Jobs that wait, as a viewer may see them: its own by name, all others as sums."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet, Sum
from django.utils import timezone

from console.inventory.models import Observation
from console.inventory.selectors.overview import Age
from console.inventory.selectors.paging import Page, cut, parse_cursor
from console.queue.choices import JobState, Reason
from console.queue.models import Job, Turn
from console.queue.selectors.narrowing import QueueFilters, names_of, narrowed
from console.queue.wording import sentence_for
from console.tenancy.selectors import tenant_scope

SORTS = ("waiting", "gpus", "pods", "priority", "position", "reason", "job", "tenant", "cluster", "block")
_ORDER = {
    "waiting": ("since",),  # the oldest first: a column of times that is read as a length
    "gpus": ("gpu_milli",),
    "reason": ("rank",),
    "job": ("key",),
    "block": ("block_milli",),
    "cluster": ("source__name", "cluster", "position"),
}
USUAL = "-waiting"
CLASS = "told__class"


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One job that waits.  GPUs in thousandths; ``gpus_each_milli`` of one of its largest pods.

    ``since`` is the first reading that showed it waiting; with ``since_known`` False it may have waited before.
    ``block_milli`` None: nothing is known of the level that it asks for.
    """

    source: str
    cluster: str
    key: str
    gang: bool
    tenant: str
    models: str
    pods: int
    running: int
    gpus_each_milli: int
    gpu_milli: int
    priority: int
    priority_class: str
    tier: str
    position: int
    since: datetime
    since_known: bool
    waited_s: float
    reason: str
    sentence: str
    block_milli: int | None
    block_level: str

    @property
    def reason_label(self) -> str:
        return str(Reason(self.reason).label)


@dataclass(frozen=True, slots=True)
class ReasonTotal:
    reason: str
    label: str
    jobs: int
    gpu_milli: int


@dataclass(frozen=True, slots=True)
class QueueTotals:
    """``jobs`` None: nothing was explained yet.  ``oldest`` None: nobody waits."""

    jobs: int | None
    gpu_milli: int | None
    fits: int | None
    oldest: datetime | None
    oldest_known: bool
    reasons: tuple[ReasonTotal, ...]


def queue_age() -> Age:
    """Of the readings that are explained: when the source that is heard of least last said what is shown."""
    turns = list(Turn.objects.filter(revision__gt=0).select_related("source"))
    said = dict(Observation.objects.filter(pk__in=[turn.revision for turn in turns]).values_list("pk", "observed_at"))
    ages = [(said.get(turn.revision) or turn.begun_at, turn) for turn in turns if turn.begun_at is not None]
    if not ages:
        return Age(None, None, None)
    at, aged = min(ages, key=lambda one: (one[0], one[1].pk))
    return Age(at, aged.source.period_s, max(turn.revision for turn in turns))


def queue_rows(
    viewer: Any, filters: QueueFilters, *, sort: str = USUAL, cursor: str = "", size: int = 50
) -> Page[QueueRow]:
    """Longest wait first unless ``sort`` says otherwise.  Raises ``BadCursorError``."""
    _, start = parse_cursor(cursor)
    scope = tenant_scope(viewer)
    found = _ordered(_waiting(scope, filters), sort)
    now = timezone.now()
    rows = [_row(job, scope, now) for job in found[start : start + size]]
    return cut(rows, found.count(), start, 0, size)


def queue_csv(viewer: Any, filters: QueueFilters, *, sort: str = USUAL) -> Iterator[QueueRow]:
    scope, now = tenant_scope(viewer), timezone.now()
    return (_row(job, scope, now) for job in _ordered(_waiting(scope, filters), sort).iterator(500))


def queue_totals(viewer: Any, filters: QueueFilters | None = None) -> QueueTotals:
    """Of the jobs that the viewer sees by name and the filters let through; each reason counts without its filter."""
    asked = filters or QueueFilters()
    scope = tenant_scope(viewer)
    rows = _waiting(scope, asked)
    sums = rows.aggregate(jobs=Count("pk"), milli=Sum("gpu_milli"), oldest=Min("since"),
                          fits=Count("pk", filter=Q(reason=Reason.FITS_NOW)))  # fmt: skip
    known = Turn.objects.filter(revision__gt=0).exists()
    oldest = rows.order_by("since").values_list("since_known", flat=True).first()
    every = QueueFilters(**{one.name: getattr(asked, one.name) for one in fields(asked)} | {"reason": ""})
    return QueueTotals(
        jobs=sums["jobs"] if known else None,
        gpu_milli=sums["milli"] or 0 if known else None,
        fits=sums["fits"] if known else None,
        oldest=sums["oldest"],
        oldest_known=bool(oldest),
        reasons=_by_reason(_waiting(scope, every)),
    )


def others_totals(viewer: Any) -> QueueTotals | None:
    """All that the viewer does not see by name, in sums that no filter narrows; None for who sees everything."""
    scope = tenant_scope(viewer)
    if scope is None:
        return None
    rows = Job.objects.filter(state=JobState.PENDING).exclude(tenant__in=scope)
    reasons = _by_reason(rows)
    known = Turn.objects.filter(revision__gt=0).exists()
    return QueueTotals(
        jobs=sum(one.jobs for one in reasons) if known else None,
        gpu_milli=sum(one.gpu_milli for one in reasons) if known else None,
        fits=None,
        oldest=None,
        oldest_known=False,
        reasons=reasons,
    )


def queue_names(viewer: Any) -> dict[str, tuple[str, ...]]:
    """Names for the filters, of what the viewer sees waiting."""
    return names_of(_waiting(tenant_scope(viewer), QueueFilters()), class_field=CLASS)


def _waiting(scope: frozenset[str] | None, filters: QueueFilters) -> QuerySet[Job]:
    rows = narrowed(Job.objects.filter(state=JobState.PENDING), scope, filters, class_field=CLASS)
    return rows.filter(reason=filters.reason) if filters.reason else rows


def _ordered(rows: QuerySet[Job], sort: str) -> QuerySet[Job]:
    word, down = sort.removeprefix("-"), sort.startswith("-")
    turned = down if word != "waiting" else not down
    order = [F(name).desc(nulls_last=True) if turned else F(name).asc(nulls_first=True)
             for name in _ORDER.get(word, (word,))]  # fmt: skip
    return rows.order_by(*order, "source__name", "cluster", "key", "pk")


def _by_reason(rows: QuerySet[Job]) -> tuple[ReasonTotal, ...]:
    found = rows.order_by("rank").values("rank", "reason").annotate(jobs=Count("pk"), milli=Sum("gpu_milli"))
    return tuple(
        ReasonTotal(one["reason"], str(Reason(one["reason"]).label), one["jobs"], one["milli"]) for one in found
    )


def _row(job: Job, scope: frozenset[str] | None, now: datetime) -> QueueRow:
    told = job.told
    part = told["parts"][0] if told["parts"] else {"gpus": 0, "gpu_milli": 0}
    return QueueRow(
        source=job.source.name,
        cluster=job.cluster,
        key=job.key,
        gang=job.gang,
        tenant=job.tenant,
        models=", ".join(name for name in job.models_text.split("|") if name),
        pods=job.pods,
        running=job.running,
        gpus_each_milli=part["gpus"] * part["gpu_milli"],
        gpu_milli=job.gpu_milli,
        priority=job.priority,
        priority_class=told.get("class", ""),
        tier="LP" if job.lp else "HP",
        position=job.position,
        since=job.since,
        since_known=job.since_known,
        waited_s=max(0.0, (now - job.since).total_seconds()),
        reason=job.reason,
        sentence=sentence_for(told["reason"], scope),
        block_milli=job.block_milli,
        block_level=told["levels"][0] if told["levels"] else "node" if job.pods == 1 else "cluster",
    )
