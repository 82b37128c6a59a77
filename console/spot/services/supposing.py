"""The demo's past of what spot work could hold: drawn from a seed, kept as simulated, and told as such."""

import math
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.inventory.models import Source
from console.inventory.selectors.measured import newest_measurements
from console.spot.models import SupplySample
from console.spot.selectors.calibration import SLOT, slot_of
from console.spot.services.calibration import supply_of

DAYS, SEED = 14, 11
NIGHT = 0.06  # of all GPUs: what sleeps at midnight and serves at noon, as the study measures it
KEEPS, SWING = 0.98, 0.006  # from one quarter hour to the next; of all GPUs
DAY_S = 86_400


def ensure_past(now: datetime | None = None) -> int:
    """Once; how many samples.  The drawn days end where the fleet stands today."""
    at = now or timezone.now()
    if SupplySample.objects.exists():
        return 0
    source_of = {one.name: one.pk for one in Source.objects.all()}
    rows = [
        row
        for one in newest_measurements()
        for pool in one.pools
        if pool["gpu_model"] and pool["gpus"] and pool["shapes"]
        for row in _drawn(source_of[one.source], pool, slot_of(at))
    ]
    return len(SupplySample.objects.bulk_create(rows, batch_size=500))


def _drawn(source_id: int, pool: dict[str, Any], end: datetime) -> Iterator[SupplySample]:
    """Backwards from now: the night's curve, and a walk that is drawn back to it."""
    chance = random.Random(f"{SEED} {pool['cluster']} {pool['gpu_model']}")  # a demo's weather
    gpus, level, off = int(pool["gpus"]), supply_of(pool), 0.0
    for step in range(1, int(timedelta(days=DAYS) / SLOT)):
        at = end - step * SLOT
        off = KEEPS * off + SWING * gpus * chance.gauss(0, 1)
        curve = NIGHT * gpus * (_night(at) - _night(end))
        yield SupplySample(
            source_id=source_id, cluster=pool["cluster"], gpu_model=pool["gpu_model"], at=at, gpus=gpus,
            supply_gpus=max(0, min(gpus, round(level + curve + off))), asleep_gpus=round(NIGHT * gpus * _night(at)),
            simulated=True,
        )  # fmt: skip


def _night(at: datetime) -> float:
    """1 at midnight, 0 at noon."""
    return (1 + math.cos(2 * math.pi * (at.timestamp() % DAY_S) / DAY_S)) / 2
