"""Recalls as rows and in figures: from notice to serving, how many failed, day by day."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.utils import timezone

from console.standby.choices import GRACE_S, OPEN_RECALLS, Cause, RecallState
from console.standby.models import Ending, Recall
from console.standby.selectors.viewing import reaches, recalls

DAYS = 30
SHOWN = 50


@dataclass(frozen=True, slots=True)
class EndingRow:
    """A borrower that was told to end.  ``claimant``: the pod that woke; ``serving_at``: since when that serves."""

    lease: str
    pod: str
    recall_id: int
    cause: str
    noticed_at: datetime
    due_at: datetime
    hook_ended_at: datetime | None
    ended_at: datetime | None
    killed: bool
    checkpoint_at: datetime | None
    claimant: str
    claimant_tenant: str
    serving_at: datetime | None
    gpu_milli: int


@dataclass(frozen=True, slots=True)
class RecallRow:
    id: int
    source: str
    cluster: str
    pod: str
    node: str
    tenant: str
    gpu_model: str
    gpus: float
    cause: str
    reason: str
    asked_by: str
    asked_at: datetime
    wanted_at: datetime | None
    state: str
    detail: str
    noticed_at: datetime | None
    kill_at: datetime | None
    last_gone_at: datetime | None
    serving_at: datetime | None
    took_s: float | None
    late_s: float | None
    borrowers: int
    gone: int
    killed: int
    checkpoints: int

    @property
    def open(self) -> bool:
        return self.state in OPEN_RECALLS

    @property
    def label(self) -> str:
        return str(RecallState(self.state).label)

    @property
    def cause_words(self) -> str:
        return str(Cause(self.cause).label)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds from notice to serving of those that serve; None where there are none."""

    recalls: int
    serving: int
    failed: int
    killed: int
    borrowers: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None


@dataclass(frozen=True, slots=True)
class RecallsPage:
    rows: list[RecallRow]
    total: int
    whole: Times
    by_day: list[tuple[date, Times]]
    days: int
    open: int
    own: bool
    at: datetime


def recalls_page(viewer: Any, now: datetime | None = None) -> RecallsPage:
    """The newest, and figures over 30 days; of the viewer's own tenants, or of all."""
    at = now or timezone.now()
    found = recalls(viewer)
    recent = list(found.filter(asked_at__gt=at - timedelta(days=DAYS)))
    by_day: dict[date, list[Recall]] = defaultdict(list)
    for row in recent:
        by_day[row.asked_at.date()].append(row)
    return RecallsPage(
        rows=[recall_row(row) for row in found[:SHOWN]],
        total=found.count(),
        whole=times(recent),
        by_day=[(day, times(rows)) for day, rows in sorted(by_day.items())],
        days=DAYS,
        open=sum(row.state in OPEN_RECALLS for row in recent),
        own=not viewer.has_perm("standby.view_pool"),
        at=at,
    )


def recall_row(row: Recall) -> RecallRow:
    endings = list(row.endings.all())
    plain = ("cluster", "pod", "node", "tenant", "gpu_model", "cause", "reason", "asked_at", "wanted_at", "state")
    times_ = ("detail", "noticed_at", "last_gone_at", "serving_at", "killed", "took_s")
    late = None
    if row.wanted_at is not None and row.serving_at is not None:
        late = (row.serving_at - row.wanted_at).total_seconds()
    return RecallRow(
        **{name: getattr(row, name) for name in (*plain, *times_)},
        id=row.pk, source=row.source.name, gpus=row.gpu_milli / 1000, late_s=late,
        asked_by="" if row.asked_by is None else row.asked_by.get_username(),
        kill_at=None if row.noticed_at is None or not endings else row.noticed_at + timedelta(seconds=GRACE_S),
        borrowers=len(endings), gone=sum(one.ended_at is not None for one in endings),
        checkpoints=sum(one.checkpoint_at is not None for one in endings),
    )  # fmt: skip


def times(rows: Collection[Recall]) -> Times:
    took = sorted(row.took_s for row in rows if row.state == RecallState.SERVING and row.took_s is not None)
    return Times(
        recalls=len(rows),
        serving=sum(row.state == RecallState.SERVING for row in rows),
        failed=sum(row.state == RecallState.FAILED for row in rows),
        killed=sum(row.killed for row in rows),
        borrowers=sum(len(row.endings.all()) for row in rows),
        p50_s=_percentile(took, 0.5), p95_s=_percentile(took, 0.95), p99_s=_percentile(took, 0.99),
    )  # fmt: skip


def _percentile(values: list[float], part: float) -> float | None:
    """The smallest value that at least this part of them does not exceed."""
    if not values:
        return None
    return values[min(len(values) - 1, max(0, -int(-len(values) * part // 1) - 1))]


def endings_of(lease_uids: Collection[str]) -> list[EndingRow]:
    """Pods of leases that recalls told to end, newest notice first; for the room that keeps leases."""
    rows = Ending.objects.filter(lease__in=[str(uid) for uid in lease_uids]).select_related("recall")
    return [_ending_row(row) for row in rows.order_by("-noticed_at", "-pk")]


def _ending_row(row: Ending) -> EndingRow:
    return EndingRow(
        lease=row.lease, pod=row.pod, recall_id=row.recall_id, cause="recall", noticed_at=row.noticed_at,
        due_at=row.noticed_at + timedelta(seconds=GRACE_S), hook_ended_at=row.hook_ended_at, ended_at=row.ended_at,
        killed=row.killed, checkpoint_at=row.checkpoint_at, claimant=row.recall.pod,
        claimant_tenant=row.recall.tenant, serving_at=row.recall.serving_at, gpu_milli=row.gpu_milli,
    )  # fmt: skip


def may_recall(viewer: Any, tenant: str) -> bool:
    return reaches(viewer, tenant)
