"""Keeping hourly peaks of HP GPUs as sources are read, and what was forecast from them."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from console.live.services import publish
from console.spot.models import BacktestRun, Forecast, ForecastRun, HourPeak, HourWatched, SpotQuota
from console.tenancy.selectors.use import feeds

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
KEPT = 60 * DAY
QUOTAS_KEPT = 90 * DAY
STALE = 3.0  # periods of a source after which what it said last is no reading of this minute
SLACK_S = 60
ALL_MINUTES = (1 << 60) - 1
# The demo's drawn past
DAYS, SEED, WAVE, WALK = 43, 11, 0.12, 0.015

type Place = tuple[str, str]  # tenant, GPU model


def watch_demand(now: datetime | None = None) -> bool:
    """Takes down what HP holds at this moment; False where a source is not read, for then nobody knows.

    The peak of an hour is the most that was seen at any of these looks; looks are closer than the minute of the
    published rule.
    """
    at = now or timezone.now()
    every = feeds()
    if not every or any((at - feed.at).total_seconds() > STALE * feed.period_s + SLACK_S for feed in every):
        return False
    held: defaultdict[Place, int] = defaultdict(int)
    for feed in every:
        for _cluster, tenant, model, hp, *_ in feed.rows:
            if model and hp:
                held[tenant, model] += hp
    began = at.replace(minute=0, second=0, microsecond=0)
    with transaction.atomic():
        hour, new = HourWatched.objects.select_for_update().get_or_create(began_at=began)
        hour.minutes |= 1 << at.minute
        hour.simulated = False
        hour.save()
        _raise_peaks(began, held)
        if new:
            _forget(at)
    return True


def _raise_peaks(began: datetime, held: Mapping[Place, int]) -> None:
    rows = {(row.tenant, row.gpu_model): row for row in HourPeak.objects.filter(began_at=began)}
    for place, row in rows.items():
        row.closing_milli = held.get(place, 0)
        row.peak_milli = max(row.peak_milli, row.closing_milli)
    HourPeak.objects.bulk_update(rows.values(), ["peak_milli", "closing_milli"])
    HourPeak.objects.bulk_create(
        HourPeak(began_at=began, tenant=tenant, gpu_model=model, peak_milli=milli, closing_milli=milli)
        for (tenant, model), milli in held.items()
        if (tenant, model) not in rows
    )


def _forget(now: datetime) -> None:
    """Once an hour."""
    HourPeak.objects.filter(began_at__lt=now - KEPT).delete()
    HourWatched.objects.filter(began_at__lt=now - KEPT).delete()
    ForecastRun.objects.filter(base_at__lt=now - 8 * DAY).delete()
    BacktestRun.objects.filter(made_at__lt=now - KEPT).delete()
    SpotQuota.objects.filter(at__lt=now - QUOTAS_KEPT).delete()


@transaction.atomic
def keep_forecasts(base_at: datetime, history_h: int, simulated_h: int, rows: Sequence[Mapping[str, Any]]) -> bool:
    """False, and nothing is kept, where another worker was first."""
    run, new = ForecastRun.objects.get_or_create(
        base_at=base_at,
        defaults={"made_at": timezone.now(), "history_h": history_h, "simulated_h": simulated_h},
    )
    if new:
        Forecast.objects.bulk_create(Forecast(run=run, **row) for row in rows)
        transaction.on_commit(lambda: publish("spot", "forecast.made"))
    return new


@transaction.atomic
def keep_backtest(until_at: datetime, document: Mapping[str, Any], why: str = "") -> None:
    BacktestRun.objects.create(made_at=timezone.now(), until_at=until_at, document=document, why=why[:200])
    transaction.on_commit(lambda: publish("spot", "forecast.judged"))


@transaction.atomic
def keep_quotas(rows: Sequence[Mapping[str, Any]]) -> int:
    """New quotas where something is another than it was; how many."""
    newest = newest_quotas()
    new = [SpotQuota(**row) for row in rows if _differs(newest.get(row["gpu_model"]), row)]
    SpotQuota.objects.bulk_create(new, ignore_conflicts=True)
    if new:
        transaction.on_commit(lambda: publish("spot", "quota.changed"))
    return len(new)


def newest_quotas() -> dict[str, SpotQuota]:
    """By GPU model."""
    last = SpotQuota.objects.values("gpu_model").annotate(last=Max("at"))
    found = (SpotQuota.objects.get(gpu_model=one["gpu_model"], at=one["last"]) for one in last)
    return {row.gpu_model: row for row in found}


def _differs(before: SpotQuota | None, row: Mapping[str, Any]) -> bool:
    return before is None or any(getattr(before, name) != value for name, value in row.items() if name != "at")


def ensure_peaks(now: datetime | None = None) -> int:
    """The demo's past: drawn from a seed around what HP holds now, kept as simulated and told as such; how many hours.

    Once, and only where nothing was ever seen before.
    """
    at = now or timezone.now()
    began = at.replace(minute=0, second=0, microsecond=0)
    held: defaultdict[Place, int] = defaultdict(int)
    for feed in feeds():
        for _cluster, tenant, model, hp, *_ in feed.rows:
            if model and hp:
                held[tenant, model] += hp
    if not held or HourWatched.objects.filter(began_at__lt=began).exists():
        return 0
    hours = [began - back * HOUR for back in range(DAYS * 24, 0, -1)]
    with transaction.atomic():
        HourWatched.objects.bulk_create(
            (HourWatched(began_at=hour, minutes=ALL_MINUTES, simulated=True) for hour in hours), ignore_conflicts=True
        )
        HourPeak.objects.bulk_create(
            (row for place, milli in sorted(held.items()) for row in _drawn(place, milli, hours)), batch_size=2000
        )
    return len(hours)


def _drawn(place: Place, now_milli: int, hours: Sequence[datetime]) -> Iterator[HourPeak]:
    """Backwards from what is held now: a daily wave and a walk that is drawn back to it, in whole GPUs."""
    chance, off, after = random.Random(f"{SEED} {place}"), 0.0, now_milli
    rows = []
    for hour in reversed(hours):
        off = 0.97 * off + WALK * chance.gauss(0, 1) + (0.08 if chance.random() < 0.01 else 0)
        level = max(0.0, 1 + off + WAVE * (_noon(hour) - _noon(hours[-1])))
        closing = round(now_milli * level / 1000) * 1000
        rows.append((hour, max(closing, min(after, closing + 4000)), closing))
        after = closing
    for hour, peak, closing in reversed(rows):
        yield HourPeak(began_at=hour, tenant=place[0], gpu_model=place[1], peak_milli=peak, closing_milli=closing)


def _noon(at: datetime) -> float:
    return math.sin(2 * math.pi * (at.hour - 9) / 24)
