"""The groups of a campaign as bars: how far all of them are, and when each was at what."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console.campaigns.choices import GroupState

WIDTH = 1000.0  # of the drawing; the page stretches it
FILL = {
    GroupState.WAITING: "sunken",
    GroupState.ASKED: "accent",
    GroupState.AGAIN: "accent",
    GroupState.APPROVAL: "lp",
    GroupState.DRAINING: "accent",
    GroupState.DRAINED: "down",
    GroupState.WORK: "down",
    GroupState.RETURNING: "hp",
    GroupState.BACK: "usable",
    GroupState.FAILED: "stranded",
    GroupState.SKIPPED: "other",
}
PHASES = (("asked_at", "lp", "plan and approval"), ("draining_at", "accent", "draining"),
          ("work_at", "down", "work"), ("returning_at", "hp", "being given back"))  # fmt: skip
TICKS = 6
STEPS_S = (60, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800)


@dataclass(frozen=True, slots=True)
class Bar:
    x: str
    width: str
    fill: str
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A group on the time line."""

    name: str
    number: int
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class TimeLine:
    lanes: list[Lane]
    ticks: list[tuple[str, str]]  # x in per cent, words
    now: str | None  # x
    hidden: int  # groups that have not begun


def progress_bars(groups: Sequence[Any]) -> list[Bar]:
    """One part for each group, as wide as it has nodes."""
    whole = sum(group.nodes for group in groups) or 1
    bars, at = [], 0.0
    for group in groups:
        width = WIDTH * group.nodes / whole
        words = f"{group.position + 1}. {group.name}: {group.get_state_display().lower()}"
        bars.append(Bar(f"{at:.1f}", f"{max(1.0, width - 2):.1f}", FILL[GroupState(group.state)], words))
        at += width
    return bars


def time_line(groups: Sequence[Any], begun: datetime | None, now: datetime, until: datetime | None) -> TimeLine | None:
    """None before anything has begun; ``until``: the expected end, where one is known."""
    rows = [group for group in groups if group.asked_at is not None]
    if begun is None or not rows:
        return None
    ends = [group.ended_at or now for group in rows]
    last = max(*ends, *([until] if until else []), begun + timedelta(minutes=1))
    span = (last - begun).total_seconds()

    def place(at: datetime) -> float:
        return max(0.0, min(WIDTH, WIDTH * (at - begun).total_seconds() / span))

    lanes = [Lane(group.name, group.position + 1, _bars(group, now, place)) for group in rows]
    running = any(group.ended_at is None for group in rows) or until is not None
    return TimeLine(lanes, _ticks(begun, span), f"{place(now):.1f}" if running else None, len(groups) - len(rows))


def _bars(group: Any, now: datetime, place: Any) -> list[Bar]:
    begins = [(getattr(group, name), fill, words) for name, fill, words in PHASES if getattr(group, name) is not None]
    ends = [*(one[0] for one in begins[1:]), group.ended_at or now]
    bars = []
    for (begin, fill, words), end in zip(begins, ends, strict=True):
        x = place(begin)
        title = f"{words}, {begin:%H:%M:%S} to {end:%H:%M:%S} UTC"
        bars.append(Bar(f"{x:.1f}", f"{max(2.0, place(end) - x):.1f}", fill, title))
    return bars


def _ticks(begun: datetime, span: float) -> list[tuple[str, str]]:
    step = next((one for one in STEPS_S if span / one <= TICKS), STEPS_S[-1])
    first = step - begun.timestamp() % step
    found: list[tuple[str, str]] = []
    while first < span and len(found) <= TICKS:
        at = begun + timedelta(seconds=first)
        words = f"{at:%d %b}" if step >= 86_400 else f"{at:%H:%M}"
        found.append((f"{100 * first / span:.2f}", words))
        first += step
    return found
