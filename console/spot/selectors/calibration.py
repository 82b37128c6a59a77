"""Whether the chances that were told held, summed over all tenants."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.spot.choices import HORIZONS_S
from console.spot.models import ScoredChance
from console.spot.selectors.viewing import require_seeing
from scheduler.spot.calibration import MEANINGS, Reliability, Told, reliability

DAYS = 90
SLOT = timedelta(minutes=15)
HORIZON_WORDS = {900: "15 min", 3600: "1 h", 21_600: "6 h"}


@dataclass(frozen=True, slots=True)
class Card:
    """The reliability of one horizon.  ``left_out``: asks that were withdrawn before their time was over."""

    horizon_s: int
    found: Reliability
    left_out: int
    days: int
    horizons: tuple[tuple[int, str], ...]
    meanings: Mapping[str, str]

    @property
    def telling(self) -> str:
        """Of the fullest bin that is neither sure nor hopeless, in words; "" where nobody was told such a chance."""
        inner = [one for one in self.found.bins[1:-1] if one.share is not None]
        if not inner:
            return ""
        best = max(inner, key=lambda one: (one.asks, one.low))
        return (
            f"Asks told {round(100 * best.low)}–{round(100 * best.high)} %: {round(100 * (best.share or 0))} % started."
        )


def card(viewer: Any, horizon_s: int = 3600, now: datetime | None = None) -> Card:
    """Raises ``Denied`` for who may see no leases.  Sums over all tenants alone: nobody's asks can be told apart."""
    require_seeing(viewer)
    chosen = horizon_s if horizon_s in HORIZONS_S else 3600
    since = (now or timezone.now()) - timedelta(days=DAYS)
    rows = ScoredChance.objects.filter(horizon_s=chosen, asked_at__gte=since, said__isnull=False)
    told = [
        Told(said, started)
        for said, started in rows.values_list("said", "started")
        if said is not None and started is not None
    ]
    left_out = rows.filter(started=None).count()
    words = tuple((one, HORIZON_WORDS[one]) for one in HORIZONS_S)
    return Card(chosen, reliability(told), left_out, DAYS, words, MEANINGS)


def slot_of(at: datetime) -> datetime:
    """The quarter hour in which it lies."""
    return datetime.fromtimestamp(at.timestamp() // SLOT.total_seconds() * SLOT.total_seconds(), at.tzinfo)
