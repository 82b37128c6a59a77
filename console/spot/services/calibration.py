"""Keeping what estimates are made from and held to: supply by the quarter hour, and chances when their time is over."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from console.inventory.models import Source
from console.inventory.selectors.measured import newest_measurements
from console.live.services import publish
from console.spot.choices import HORIZONS_S, EstimateState
from console.spot.models import Estimate, ScoredChance, SupplySample
from console.spot.selectors.calibration import slot_of

MILLI = 1000
KEPT = timedelta(days=60)
FRESH = timedelta(minutes=5)  # an older reading says nothing of this quarter hour
SCORED_AT_ONCE = 500


def keep_past(now: datetime | None = None) -> int:
    """Samples of this quarter hour and scores of what is over; how many rows that made."""
    at = now or timezone.now()
    made = _sample(at) + _score(at)
    SupplySample.objects.filter(at__lt=at - KEPT).delete()
    return made


def _sample(now: datetime) -> int:
    """The first reading of a quarter hour is kept; later ones find the row there."""
    slot = slot_of(now)
    source_of = {one.name: one.pk for one in Source.objects.all()}
    rows = [
        SupplySample(
            source_id=source_of[one.source], cluster=pool["cluster"], gpu_model=pool["gpu_model"], at=slot,
            gpus=pool["gpus"], supply_gpus=supply_of(pool), asleep_gpus=_causes(pool)["standby"] // MILLI,
        )
        for one in newest_measurements()
        if now - one.observed_at <= FRESH
        for pool in one.pools
        if pool["gpu_model"] and pool["gpus"] and pool["shapes"]
    ]  # fmt: skip
    known = set(SupplySample.objects.filter(at=slot).values_list("source_id", "cluster", "gpu_model"))
    new = [row for row in rows if (row.source_id, row.cluster, row.gpu_model) not in known]
    SupplySample.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)


def supply_of(pool: dict[str, Any]) -> int:
    """GPUs that high-priority work does not use and that work."""
    causes = _causes(pool)
    return max(0, int(pool["gpus"]) * MILLI - causes["allocated_hp"] - causes["unhealthy"]) // MILLI


def _causes(pool: dict[str, Any]) -> dict[str, int]:
    """Those that are read here are the same for every shape."""
    return pool["shapes"][0]["causes"]  # type: ignore[no-any-return]


def _score(now: datetime) -> int:
    rows = Estimate.objects.filter(
        state=EstimateState.DONE, lease__isnull=False, lease__asked_at__isnull=False,
        lease__asked_at__lte=now - timedelta(seconds=min(HORIZONS_S)),
    )  # fmt: skip
    open_ones = rows.annotate(scored=Count("scores")).filter(scored__lt=len(HORIZONS_S)).select_related("lease")
    made = 0
    for row in open_ones.order_by("pk")[:SCORED_AT_ONCE]:
        known = set(ScoredChance.objects.filter(estimate_id=row.pk).values_list("horizon_s", flat=True))
        found = [_scored(row, one) for one in HORIZONS_S if one not in known and _over(row, one, now)]
        made += len(found)
        with transaction.atomic():
            ScoredChance.objects.bulk_create(found, ignore_conflicts=True)
            if found:
                publish("spot", "chance.scored")
    return made


def _over(row: Estimate, horizon_s: int, now: datetime) -> bool:
    assert row.lease is not None and row.lease.asked_at is not None
    return row.lease.asked_at + timedelta(seconds=horizon_s) <= now


def _scored(row: Estimate, horizon_s: int) -> ScoredChance:
    """Who withdrew before the time was over does not count; nor does a chance that was told after the start."""
    lease, answer = row.lease, row.answer or {}
    assert lease is not None and lease.asked_at is not None
    due, first = lease.asked_at + timedelta(seconds=horizon_s), lease.first_started_at
    started: bool | None = first is not None and first <= due
    left = first is None and lease.ended_at is not None and lease.ended_at < due
    late = first is not None and row.done_at is not None and row.done_at > first
    if left or late:
        started = None
    return ScoredChance(
        estimate=row, horizon_s=horizon_s, asked_at=lease.asked_at, started=started,
        said=answer.get("chance", {}).get(str(horizon_s)), raw=answer.get("raw", {}).get(str(horizon_s)),
    )  # fmt: skip
