"""What HP is expected to hold, how well that was foretold, and how much is left for spot work."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from console.spot.models import BacktestRun, Forecast, ForecastRun, HourPeak, HourWatched, SpotQuota
from console.spot.selectors.viewing import POOL, require_seeing
from console.tenancy.selectors import tenant_scope
from console.tenancy.services import require

HOUR, WEEK = timedelta(hours=1), timedelta(days=7)
MILLI = 1000
OURS = "library"
FORECASTER_WORDS = {OURS: "Ours", "gfs": "GFS's rule", "last_week_peak": "Last week's peak"}
MEANINGS = {
    OURS: "Gradient-boosted trees of scikit-learn on what is held now and on hourly peaks before; each quantile is "
    "moved until past hours keep it as often as it says. Tenants that move together count as such.",
    "gfs": "GFS (ASPLOS '26): mean and variance per tenant from 672 h, a pool by their plain sum and the normal "
    "distribution. Its network is not trained here: a linear map of trend and rest stands in for it.",
    "last_week_peak": "The most that was held in the last 168 hours; it says nothing of how sure it is.",
}
WATCHED_MINUTES = 54


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """GPUs, one number for each hour from ``base_at`` on; empty with ``why`` where nothing is known."""

    gpu_model: str
    tenant: str | None  # None: the sum over all tenants
    forecaster: str
    base_at: datetime
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    low: tuple[float, ...]
    median: tuple[float, ...]
    high: tuple[float, ...]
    why: str

    @property
    def words(self) -> str:
        return FORECASTER_WORDS[self.forecaster]

    @property
    def next_high(self) -> float | None:
        return self.high[0] if self.high else None


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """GPUs of one model; ``quota`` None with ``unknown`` where it is not known.  ``eta``: the feedback's factor."""

    gpu_model: str
    at: datetime
    level: float
    capacity: int
    reserved: int | None
    quota: int | None
    eta: float
    moved_by: float
    evicted: int
    ended: int
    oldest_wait_s: int | None
    why: str
    unknown: str

    @property
    def rate(self) -> float | None:
        return self.evicted / self.ended if self.ended else None

    @property
    def promised(self) -> float:
        """The eviction rate at which the feedback rests."""
        return 1 - self.level


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """Of the last days.  ``gpu_model`` "": all models, each counting the same.  ``difference``: less GFS's rule."""

    forecaster: str
    gpu_model: str
    pinball: float | None
    coverage: float | None
    hours: int
    difference: float | None
    low: float | None
    high: float | None
    why: str

    @property
    def words(self) -> str:
        return FORECASTER_WORDS[self.forecaster]


@dataclass(frozen=True, slots=True)
class Judged:
    until_at: datetime
    days: int
    hours: int
    level: float
    scores: tuple[ScoreRow, ...]
    why: str

    def of(self, model: str) -> list[ScoreRow]:
        return [one for one in self.scores if one.gpu_model == model]


@dataclass(frozen=True, slots=True)
class Line:
    """Hour by hour from ``begin_at``; None where nobody knows."""

    begin_at: datetime
    gpus: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """``everybody``: the viewer sees pools; else only forecasts of own tenants, and quotas."""

    models: tuple[str, ...]
    model: str
    tenants: tuple[str, ...]
    tenant: str | None
    everybody: bool
    run: ForecastRun | None
    rows: tuple[ForecastRow, ...]
    quotas: tuple[QuotaRow, ...]
    judged: Judged | None
    actual: Line | None
    before: dict[str, Line]  # forecaster -> what it said an hour ahead
    watched_h: int
    at: datetime

    @property
    def ours(self) -> ForecastRow | None:
        return next((one for one in self.rows if one.forecaster == OURS), None)

    @property
    def why(self) -> str:
        """Why there is nothing to draw; "" where there is."""
        if self.run is None:
            return f"A forecast is made once a whole hour has been watched; {self.watched_h} h have been so far."
        return "" if self.ours is None else self.ours.why


def forecasts(viewer: Any, model: str = "", tenant: str | None = None) -> list[ForecastRow]:
    """Of the newest run: pools for who sees the pool, tenants as far as they are the viewer's.  Raises ``Denied``."""
    run = newest_run()
    if run is None:
        require_seeing(viewer)
        return []
    rows = _visible(viewer, run)
    if model:
        rows = rows.filter(gpu_model=model)
    if tenant is not None:
        rows = rows.filter(pool=False, tenant=tenant)
    return [_row(row, run) for row in rows]


def newest_run() -> ForecastRun | None:
    return ForecastRun.objects.first()


def _visible(viewer: Any, run: ForecastRun) -> QuerySet[Forecast]:
    require_seeing(viewer)
    rows = Forecast.objects.filter(run=run)
    names = tenant_scope(viewer)
    if viewer.has_perm(POOL) and names is None:
        return rows
    return rows.filter(Q(pool=False) & Q(tenant__in=sorted(names or ())) & ~Q(tenant=""))


def _row(row: Forecast, run: ForecastRun) -> ForecastRow:
    lists = (row.mean_milli, row.deviation_milli, row.low_milli, row.median_milli, row.high_milli)
    mean, deviation, low, median, high = (tuple(one / MILLI for one in column) for column in lists)
    tenant = None if row.pool else row.tenant
    return ForecastRow(row.gpu_model, tenant, row.forecaster, run.base_at, mean, deviation, low, median, high, row.why)


def quotas(viewer: Any) -> list[QuotaRow]:
    """The newest of each model: sums over all tenants, which anybody who may ask may know.  Raises ``Denied``."""
    require_seeing(viewer)
    return [_quota(row) for row in _newest_quotas()]


def quota_of(tenant: str | None, model: str, now: datetime | None = None) -> int | None:
    """GPUs of the model that spot work of all tenants may hold together; None where no quota is known."""
    at = now or timezone.now()
    row = SpotQuota.objects.filter(gpu_model=model, at__lte=at, at__gt=at - 2 * HOUR).first()
    return None if row is None or row.quota_milli is None else row.quota_milli // MILLI


def _newest_quotas() -> list[SpotQuota]:
    found: dict[str, SpotQuota] = {}
    for row in SpotQuota.objects.filter(at__gt=timezone.now() - timedelta(days=1)).order_by("at"):
        found[row.gpu_model] = row
    return [found[model] for model in sorted(found)]


def _quota(row: SpotQuota) -> QuotaRow:
    reserved, quota = (None if one is None else one // MILLI for one in (row.reserved_milli, row.quota_milli))
    return QuotaRow(
        row.gpu_model, row.at, row.level, row.capacity_milli // MILLI, reserved, quota, row.eta, row.moved_by,
        row.evicted, row.ended, row.oldest_wait_s, row.why, row.unknown,
    )  # fmt: skip


def backtested(viewer: Any) -> Judged | None:
    """Of pools, so only for who sees them.  Raises ``Denied``."""
    require(viewer, POOL)
    row = BacktestRun.objects.first()
    if row is None:
        return None
    document = row.document
    scores = tuple(ScoreRow(**one) for one in document.get("scores", []))
    days, hours = (int(document.get(name, 0)) for name in ("days", "hours"))
    return Judged(row.until_at, days, hours, float(document.get("level", 0)), scores, row.why)


def panel(viewer: Any, model: str = "", tenant: str | None = None) -> Panel:
    """Everything that the card shows.  ``tenant`` None: the pool, for who sees it, else the first own one."""
    run, now = newest_run(), timezone.now()
    every = [] if run is None else list(_visible(viewer, run).values_list("gpu_model", "tenant", "pool").distinct())
    require_seeing(viewer)
    everybody = bool(viewer.has_perm(POOL)) and tenant_scope(viewer) is None
    models = tuple(sorted({one[0] for one in every}))
    chosen = model if model in models else _fullest(models, run)
    tenants = tuple(sorted({name for of, name, pool in every if not pool and of == chosen and name}))
    whose = tenant if tenant in tenants else None if everybody else next(iter(tenants), None)
    order = list(FORECASTER_WORDS)
    rows = [row for row in forecasts(viewer, chosen) if row.tenant == whose] if chosen else []
    rows.sort(key=lambda row: order.index(row.forecaster))
    judged = backtested(viewer) if everybody else None
    before = _before(chosen) if everybody and whose is None else {}
    seen = everybody or whose is not None
    return Panel(
        models, chosen, tenants, whose, everybody, run, tuple(rows), tuple(quotas(viewer)), judged,
        _actual(chosen, whose, now) if chosen and seen else None, before, _watched(now), now,
    )  # fmt: skip


def _fullest(models: Sequence[str], run: ForecastRun | None) -> str:
    """The model of which most is expected to be held."""
    if run is None or not models:
        return ""
    rows = Forecast.objects.filter(run=run, pool=True, forecaster=OURS, gpu_model__in=models)
    return max(rows, key=lambda row: (max(row.high_milli, default=0), row.gpu_model)).gpu_model if rows else models[0]


def _watched(now: datetime) -> int:
    rows = HourWatched.objects.filter(began_at__lt=now.replace(minute=0, second=0, microsecond=0))
    return sum(row.known_minutes >= WATCHED_MINUTES for row in rows)


def _actual(model: str, tenant: str | None, now: datetime) -> Line | None:
    """The last week's peaks; of a pool the sum of its tenants' peaks, which is what is reserved for."""
    base = now.replace(minute=0, second=0, microsecond=0)
    hours = int(WEEK / HOUR)
    begin = base - WEEK
    known = {
        row.began_at
        for row in HourWatched.objects.filter(began_at__gte=begin, began_at__lt=base)
        if row.simulated or row.known_minutes >= WATCHED_MINUTES
    }
    if not known:
        return None
    rows = HourPeak.objects.filter(gpu_model=model, began_at__gte=begin, began_at__lt=base)
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    sums: defaultdict[datetime, int] = defaultdict(int)
    for began, milli in rows.values_list("began_at", "peak_milli"):
        sums[began] += milli
    at = [begin + hour * HOUR for hour in range(hours)]
    return Line(begin, tuple(sums[one] / MILLI if one in known else None for one in at))


def _before(model: str) -> dict[str, Line]:
    """What each forecaster said an hour ahead, over the hours of the newest back-test."""
    row = BacktestRun.objects.first()
    if row is None or not row.document:
        return {}
    begin = datetime.fromtimestamp(row.document["begin_s"], UTC)
    return {word: Line(begin, tuple(paths[model])) for word, paths in row.document["paths"].items() if model in paths}
