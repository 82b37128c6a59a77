"""When a window is on: once, or on days of the week from one time to another, in UTC.

A window that ends at or before the time at which it begins ends on the next day.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from console.standby.choices import DAYS

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """From ``begins_at`` to before ``ends_at``, both in UTC."""

    begins_at: datetime
    ends_at: datetime

    def holds(self, at: datetime) -> bool:
        return self.begins_at <= at < self.ends_at

    @property
    def hours(self) -> float:
        return (self.ends_at - self.begins_at).total_seconds() / 3600


@dataclass(frozen=True, slots=True)
class Weekly:
    """``days``: 0 is Monday.  Minutes of the day; ``last_day`` is the last on which it begins, None: it goes on."""

    days: tuple[int, ...]
    from_minute: int
    until_minute: int
    first_day: date
    last_day: date | None

    @property
    def minutes(self) -> int:
        return (self.until_minute - self.from_minute - 1) % (24 * 60) + 1

    def spans(self, low: datetime, high: datetime) -> Iterator[Span]:
        """In order, those that have a part between ``low`` and ``high``."""
        day = max(low.astimezone(UTC).date() - DAY, self.first_day)
        last = high.astimezone(UTC).date()
        while day <= (last if self.last_day is None else min(last, self.last_day)):
            if day.weekday() in self.days:
                begins_at = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=self.from_minute)
                span = Span(begins_at, begins_at + timedelta(minutes=self.minutes))
                if span.ends_at > low and span.begins_at < high:
                    yield span
            day += DAY

    @property
    def words(self) -> str:
        when = f"{days_in_words(self.days)} {clock(self.from_minute)}–{clock(self.until_minute)}"
        return when if self.last_day is None else f"{when} until {self.last_day:%Y-%m-%d}"


def clock(minute: int) -> str:
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def days_in_words(days: Collection[int]) -> str:
    if len(days) == len(DAYS):
        return "daily"
    if sorted(days) == list(range(5)):
        return "Mon–Fri"
    return ", ".join(DAYS[day] for day in sorted(days))
