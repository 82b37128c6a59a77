"""The pool of what sleeps: now, over the day, and as it is foreseen."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Max, Sum
from django.utils import timezone

from console.standby.choices import SAMPLE_S, SleeperState
from console.standby.models import ASLEEP, PoolSample, Sleeper, Window
from console.standby.selectors.viewing import scope_of
from console.ui.sums import known_sum

PAST_DAYS = 14
STEP = timedelta(minutes=30)
AHEAD = timedelta(hours=24)
FRESH = timedelta(seconds=2 * SAMPLE_S)


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One pool, or for tenants their own part of it and all others as one sum (``gpu_model`` "", ``others``)."""

    cluster: str
    gpu_model: str
    others: bool
    pods: int | None
    asleep_gpus: float
    ruled_gpus: float | None
    lent_gpus: float
    memory_mib: int | None
    device_mib: int | None
    addresses: int | None
    cents_per_hour: int | None

    @property
    def free_gpus(self) -> float:
        """Asleep and not lent."""
        return max(self.asleep_gpus - self.lent_gpus, 0)

    @property
    def lent_share(self) -> float | None:
        return self.lent_gpus / self.asleep_gpus if self.asleep_gpus else None


@dataclass(frozen=True, slots=True)
class HourRow:
    """One hour of the day over the last days; None: nobody looked in that hour."""

    hour: int
    days: int
    asleep_gpus: float | None
    lent_gpus: float | None


@dataclass(frozen=True, slots=True)
class AheadRow:
    """``planned``: under windows.  ``gpus``: with what sleeps without one at that hour; None: not known."""

    at: datetime
    planned_gpus: float
    gpus: float | None


@dataclass(frozen=True, slots=True)
class PoolPage:
    rows: list[PoolRow]
    day: list[HourRow]
    ahead: list[AheadRow]
    past_days: int
    own: bool
    at: datetime | None  # of the newest count; None before the first
    now: datetime

    @property
    def asleep_gpus(self) -> float | None:
        return None if self.at is None else sum(row.asleep_gpus for row in self.rows)

    @property
    def lent_gpus(self) -> float | None:
        return None if self.at is None else sum(row.lent_gpus for row in self.rows)

    @property
    def lent_share(self) -> float | None:
        return self.lent_gpus / self.asleep_gpus if self.asleep_gpus and self.lent_gpus is not None else None


def pool_page(viewer: Any, now: datetime | None = None) -> PoolPage:
    """By GPU model for who may see the pool; a tenant gets its own part, and all others as one sum."""
    at = now or timezone.now()
    newest = _newest(at)
    scope = scope_of(viewer)
    rows = [_pool_row(one) for one in newest] if scope is None else _own_rows(scope, newest)
    counted = max((one.at for one in newest), default=None)
    past = _past(at)
    return PoolPage(rows, _day(past), _ahead(at, past), PAST_DAYS, scope is not None, counted, at)


def _newest(at: datetime) -> list[PoolSample]:
    """The last count of each pool, where it is not too old to be called now."""
    last = PoolSample.objects.filter(at__gt=at - FRESH).order_by().values("source", "cluster", "gpu_model")
    newest = [(one["source"], one["cluster"], one["gpu_model"], one["last"]) for one in last.annotate(last=Max("at"))]
    rows = PoolSample.objects.filter(at__gt=at - FRESH).order_by("cluster", "gpu_model")
    return [one for one in rows if (one.source_id, one.cluster, one.gpu_model, one.at) in newest]


def _pool_row(one: PoolSample) -> PoolRow:
    return PoolRow(
        cluster=one.cluster, gpu_model=one.gpu_model, others=False, pods=one.pods, asleep_gpus=one.asleep_milli / 1000,
        ruled_gpus=one.ruled_milli / 1000, lent_gpus=one.lent_milli / 1000, memory_mib=one.memory_mib,
        device_mib=one.device_mib, addresses=one.pods, cents_per_hour=one.cents_per_hour,
    )  # fmt: skip


def _own_rows(scope: frozenset[str], newest: list[PoolSample]) -> list[PoolRow]:
    states = (SleeperState.ASLEEP, SleeperState.WAKING)
    mine = Sleeper.objects.filter(window__tenant__in=scope, state__in=states).select_related("window")
    by_pool: dict[tuple[str, str], list[Sleeper]] = defaultdict(list)
    for one in mine:
        by_pool[one.window.cluster, one.gpu_model].append(one)
    rows = [_own_row(cluster, model, pods) for (cluster, model), pods in sorted(by_pool.items())]
    if newest:
        asleep = sum(one.asleep_milli for one in newest) / 1000 - sum(row.asleep_gpus for row in rows)
        lent = sum(one.lent_milli for one in newest) / 1000 - sum(row.lent_gpus for row in rows)
        rows.append(PoolRow("", "", True, None, max(asleep, 0), None, max(lent, 0), None, None, None, None))
    return rows


def _own_row(cluster: str, model: str, pods: list[Sleeper]) -> PoolRow:
    return PoolRow(
        cluster=cluster, gpu_model=model, others=False, pods=len(pods),
        asleep_gpus=sum(one.gpu_milli for one in pods) / 1000, ruled_gpus=sum(one.gpu_milli for one in pods) / 1000,
        lent_gpus=sum(one.lent_milli or 0 for one in pods) / 1000, memory_mib=sum(one.memory_mib for one in pods),
        device_mib=known_sum(one.device_mib for one in pods), addresses=sum(one.addresses for one in pods),
        cents_per_hour=_hourly(pods),
    )  # fmt: skip


def _hourly(pods: list[Sleeper]) -> int | None:
    """From what these have cost until now; None where that is not known, or too short to tell."""
    costs, seconds = [one.cost_cents for one in pods], max((one.asleep_s for one in pods), default=0)
    known = [value for value in costs if value is not None]
    return None if len(known) < len(costs) or seconds < 600 else round(sum(known) * 3600 / seconds)


@dataclass(frozen=True, slots=True)
class _Slot:
    """The whole pool in one slot."""

    at: datetime
    asleep: float
    unruled: float
    lent: float


def _past(at: datetime) -> list[_Slot]:
    rows = PoolSample.objects.filter(at__gt=at - timedelta(days=PAST_DAYS)).order_by("at").values("at")
    sums = rows.annotate(asleep=Sum("asleep_milli"), ruled=Sum("ruled_milli"), lent=Sum("lent_milli"))
    return [
        _Slot(one["at"], one["asleep"] / 1000, (one["asleep"] - one["ruled"]) / 1000, one["lent"] / 1000)
        for one in sums
    ]


def _day(past: list[_Slot]) -> list[HourRow]:
    found: dict[int, list[_Slot]] = defaultdict(list)
    for slot in past:
        found[slot.at.hour].append(slot)
    return [
        HourRow(
            hour,
            len({slot.at.date() for slot in found[hour]}),
            median(slot.asleep for slot in found[hour]) if found[hour] else None,
            median(slot.lent for slot in found[hour]) if found[hour] else None,
        )
        for hour in range(24)
    ]


def _ahead(at: datetime, past: list[_Slot]) -> list[AheadRow]:
    """Windows say what they say; of the rest, what slept at that hour in the past."""
    typical: dict[int, list[float]] = defaultdict(list)
    for slot in past:
        typical[slot.at.hour].append(slot.unruled)
    first = datetime.fromtimestamp(at.timestamp() // STEP.total_seconds() * STEP.total_seconds(), UTC)
    steps = [first + STEP * step for step in range(int(AHEAD / STEP) + 1)]
    planned = _planned(steps, at)
    return [
        AheadRow(step, gpus, gpus + median(typical[step.hour]) if typical[step.hour] else None)
        for step, gpus in zip(steps, planned, strict=True)
    ]


def _planned(steps: list[datetime], at: datetime) -> list[float]:
    """GPUs of all windows that are on at each step; of one that is on now, those that sleep under it now."""
    gpus = [0.0] * len(steps)
    asleep: dict[int, float] = defaultdict(float)
    for one in Sleeper.objects.filter(state__in=ASLEEP):
        asleep[one.window_id] += one.gpu_milli / 1000
    for window in Window.objects.filter(ended_at=None):
        for span in window.spans(steps[0], steps[-1] + STEP):
            whole = window.expected.get("gpu_milli", 0) / 1000
            now = asleep.get(window.pk, 0.0) if span.holds(at) else whole
            for place, step in enumerate(steps):
                gpus[place] += now if span.holds(max(step, at) if place == 0 else step) else 0
    return gpus
