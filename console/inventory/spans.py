"""Two instants as an address says them: ``from`` and ``to``, both in UTC; ``to`` may be ``now``."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from console.rest.errors import FieldError

NOW = "now"
STAMP = "%Y-%m-%dT%H:%M:%SZ"
DEFAULT = timedelta(hours=1)
MORNING = 6
KEPT = ("source", "cluster", "model")  # filters that stay in the address beside the instants
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Span:
    """``end`` None is now: the page moves on with it."""

    start: datetime
    end: datetime | None

    @property
    def query(self) -> dict[str, str]:
        return {"from": stamp(self.start), "to": NOW if self.end is None else stamp(self.end)}


@dataclass(frozen=True, slots=True)
class Preset:
    """A span that ends now, as a link; ``on`` where the page shows it."""

    label: str
    query: str
    on: bool

    @property
    def href(self) -> str:
        return f"?{self.query}"


def stamp(at: datetime) -> str:
    """Whole seconds, rounded up: a reading that was begun within this second is not lost."""
    up = timedelta(seconds=1) if at.microsecond else timedelta(0)
    return (at.astimezone(UTC).replace(microsecond=0) + up).strftime(STAMP)


def read_span(query: Mapping[str, str], now: datetime) -> Span | None:
    """None where the address names no beginning.  Raises ``FieldError``."""
    if not query.get("from"):
        return None
    start, until = _instant("from", query["from"]), query.get("to", "") or NOW
    end = None if until == NOW else _instant("to", until)
    if start >= (end or now):
        raise FieldError("from", "From must lie before to, and not in the future.")
    return Span(start, end)


def default_span(now: datetime, oldest: datetime | None) -> Span:
    """The last hour, or since the oldest reading that is kept."""
    start = now - DEFAULT
    return Span(start if oldest is None or oldest <= start else min(oldest, now - timedelta(seconds=1)), None)


def presets(now: datetime, span: Span, kept: Mapping[str, str]) -> tuple[Preset, ...]:
    """``kept`` are the filters that stay."""
    morning = now.replace(hour=MORNING, minute=0, second=0, microsecond=0)
    morning = morning if morning < now else morning - timedelta(days=1)
    starts = (
        ("15 min", now - timedelta(minutes=15)),
        ("1 h", now - timedelta(hours=1)),
        (f"since {MORNING:02}:00", morning),
        ("24 h", now - timedelta(hours=24)),
        ("7 d", now - timedelta(days=7)),
    )
    return tuple(
        Preset(label, urlencode({**Span(start, None).query, **kept}), _shows(span, start, now))
        for label, start in starts
    )


def kept_filters(query: Mapping[str, str]) -> dict[str, str]:
    return {name: query[name][:LONGEST] for name in KEPT if query.get(name)}


def moment(at: datetime, now: datetime) -> str:
    """06:00 today; with its date on another day."""
    at = at.astimezone(UTC)
    return f"{at:%H:%M}" if at.date() == now.astimezone(UTC).date() else f"{at:%Y-%m-%d %H:%M}"


def _shows(span: Span, start: datetime, now: datetime) -> bool:
    """A page that moves on drifts off its preset; within a twentieth of it, it still counts as that."""
    near = max(timedelta(seconds=90), (now - start) / 20)
    return span.end is None and abs(span.start - start) <= near


def _instant(field: str, text: str) -> datetime:
    try:
        # A plus sign in an address is a space.
        found = datetime.fromisoformat(
            text[:40].replace(" ", "+") if text.count(" ") == 1 and "T" in text else text[:40]
        )
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise FieldError(field, f"{field.capitalize()} is no instant such as 2026-11-29T06:00:00Z.") from error
