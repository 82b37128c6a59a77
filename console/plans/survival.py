"""How long emptied nodes stay empty: the share that still is, by time, and the half-life.

Kaplan and Meier's estimate: nodes that are still empty, or that left service, count as long as they were seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log


@dataclass(frozen=True, slots=True)
class Span:
    """One node: seconds for which it was seen empty, and whether it was refilled then."""

    seconds: float
    refilled: bool


def shares(spans: Sequence[Span]) -> list[tuple[float, float]]:
    """(seconds, share still empty) at the start and after each refill; the last point is where seeing ends."""
    points = [(0.0, 1.0)]
    share = 1.0
    ends = sorted(spans, key=lambda span: span.seconds)
    for at in sorted({span.seconds for span in ends if span.refilled}):
        seen = sum(span.seconds >= at for span in ends)
        share *= 1 - sum(span.refilled and span.seconds == at for span in ends) / seen
        points.append((at, share))
    if ends and ends[-1].seconds > points[-1][0]:
        points.append((ends[-1].seconds, share))
    return points


def half_life(spans: Sequence[Span]) -> tuple[float | None, bool]:
    """(seconds until half are refilled, whether that was seen).

    Not seen: at the rate so far (refills by node-seconds), as if nodes were refilled at random; None without a refill.
    """
    for at, share in shares(spans):
        if share <= 0.5:
            return at, True
    refills = sum(span.refilled for span in spans)
    return (log(2) * sum(span.seconds for span in spans) / refills, False) if refills else (None, False)
