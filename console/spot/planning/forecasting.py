"""What HP will hold in the next hours, how well that was foretold, and how much is left for spot work."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Q
from django.utils import timezone

from console.inventory.selectors.measured import newest_measurements
from console.spot.choices import State
from console.spot.models import BacktestRun, Forecast, ForecastRun, HourPeak, HourWatched, Lease, Run, SpotQuota
from console.spot.services import forecasting as services
from scheduler.cluster.errors import ParamError
from scheduler.cluster.snapshot import UNKNOWN
from scheduler.spot.ahead import Ahead, ForecastParams, Path
from scheduler.spot.backtest import EVERY_MODEL, Backtest, BacktestParams, backtest
from scheduler.spot.forecast import FORECASTERS, forecast
from scheduler.spot.peaks import Peaks, Series
from scheduler.spot.quota import QuotaParams, eviction_rate, next_eta, spot_quota

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WATCHED_MINUTES = 54  # of 60; with fewer the peak of that hour is not known
HISTORY = 57 * DAY
AHEAD_H = 24  # storms look a day ahead, quotas one hour
JUDGED_DAYS = 7
QUOTA = QuotaParams()
PARAMS = ForecastParams(levels=(0.1, 0.5, QUOTA.level), hours=AHEAD_H)
MILLI = 1000


def look(now: datetime | None = None) -> str:
    """Forecasts once an hour has ended, judges once a day, quotas every time; what was done, for the log."""
    at = now or timezone.now()
    base = at.replace(minute=0, second=0, microsecond=0)
    done = []
    if not ForecastRun.objects.filter(base_at=base).exists():
        peaks, simulated = history(base)
        if peaks is not None:
            _forecast(base, peaks, simulated)
            done.append("forecast")
            newest = BacktestRun.objects.first()
            if newest is None or newest.until_at < base - DAY or (newest.why and newest.until_at < base):
                _judge(base, peaks)
                done.append("judged")
    done.append(f"{_quotas(at)} quotas")
    return ", ".join(done)


def history(base: datetime) -> tuple[Peaks | None, int]:
    """Whole hours before ``base`` of all tenants, and how many of them were drawn; None where none was ever watched."""
    watched = {
        row.began_at: row
        for row in HourWatched.objects.filter(began_at__gte=base - HISTORY, began_at__lt=base)
        if row.simulated or row.known_minutes >= WATCHED_MINUTES
    }
    if not watched:
        return None, 0
    first = min(watched)
    hours = int((base - first) / HOUR)
    rows = HourPeak.objects.filter(began_at__gte=first, began_at__lt=base)
    series = tuple(sorted({Series(model, tenant) for model, tenant in rows.values_list("gpu_model", "tenant")}))
    if not series:
        return None, 0
    place = {one: at for at, one in enumerate(series)}
    known = np.array([first + at * HOUR in watched for at in range(hours)])
    peak, closing = (np.where(known, 0, UNKNOWN) * np.ones((len(series), 1), np.int64) for _ in range(2))
    for began, tenant, model, most, last in rows.values_list(
        "began_at", "tenant", "gpu_model", "peak_milli", "closing_milli"
    ):
        at = int((began - first) / HOUR)
        if known[at]:
            peak[place[Series(model, tenant)], at], closing[place[Series(model, tenant)], at] = most, last
    simulated = sum(row.simulated for row in watched.values())
    return Peaks(int(first.timestamp()), series, peak, closing), simulated


def _forecast(base: datetime, peaks: Peaks, simulated: int) -> None:
    rows = [row for word in FORECASTERS for row in _rows(forecast(word, peaks, PARAMS))]
    services.keep_forecasts(base, peaks.hours, simulated, rows)


def _rows(ahead: Ahead) -> list[dict[str, Any]]:
    pools = [_row(ahead.word, model, ahead.pool(model), pool=True) for model in ahead.models]
    return pools + [
        _row(ahead.word, one.gpu_model, ahead.tenant(one), pool=False, tenant=one.tenant) for one in ahead.series
    ]


def _row(word: str, model: str, path: Path, *, pool: bool, tenant: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"forecaster": word, "gpu_model": model, "pool": pool, "tenant": tenant, "why": path.why}
    if not path.why:
        found |= {"mean_milli": _whole(path.mean_milli), "deviation_milli": _whole(path.deviation_milli)}
        names = ("low_milli", "median_milli", "high_milli")
        found |= {name: _whole(path.at(level)) for name, level in zip(names, path.levels, strict=True)}
    return found


def _whole(column: Any) -> list[int]:
    return [round(float(one)) for one in column]


def _judge(base: datetime, peaks: Peaks) -> None:
    params = BacktestParams(days=JUDGED_DAYS, level=QUOTA.level)
    try:
        found = backtest(peaks, params)
    except ParamError as refused:
        services.keep_backtest(base, {}, f"{refused.reason}".replace("needs", "a back-test needs"))
        return
    services.keep_backtest(base, document_of(found))


def document_of(found: Backtest) -> dict[str, Any]:
    """Plain numbers; null where nothing could be judged."""
    return {
        "level": found.params.level, "days": found.params.days, "hours": found.params.hours,
        "scores": [_score(found, word, model) for model in (EVERY_MODEL, *found.models) for word in FORECASTERS],
        "begin_s": found.begin_s,
        "actual": {model: _gpus(found.actual[at]) for at, model in enumerate(found.models)},
        "paths": {
            word: {model: _gpus(path[at]) for at, model in enumerate(found.models)}
            for word, path in found.paths.items()
        },
    }  # fmt: skip


def _score(found: Backtest, word: str, model: str) -> dict[str, Any]:
    score, gap = found.score(word, model), found.difference(word, model)
    return {
        "forecaster": word, "gpu_model": model, "pinball": score.pinball, "coverage": score.coverage,
        "hours": score.hours, "difference": gap.mean, "low": gap.low, "high": gap.high,
        "why": found.why[word].get(model, ""),
    }  # fmt: skip


def _gpus(row: Any) -> list[float | None]:
    return [None if np.isnan(one) else round(float(one), 2) for one in row]


def _quotas(now: datetime) -> int:
    """Every ``refresh_s`` the feedback moves; between, and where nothing changed, nothing is written."""
    run = ForecastRun.objects.filter(base_at__lte=now, base_at__gt=now - 2 * HOUR).first()
    before, capacity, rows = services.newest_quotas(), _capacity(), []
    said = {} if run is None else {row.gpu_model: row for row in run.rows.filter(forecaster=FORECASTERS[0], pool=True)}
    for model, milli in sorted(capacity.items()):
        last = before.get(model)
        elapsed = QUOTA.refresh_s if last is None else int((now - last.at).total_seconds())
        if elapsed < QUOTA.refresh_s:
            continue
        rows.append(_quota(model, milli, _path(said.get(model), run, now), last, now, min(elapsed, 3600)))
    return services.keep_quotas(rows)


def _quota(
    model: str, capacity: int, path: Path, last: SpotQuota | None, now: datetime, elapsed_s: int
) -> dict[str, Any]:
    evicted, ended = _endings(model, now)
    wait = _oldest_wait(model, now)
    eta = next_eta(1.0 if last is None else last.eta, eviction_rate(evicted, ended), wait, QUOTA, elapsed_s=elapsed_s)
    found = spot_quota(path, capacity, eta.value, QUOTA)
    return {
        "at": now, "gpu_model": model, "level": QUOTA.level, "capacity_milli": capacity,
        "reserved_milli": found.reserved_milli, "quota_milli": found.quota_milli, "eta": eta.value,
        "moved_by": eta.moved_by, "evicted": evicted, "ended": ended, "oldest_wait_s": wait, "why": eta.why,
        "unknown": found.why[:200],
    }  # fmt: skip


def _path(row: Forecast | None, run: ForecastRun | None, now: datetime) -> Path:
    """From the hour that runs on."""
    empty = np.zeros(0)
    if row is None or run is None:
        return Path(empty, empty, empty[:, None], (QUOTA.level,), "no forecast of this hour was made yet")
    if row.why:
        return Path(empty, empty, empty[:, None], (QUOTA.level,), row.why)
    past = int((now - run.base_at) / HOUR)
    high = np.array(row.high_milli[past:], np.float64)
    mean, wide = np.array(row.mean_milli[past:]), np.array(row.deviation_milli[past:])
    return Path(mean, wide, high[:, None], (QUOTA.level,), "")


def _capacity() -> dict[str, int]:
    """Working GPUs by model, milli, over all sources as they were measured last."""
    found: dict[str, int] = {}
    for one in newest_measurements():
        for pool in one.pools:
            if pool["gpu_model"] and pool["gpus"] and pool["shapes"]:
                works = int(pool["gpus"]) * MILLI - int(pool["shapes"][0]["causes"]["unhealthy"])
                found[pool["gpu_model"]] = found.get(pool["gpu_model"], 0) + max(0, works)
    return found


def _endings(model: str, now: datetime) -> tuple[int, int]:
    """(runs that others ended, runs that ended) in the window; a tenant's own doing is no eviction."""
    since = now - timedelta(seconds=QUOTA.window_s)
    ended = Run.objects.filter(gpu_model=model, ended_at__gt=since, ended_at__lte=now)
    evicted = ended.filter(Q(reclaims__whole=True) & Q(reclaims__own=False)).distinct()
    return evicted.count(), ended.count()


def _oldest_wait(model: str, now: datetime) -> int | None:
    waits = Lease.objects.filter(state__in=(State.WAITING, State.REQUEUED)).order_by("since")
    row = next((one for one in waits if model in one.gpu_models), None)
    return None if row is None else max(0, int((now - row.since).total_seconds()))
