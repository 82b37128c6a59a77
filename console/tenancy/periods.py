"""Calendar periods of UTC, as an address says them: a month, a quarter, so many days back, or from ... to ..."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from console.tenancy.entries import ROLLING, is_period

DAY = timedelta(days=1)
WORDS = {"month": "this month", "last-month": "last month", "quarter": "this quarter"}
CHOICES = (*WORDS, "rolling-7", "rolling-30")
LONGEST_DAYS = 366


class BadPeriodError(ValueError):
    """The words make no period; ``field`` says which of them."""

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Period:
    """From ``start`` (included) until ``end`` (not included); ``rolling``: it moves on with the clock."""

    name: str
    start: datetime
    end: datetime
    rolling: bool = False

    @property
    def words(self) -> str:
        if self.name in WORDS:
            return WORDS[self.name]
        return (
            f"last {self.name.removeprefix(ROLLING)} days" if self.rolling else f"{self.start:%Y-%m-%d} to {self.last}"
        )

    @property
    def last(self) -> date:
        """The last day that is in it."""
        return (self.end - timedelta(microseconds=1)).date()

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


def period_of(name: str, now: datetime) -> Period:
    """A named period as of ``now``; rolling ones are whole days of UTC, today included."""
    now = now.astimezone(UTC)
    first = datetime(now.year, now.month, 1, tzinfo=UTC)
    if name == "month":
        return Period(name, first, _months_on(first, 1))
    if name == "last-month":
        return Period(name, _months_on(first, -1), first)
    if name == "quarter":
        start = datetime(now.year, 3 * ((now.month - 1) // 3) + 1, 1, tzinfo=UTC)
        return Period(name, start, _months_on(start, 3))
    if is_period(name):
        end = now.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
        return Period(name, end - int(name.removeprefix(ROLLING)) * DAY, end, rolling=True)
    raise BadPeriodError("period", f"there are {', '.join(CHOICES)}, or from and to")


def asked_period(name: str, since: str, until: str, now: datetime) -> Period:
    """The period of an address; days ``since`` and ``until`` (both included) win over a name."""
    if not since and not until:
        return period_of(name or "month", now)
    days = []
    for field, said in (("from", since), ("to", until)):
        try:
            days.append(date.fromisoformat(said))
        except ValueError as error:
            raise BadPeriodError(field, "must be a day such as 2026-11-01; from and to go together") from error
    if days[1] < days[0]:
        raise BadPeriodError("to", "must not be before from")
    if (days[1] - days[0]).days >= LONGEST_DAYS or days[1] == date.max:
        raise BadPeriodError("to", f"a period has at most {LONGEST_DAYS} days")
    start, end = (datetime.combine(day, time(), UTC) for day in (days[0], days[1] + DAY))
    return Period("days", start, end)


def _months_on(first: datetime, months: int) -> datetime:
    index = first.year * 12 + first.month - 1 + months
    return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)
