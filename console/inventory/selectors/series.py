"""GPU-hours over time.  Slots are counted in UTC; a zone only names them, so no hour is lost or counted twice."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Sum
from django.utils import timezone

from console.inventory.models import UsageSlot
from console.tenancy.selectors import tenant_scope

HOUR = timedelta(hours=1)
DAWN = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bucket:
    """One stretch of UTC under its local name.  Averages of GPUs over the part that is known; None where none is."""

    began_at: datetime
    label: str  # local clock time, e.g. 02:00
    offset: str  # of the zone at that instant, e.g. +02:00
    known: float  # share of the stretch of which something is known, 0 to 1
    allocated_gpus: float | None
    asleep_gpus: float | None
    lent_gpus: float | None


def standby_series(
    viewer: Any, hours: int = 24, zone: str = "UTC", now: datetime | None = None, step: timedelta = HOUR
) -> tuple[Bucket, ...]:
    """The last ``hours`` hours up to the present stretch of ``step``, sums over all sources and tenants.

    ``step`` is a multiple of the slots in which usage is summed.  Empty for viewers who may not see the whole fleet.
    """
    end = _floor(now or timezone.now(), step) + step
    return _buckets(viewer, end - hours * HOUR, end, ZoneInfo(zone), step)


def usage_of_day(viewer: Any, zone: str, day: date) -> tuple[Bucket, ...]:
    """The 23, 24 or 25 hours of a day of that zone."""
    tz = ZoneInfo(zone)
    start = datetime.combine(day, time(), tz).astimezone(UTC)
    end = datetime.combine(day + timedelta(days=1), time(), tz).astimezone(UTC)
    return _buckets(viewer, start, end, tz)


def _floor(instant: datetime, step: timedelta) -> datetime:
    """Start of the stretch of UTC that holds the instant."""
    return DAWN + (instant - DAWN) // step * step


def _buckets(viewer: Any, start: datetime, end: datetime, zone: ZoneInfo, step: timedelta = HOUR) -> tuple[Bucket, ...]:
    if tenant_scope(viewer) is not None:
        return ()
    sums = _sums(start, end, step)
    found = []
    while start < end:
        found.append(_bucket(start, sums.get(start), zone, step))
        start += step
    return tuple(found)


type Sums = dict[str, float]


def _sums(start: datetime, end: datetime, step: timedelta) -> dict[datetime, list[Sums]]:
    """Slots by stretch and source: a source that is known for less of it must not be averaged over all of it."""
    fields = ("covered_s", "allocated_gpu_s", "asleep_gpu_s", "lent_gpu_s")
    rows = UsageSlot.objects.filter(began_at__gte=start, began_at__lt=end)
    by_stretch: dict[datetime, dict[int, Sums]] = defaultdict(dict)
    summed: Any = rows.values("began_at", "source").annotate(**{f"all_{name}": Sum(name) for name in fields})
    for row in summed:
        into = by_stretch[_floor(row["began_at"], step)].setdefault(row["source"], dict.fromkeys(fields, 0.0))
        for name in fields:
            into[name] += row[f"all_{name}"]
    return {began: list(sources.values()) for began, sources in by_stretch.items()}


def _bucket(start: datetime, sources: list[Sums] | None, zone: ZoneInfo, step: timedelta) -> Bucket:
    local = start.astimezone(zone)
    offset = local.strftime("%z")
    known = [item for item in sources or [] if item["covered_s"] > 0]

    def average(name: str) -> float | None:
        return sum(item[name] / item["covered_s"] for item in known) if known else None

    return Bucket(
        began_at=start,
        label=local.strftime("%H:%M"),
        offset=f"{offset[:3]}:{offset[3:]}",
        known=min(max((item["covered_s"] for item in known), default=0.0) / step.total_seconds(), 1.0),
        allocated_gpus=average("allocated_gpu_s"),
        asleep_gpus=average("asleep_gpu_s"),
        lent_gpus=average("lent_gpu_s"),
    )
