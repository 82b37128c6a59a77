"""May plans run now, until when, and when again?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from console.policies.choices import Place, Scope, WindowKind
from console.policies.models import Window
from console.policies.occurrences import Span, spans
from console.tenancy.services import require

AHEAD = timedelta(days=35)
DRAWN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the drawing: from ``left`` on, ``width`` wide, both in per cent of it."""

    left: float
    width: float
    words: str


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether plans may run here now.  ``changes_at`` is when that ends; None: not within the next five weeks."""

    open: bool
    ruled: bool  # a window applies at all
    why: str  # the window that closes it, in words
    changes_at: datetime | None
    parts: tuple[Part, ...] = ()  # when it is open in the days that are drawn

    @property
    def words(self) -> str:
        if not self.ruled:
            return "always open"
        until = "" if self.changes_at is None else f"{self.changes_at:%a %Y-%m-%d %H:%M} UTC"
        if self.open:
            return f"open until {until}" if until else "open"
        return f"closed until {until}" if until else "closed for the next five weeks"


ALWAYS = Gate(open=True, ruled=False, why="", changes_at=None)


def gate_for(
    cluster: str, pools: Iterable[str], tenants: Iterable[str], now: datetime | None = None, *, draw: bool = False
) -> Gate:
    """Of something that touches these pools and tenants of one cluster.  One query.

    Every place that has maintenance windows must have one that is open, and no blackout may be on.
    """
    rows = applying(cluster, set(pools), set(tenants) - {""})
    return _gate(rows, now or timezone.now(), draw=draw) if rows else ALWAYS


def applying(cluster: str, pools: set[str], tenants: set[str]) -> list[Window]:
    wanted = Q(scope=Scope.FLEET) | Q(scope=Scope.CLUSTER, cluster=cluster) | Q(scope=Scope.POOL, cluster=cluster)
    rows = in_force().filter(wanted | Q(scope=Scope.TENANT))
    return [
        row
        for row in rows
        if (row.scope != Scope.POOL or row.gpu_model in pools) and (row.scope != Scope.TENANT or row.tenant in tenants)
    ]


def in_force() -> QuerySet[Window]:
    return Window.objects.filter(ended_at__isnull=True).select_related("owner")


@dataclass(frozen=True, slots=True)
class _Times:
    """The spans of the coming weeks: of each place with maintenance windows, and of each blackout."""

    inside: dict[Place, list[tuple[Window, Span]]]
    never: list[tuple[Window, Span]]

    def closed_by(self, at: datetime) -> str:
        """What closes the gate at that instant, in words; "" if nothing does."""
        dark = next((row for row, span in self.never if span.holds(at)), None)
        if dark is not None:
            return f"blackout of {dark.place.words}, by {dark.owner.get_username()}: {dark.reason}"
        for place, found in self.inside.items():
            if not any(span.holds(at) for _row, span in found):
                return f"outside the maintenance windows of {place.words}"
        return ""

    def instants(self) -> list[datetime]:
        """When the answer may change, in order."""
        every = [span for found in self.inside.values() for _row, span in found]
        every += [span for _row, span in self.never]
        return sorted({at for span in every for at in (span.begins_at, span.ends_at)})


def _gate(rows: Sequence[Window], now: datetime, *, draw: bool) -> Gate:
    times = _times(rows, now)
    why = times.closed_by(now)
    later = (at for at in times.instants() if now < at < now + AHEAD and bool(times.closed_by(at)) != bool(why))
    parts = _parts(times, now) if draw else ()
    return Gate(open=not why, ruled=True, why=why, changes_at=next(later, None), parts=parts)


def _times(rows: Sequence[Window], now: datetime) -> _Times:
    inside: dict[Place, list[tuple[Window, Span]]] = {}
    never: list[tuple[Window, Span]] = []
    for row in rows:
        found = [(row, one) for one in spans(row.cron, row.zone, row.minutes, row.skip_days, now, now + AHEAD)]
        if row.kind == WindowKind.BLACKOUT:
            never += found
        else:
            inside.setdefault(row.place, []).extend(found)
    return _Times(inside, never)


def _parts(times: _Times, now: datetime) -> tuple[Part, ...]:
    """The open stretches of the days that are drawn."""
    end = now + DRAWN
    edges = [now, *(at for at in times.instants() if now < at < end), end]
    whole = DRAWN.total_seconds()
    found: list[tuple[datetime, datetime]] = []
    for begins, ends in pairwise(edges):
        if times.closed_by(begins):
            continue
        if found and found[-1][1] == begins:
            found[-1] = (found[-1][0], ends)
        else:
            found.append((begins, ends))
    return tuple(
        Part(
            round(100 * (begins - now).total_seconds() / whole, 3),
            round(100 * (ends - begins).total_seconds() / whole, 3),
            f"open {begins:%a %H:%M} to {ends:%a %H:%M} UTC",
        )
        for begins, ends in found
    )


# --- what people read ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class WindowRow:
    """A window with its next starts."""

    row: Window
    on: bool
    next_starts: tuple[datetime, ...]


def windows(viewer: Any) -> QuerySet[Window]:
    """All there ever were, newest first."""
    require(viewer, "policies.view_policy")
    return Window.objects.select_related("owner", "ended_by")


def window_rows(viewer: Any, now: datetime | None = None) -> list[WindowRow]:
    """Those in force."""
    require(viewer, "policies.view_policy")
    return [row_of(row, now or timezone.now()) for row in in_force()]


def row_of(row: Window, now: datetime) -> WindowRow:
    found = spans(row.cron, row.zone, row.minutes, row.skip_days, now, now + AHEAD)
    later = tuple(span.begins_at for span in found if span.begins_at > now)
    return WindowRow(row, any(span.holds(now) for span in found), later[:3])
