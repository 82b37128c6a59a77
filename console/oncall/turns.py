"""Who is on call at an instant: a pure answer from a rota, the overrides of it, and who may not be called.

Handovers follow the wall clock of the rota's zone by the rules of ``policies.occurrences``: one that falls into the
hour that a change to summer time leaves out comes right after it, one in the hour that comes twice comes once.  Whose
turn it is follows from the day of the handover alone, so that no count of past handovers has to be kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from console.policies.occurrences import starts


@dataclass(frozen=True, slots=True)
class Person:
    """``away``: why this person is never called, such as "is not active"; "" of who can be."""

    uid: int
    name: str
    away: str = ""


@dataclass(frozen=True, slots=True)
class Cover:
    """``who`` takes over from ``begins_at`` to before ``ends_at``; of several at once the one with the highest ``uid``
    counts, which was made last."""

    uid: int
    who: Person
    begins_at: datetime
    ends_at: datetime

    def holds(self, at: datetime) -> bool:
        return self.begins_at <= at < self.ends_at


@dataclass(frozen=True, slots=True)
class Rotation:
    """``people`` in their order; ``people[0]`` begins at the handover of the day ``anchor``."""

    people: tuple[Person, ...]
    at: time
    zone: str
    days: int  # between handovers: 1 or 7
    anchor: date
    covers: tuple[Cover, ...] = ()

    @property
    def cron(self) -> str:
        weekday = "*" if self.days == 1 else str(self.anchor.isoweekday() % 7)
        return f"{self.at.minute} {self.at.hour} * * {weekday}"


@dataclass(frozen=True, slots=True)
class Duty:
    """``line``: whom to call, in this order; its first is on call, and it is empty where nobody can be called.

    ``skipped`` names who would come earlier and why they do not.  Until ``until`` nothing of this changes by itself.
    """

    line: tuple[Person, ...]
    skipped: tuple[tuple[Person, str], ...]
    until: datetime
    cover: Cover | None = None

    @property
    def first(self) -> Person | None:
        return self.line[0] if self.line else None


@dataclass(frozen=True, slots=True)
class Shift:
    """One person on call, from the one instant to before the other; ``who`` None: nobody can be called."""

    begins_at: datetime
    ends_at: datetime
    who: Person | None
    cover: Cover | None
    skipped: tuple[tuple[Person, str], ...]


def duty(rotation: Rotation, at: datetime, never: Mapping[int, str] | None = None) -> Duty:
    """Who is on call then.  ``never``: people who must not be called this time -> why."""
    turn, ends_at = _turn(rotation, at)
    people = rotation.people
    order = [*people[turn:], *people[:turn]]
    why = {**{one.uid: one.away for one in people if one.away}, **(never or {})}
    holding = sorted((one for one in rotation.covers if one.holds(at)), key=lambda one: -one.uid)
    skipped = []
    cover = None
    for one in holding:
        reason = one.who.away or why.get(one.who.uid, "")
        if not reason:
            cover = one
            break
        skipped.append((one.who, reason))
    if cover is not None:
        # Whoever's turn it is was taken over from, most likely because he is not to be had: he comes last.
        order = [cover.who, *(one for one in [*order[1:], *order[:1]] if one.uid != cover.who.uid)]
    known = {one.uid for one, _ in skipped}
    skipped += [(one, why[one.uid]) for one in order if one.uid in why and one.uid not in known]
    edges = [one.begins_at for one in rotation.covers] + [one.ends_at for one in rotation.covers]
    until = min([ends_at, *(edge for edge in edges if edge > at)])
    return Duty(tuple(one for one in order if one.uid not in why), tuple(skipped), until, cover)


def shifts(rotation: Rotation, since: datetime, until: datetime) -> list[Shift]:
    """Every turn between the two instants, one after the other without a gap."""
    found: list[Shift] = []
    at = since
    while at < until:
        now = duty(rotation, at)
        ends_at = min(now.until, until)
        last = found[-1] if found else None
        if last is not None and last.who == now.first and last.cover == now.cover:
            found[-1] = Shift(last.begins_at, ends_at, last.who, last.cover, last.skipped)
        else:
            found.append(Shift(at, ends_at, now.first, now.cover, now.skipped))
        at = ends_at
    return found


def anchored(rotation: Rotation, at: datetime, first: int) -> date:
    """The anchor with which the person of that uid (or the first of the list) is the one whose turn it is then."""
    day, _ = _day(rotation, at)
    place = next((index for index, one in enumerate(rotation.people) if one.uid == first), 0)
    return day - timedelta(days=place * rotation.days)


def _turn(rotation: Rotation, at: datetime) -> tuple[int, datetime]:
    """(place in the list of whose turn it is, when the turn ends)."""
    day, ends_at = _day(rotation, at)
    passed = (day - rotation.anchor).days // rotation.days
    return passed % max(1, len(rotation.people)), ends_at


def _day(rotation: Rotation, at: datetime) -> tuple[date, datetime]:
    """(the day, on the clock of the zone, of the last handover; the instant of the next one)."""
    # Twice the period and more: a zone that leaves out a whole day leaves out its handover.
    ahead = starts(rotation.cron, rotation.zone, at - timedelta(days=2 * rotation.days + 2))
    last = next(ahead)
    following = next(ahead)
    while following <= at:
        last, following = following, next(ahead)
    local = last.astimezone(ZoneInfo(rotation.zone))
    # A handover shortly before midnight that was left out by a clock comes on the next day and belongs to this one.
    return (local.date() if local.time() >= rotation.at else local.date() - timedelta(days=1)), following


def quiet_until(hours: tuple[time, time] | None, zone: str, at: datetime) -> datetime | None:
    """When the quiet hours end that are on at that instant; None where none are.  They may span midnight."""
    if hours is None:
        return None
    begins, ends = hours
    local = at.astimezone(ZoneInfo(zone)).time().replace(second=0, microsecond=0)
    on = begins <= local < ends if begins <= ends else local >= begins or local < ends
    return next(starts(f"{ends.minute} {ends.hour} * * *", zone, at)) if on else None


def names(people: Sequence[Person]) -> str:
    """Ada, Ben and Cem; at most six by name."""
    said = [one.name for one in people[:6]]
    if len(people) > 6:
        return f"{', '.join(said)} and {len(people) - 6} more"
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}" if said else "nobody"
