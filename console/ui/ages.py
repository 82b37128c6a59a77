"""When a reading counts as live, delayed or stale. live.js applies the same limits while a page is open."""

from dataclasses import dataclass
from datetime import UTC, datetime

from console.ui.figures import age_words

DELAYED_AFTER_S = 5.0
STALE_AFTER_S = 30.0
SLOW_DELAYED_PERIODS = 2
SLOW_STALE_PERIODS = 6


@dataclass(frozen=True, slots=True)
class Age:
    """What an age badge shows. `at_ms` is the instant as Unix milliseconds for the ticking in the browser."""

    state: str
    words: str
    at: datetime
    at_ms: int
    delayed_after_s: float
    stale_after_s: float


def limits(period_s: float | None) -> tuple[float, float]:
    """Seconds until delayed and until stale; a source that reports slowly is judged by its own period."""
    period = period_s or 0.0
    return max(DELAYED_AFTER_S, SLOW_DELAYED_PERIODS * period), max(STALE_AFTER_S, SLOW_STALE_PERIODS * period)


def state_of(seconds: float, delayed_after_s: float, stale_after_s: float) -> str:
    if seconds >= stale_after_s:
        return "stale"
    return "delayed" if seconds >= delayed_after_s else "live"


def age_of(at: datetime, now: datetime, period_s: float | None = None) -> Age:
    delayed, stale = limits(period_s)
    return Age(
        state=state_of((now - at).total_seconds(), delayed, stale),
        words=age_words(at, now),
        at=at.astimezone(UTC),
        at_ms=int(at.timestamp() * 1000),
        delayed_after_s=delayed,
        stale_after_s=stale,
    )
