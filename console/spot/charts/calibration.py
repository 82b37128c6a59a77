"""The chart of reliability: what was said against what came, drawn on the page itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 340.0, 150.0
LEFT, BOTTOM, TOP, RIGHT = 38.0, 24.0, 8.0, 10.0
SMALLEST, LARGEST = 2.0, 6.0  # radius of a dot, of one ask and of the bin with most
TICKS = (0, 25, 50, 75, 100)


@dataclass(frozen=True, slots=True)
class Dot:
    x: str
    y: str
    radius: str
    low: str  # y of the interval's ends
    high: str
    title: str


@dataclass(frozen=True, slots=True)
class Tick:
    at: str
    words: str


@dataclass(frozen=True, slots=True)
class Figure:
    """Places in a drawing of WIDTH x HEIGHT."""

    dots: list[Dot]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    width: str = f"{WIDTH:g}"
    height: str = f"{HEIGHT:g}"
    left: str = f"{LEFT:g}"
    right: str = f"{WIDTH - RIGHT:g}"
    top: str = f"{TOP:g}"
    bottom: str = f"{HEIGHT - BOTTOM:g}"


def figure_of(bins: Sequence[Any]) -> Figure:
    """A dot for every bin in which somebody was told a chance (``services.judging``); its area grows with the asks."""
    most = max((one.asks for one in bins), default=0)
    return Figure(
        [_dot(one, most) for one in bins if one.share is not None],
        [Tick(f"{_x(tick / 100):.1f}", f"{tick} %") for tick in TICKS],
        [Tick(f"{_y(tick / 100):.1f}", f"{tick} %") for tick in TICKS],
    )


def _dot(one: Any, most: int) -> Dot:
    said, share, low, high = (value or 0.0 for value in (one.said, one.share, one.low95, one.high95))
    radius = SMALLEST + (LARGEST - SMALLEST) * math.sqrt(one.asks / most)
    title = (
        f"told {round(100 * said)} %: {one.started} of {one.asks} started ({round(100 * low)} to {round(100 * high)} %)"
    )
    return Dot(f"{_x(said):.1f}", f"{_y(share):.1f}", f"{radius:.1f}", f"{_y(low):.1f}", f"{_y(high):.1f}", title)


def _x(part: float) -> float:
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def _y(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP)
