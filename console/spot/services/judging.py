"""Whether the chances that were told held.  It reads alone, and is here since only services may ask the core."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.spot.choices import HORIZONS_S
from console.spot.selectors.calibration import DAYS, told_and_came
from console.spot.selectors.telling import HORIZON_WORDS
from scheduler.spot.calibration import MEANINGS, Reliability, Told, reliability

USUAL_S = 3600


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
        low, high, share = (round(100 * (part or 0)) for part in (best.low, best.high, best.share))
        return f"Asks told {low}–{high}\u00a0%: {share}\u00a0% started."


def calibration_card(viewer: Any, horizon_s: int = USUAL_S, now: datetime | None = None) -> Card:
    """Raises ``Denied`` for who may see no leases.  A horizon that is not told of is taken for the usual one."""
    chosen = horizon_s if horizon_s in HORIZONS_S else USUAL_S
    rows = told_and_came(viewer, chosen, now)
    counted = [Told(said, started) for said, started in rows if started is not None]
    words = tuple((one, HORIZON_WORDS[one]) for one in HORIZONS_S)
    return Card(chosen, reliability(counted), len(rows) - len(counted), DAYS, words, MEANINGS)
