"""The reclaim log: what was taken back, why, how it went and what was lost by it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date

from console.spot.choices import Cause
from console.spot.models import Lease, Reclaim
from console.spot.selectors.viewing import POOL, leases
from console.ui.states import PageState

HOUR_S = 3600
OUTCOMES = {"ended": "Ended by itself", "killed": "Killed", "unknown": "Not known", "open": "Under way"}


@dataclass(frozen=True, slots=True)
class ReclaimFilters(PageState):
    cause: str = ""
    outcome: str = ""
    tenant: str = ""
    lease: str = ""
    since: str = ""
    until: str = ""

    words: ClassVar = {"cause": Cause.values, "outcome": OUTCOMES}


@dataclass(frozen=True, slots=True)
class Summary:
    """Of the last ``days``: how often, how long, and what it cost; None where nobody knows."""

    days: int
    leases: int
    reclaims: int
    killed: int
    median_s: float | None
    lost_gpu_s: int
    gpu_s: int


def reclaims(viewer: Any, filters: ReclaimFilters | None = None) -> QuerySet[Reclaim]:
    """Newest first, of the leases that the viewer may see."""
    rows = Reclaim.objects.filter(lease__in=leases(viewer)).select_related("lease", "run")
    said = filters or ReclaimFilters()
    if said.cause:
        rows = rows.filter(cause=said.cause)
    rows = _of_outcome(rows, said.outcome)
    if said.tenant:
        rows = rows.filter(lease__tenant=said.tenant)
    number = said.lease.upper().removeprefix("L-")
    if said.lease:
        rows = rows.filter(lease_id=int(number)) if number.isdigit() and len(number) < 16 else rows.none()
    for name, field in (("since", "noticed_at__date__gte"), ("until", "noticed_at__date__lte")):
        day = _day(getattr(said, name))
        rows = rows.filter(**{field: day}) if day is not None else rows
    return rows.order_by("-noticed_at", "-pk")


def _of_outcome(rows: QuerySet[Reclaim], outcome: str) -> QuerySet[Reclaim]:
    match outcome:
        case "open":
            return rows.filter(ended_at=None)
        case "killed":
            return rows.filter(killed=True)
        case "ended":
            return rows.filter(killed=False)
        case "unknown":
            return rows.filter(killed=None).exclude(ended_at=None)
    return rows


def _day(text: str) -> Any:
    try:
        return parse_date(text)
    except ValueError:
        return None


def summary(viewer: Any, days: int = 30, now: datetime | None = None) -> Summary:
    since = (now or timezone.now()) - timedelta(days=days)
    rows = list(reclaims(viewer).filter(noticed_at__gte=since))
    took = [(one.ended_at - one.noticed_at).total_seconds() for one in rows if one.ended_at is not None]
    mine: QuerySet[Lease] = leases(viewer).filter(asked_at__isnull=False)
    active = mine.exclude(ended_at__lt=since)
    served = sum(active.values_list("gpu_s", flat=True))
    return Summary(
        days=days, leases=active.count(), reclaims=len(rows), killed=sum(one.killed is True for one in rows),
        median_s=median(took) if took else None,
        lost_gpu_s=sum(one.realised_loss_gpu_s or 0 for one in rows), gpu_s=served,
    )  # fmt: skip


HEAD = (
    "reclaim", "lease", "tenant", "model", "gpus", "cause", "noticed_at", "hook_ended_at", "ended_at", "killed",
    "handed_over_at", "checkpoint", "predicted_loss_gpu_hours", "realised_loss_gpu_hours", "credit_usd",
)  # fmt: skip


def lines(rows: QuerySet[Reclaim]) -> Iterator[tuple[object, ...]]:
    """Of the CSV: instants in ISO 8601, what nobody knows is empty."""
    for one in rows.iterator(chunk_size=500):
        yield (
            one.pk, one.lease.number, one.lease.tenant, one.run.gpu_model, one.gpus, one.cause, _iso(one.noticed_at),
            _iso(one.hook_ended_at), _iso(one.ended_at), _yes(one.killed), _iso(one.handed_over_at), one.checkpoint,
            _gpu_hours(one.predicted_loss_gpu_s), _gpu_hours(one.realised_loss_gpu_s),
            f"{one.credit_cents / 100:.2f}",
        )  # fmt: skip


def tenants_of(viewer: Any) -> list[str]:
    """Whose leases there are, for the filter of those who see everybody."""
    if not viewer.has_perm(POOL):
        return []
    return sorted(Lease.objects.order_by().values_list("tenant", flat=True).distinct())


def _iso(at: datetime | None) -> str:
    return "" if at is None else at.isoformat(timespec="seconds")


def _yes(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _gpu_hours(seconds: int | None) -> str:
    return "" if seconds is None else f"{seconds / HOUR_S:.2f}"
