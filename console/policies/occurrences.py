"""When something recurring happens: a cron line on the clock of a place, for so many minutes each time.

Starts follow the wall clock of the zone, as Debian's cron does: one that falls into the hour that a change to summer
time leaves out comes right after it, one in the hour that comes twice comes once.  Lengths are elapsed time.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

FIELDS = 5
OFTENEST = timedelta(hours=24)  # for 24 starts: more would be a rule for every moment, and cost as much to draw


@dataclass(frozen=True, slots=True)
class Span:
    """From ``begins_at`` to before ``ends_at``, both in UTC."""

    begins_at: datetime
    ends_at: datetime

    def holds(self, at: datetime) -> bool:
        return self.begins_at <= at < self.ends_at


def wrong_zone(zone: str) -> str:
    """What speaks against a name of a time zone; "" if nothing does."""
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f"no time zone {zone!r}: use a name such as UTC or Europe/Berlin"
    return ""


def wrong_cron(cron: str, zone: str, now: datetime) -> str:
    """What speaks against a cron line; "" if nothing does."""
    if len(cron.split()) != FIELDS:
        return "five fields: minute, hour, day of the month, month, day of the week"
    try:
        found = list(islice(starts(cron, zone, now), 25))
    except CronSimError as error:
        return f"not a cron line: {str(error).lower()}"
    if not found:
        return "it never starts"
    if len(found) == 25 and found[-1] - found[0] < OFTENEST:
        return "it starts more than 24 times a day"
    return ""


def starts(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Every start after that instant, in UTC."""
    for at in CronSim(cron, after.astimezone(ZoneInfo(zone))):
        yield at.astimezone(UTC)


def spans(
    cron: str, zone: str, minutes: int, skip_days: Collection[str], since: datetime, until: datetime
) -> list[Span]:
    """Every span that has a part between ``since`` and ``until``.

    One whose start lies on a day of ``skip_days`` (ISO dates, on the clock of the zone) does not take place.
    """
    length = timedelta(minutes=minutes)
    place = ZoneInfo(zone)
    found = []
    for at in starts(cron, zone, since - length - timedelta(minutes=1)):
        if at >= until:
            break
        if at + length > since and at.astimezone(place).date().isoformat() not in skip_days:
            found.append(Span(at, at + length))
    return found
