"""Between which cents a price may lie, and which hour is meant: plain arithmetic, no database."""

from collections.abc import Sequence
from datetime import datetime, timedelta

HOUR = timedelta(hours=1)


def full_hour(at: datetime) -> datetime:
    """The hour of UTC that runs at an instant."""
    return at.replace(minute=0, second=0, microsecond=0)


def next_hour(at: datetime) -> datetime:
    """The first full hour that is not before an instant."""
    hour = full_hour(at)
    return hour if hour == at else hour + HOUR


def step(cents: int, percent: int) -> int:
    """By how many cents a price may move at once: its share, rounded down, and always one."""
    return max(1, cents * percent // 100)


def allowed(before: Sequence[int], floor: int | None, ceiling: int | None, percent: int) -> tuple[int, int] | None:
    """(lowest, highest) cents.  ``before``: prices in force within one period of review, the newest last.

    None where there can be no price: floor or ceiling is not known.  Both are stronger than the largest change.
    """
    if floor is None or ceiling is None or floor > ceiling:
        return None
    if not before:
        return floor, ceiling
    low = max(one - step(one, percent) for one in before)
    high = min(one + step(one, percent) for one in before)
    if low > high:  # it moved further than it may, under other bounds: it stays
        low = high = before[-1]
    return min(max(low, floor), ceiling), min(max(high, floor), ceiling)
