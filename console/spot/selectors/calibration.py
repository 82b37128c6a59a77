"""What was told beside what came, summed over all tenants: nobody's asks can be told apart."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.spot.models import ScoredChance
from console.spot.selectors.viewing import require_seeing

DAYS = 90
SLOT = timedelta(minutes=15)


def told_and_came(viewer: Any, horizon_s: int, now: datetime | None = None) -> list[tuple[float, bool | None]]:
    """Of the asks of ``DAYS`` days: the chance that was told, and whether it started in time; None: it does not count.

    Raises ``Denied`` for who may see no leases.
    """
    require_seeing(viewer)
    since = (now or timezone.now()) - timedelta(days=DAYS)
    rows = ScoredChance.objects.filter(horizon_s=horizon_s, asked_at__gte=since, said__isnull=False)
    return [(said, started) for said, started in rows.values_list("said", "started") if said is not None]


def slot_of(at: datetime) -> datetime:
    """The quarter hour in which it lies."""
    length = SLOT.total_seconds()
    return datetime.fromtimestamp(at.timestamp() // length * length, at.tzinfo)
