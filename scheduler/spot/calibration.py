"""How well chances that were told held, and chances that hold better.

``Brier`` score: mean of (said - happened)^2; 0 is perfect, and whoever always says the overall share r gets r (1 - r).
Murphy's decomposition (J. Appl. Meteor. 12, 1973) over bins: reliability - resolution + uncertainty; exact where all
of a bin said the same, and so told with what is left over inside the bins.  Intervals are Wilson's (JASA 22, 1927).
The error of calibration is the mean over asks of |said - share that started| by bin, in points of a hundred.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.spot.supply import Floats

BINS = 10
Z95 = 1.959964  # of the normal distribution
PRIOR = 20.0  # asks of like chance whose raw chance is believed as much as what was seen
MEANINGS = {
    "started": "of the asks that were told a chance within ten points of one another, the part that started in time",
    "said": "the mean of the chances that they were told",
    "interval": "95 % interval of the share (Wilson); it holds the diagonal where the estimates hold",
    "brier": "mean squared distance of what was said from what came (1 started, 0 did not); lower is better",
    "skill": "how much of the Brier score of always saying the overall share is saved",
    "error": "mean distance of said from started over the bins, each weighing as its asks",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """A chance that somebody was told, and whether it came; who withdrew before the time was over is left out."""

    said: float
    started: bool


@dataclass(frozen=True, slots=True)
class Bin:
    low: float
    high: float
    asks: int
    said: float | None  # None where nobody was told such a chance
    started: int
    share: float | None
    low95: float | None
    high95: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """None where there are no asks.  ``brier`` = reliability - resolution + uncertainty + inside."""

    bins: tuple[Bin, ...]
    asks: int
    brier: float | None
    reliability: float | None
    resolution: float | None
    uncertainty: float | None
    inside: float | None
    skill: float | None  # None where all started, or none
    error_points: float | None


def wilson(started: int, asks: int) -> tuple[float, float]:
    """95 % interval of a share; raises ``ValueError`` for no asks."""
    if asks < 1:
        raise ValueError("no asks have no share")
    share, z2 = started / asks, Z95 * Z95
    centre = (share + z2 / (2 * asks)) / (1 + z2 / asks)
    half = Z95 / (1 + z2 / asks) * math.sqrt(share * (1 - share) / asks + z2 / (4 * asks * asks))
    return max(0.0, centre - half), min(1.0, centre + half)


def reliability(told: Sequence[Told], bins: int = BINS) -> Reliability:
    """In ``bins`` of equal width; a chance on an edge belongs to the upper one."""
    said = np.array([one.said for one in told])
    came = np.array([one.started for one in told], np.float64)
    at = np.minimum((said * bins).astype(np.int64), bins - 1) if len(said) else np.zeros(0, np.int64)
    rows = tuple(_bin(b, bins, said[at == b], came[at == b]) for b in range(bins))
    if not len(said):
        return Reliability(rows, 0, None, None, None, None, None, None, None)
    base = float(came.mean())
    full = [one for one in rows if one.said is not None and one.share is not None]
    weigh = [(one.asks / len(said), one.said or 0.0, one.share or 0.0) for one in full]
    brier = float(((said - came) ** 2).mean())
    apart = sum(w * (mean - share) ** 2 for w, mean, share in weigh)
    resolved = sum(w * (share - base) ** 2 for w, _, share in weigh)
    doubt = base * (1 - base)
    return Reliability(
        bins=rows,
        asks=len(said),
        brier=brier,
        reliability=apart,
        resolution=resolved,
        uncertainty=doubt,
        inside=brier - (apart - resolved + doubt),
        skill=1 - brier / doubt if doubt else None,
        error_points=100 * sum(w * abs(mean - share) for w, mean, share in weigh),
    )


def _bin(b: int, bins: int, said: Floats, came: Floats) -> Bin:
    low, high = b / bins, (b + 1) / bins
    if not len(said):
        return Bin(low, high, 0, None, 0, None, None, None)
    started = int(came.sum())
    return Bin(low, high, len(said), float(said.mean()), started, started / len(said), *wilson(started, len(said)))


@dataclass(frozen=True, slots=True)
class Curve:
    """From a raw chance to one that held: straight between ``raw`` points, and as at the ends beyond them."""

    raw: tuple[float, ...]
    held: tuple[float, ...]
    asks: int  # from which it was learnt

    def apply(self, chance: float) -> float:
        return float(np.interp(chance, self.raw, self.held)) if self.raw else chance


SAME = Curve((0.0, 1.0), (0.0, 1.0), 0)


def recalibration(told: Sequence[Told], prior: float = PRIOR) -> Curve:
    """Learnt from raw chances and what came: by bin the share that started, drawn to the raw chance as if ``prior``

    more asks had held it, and never falling where the raw chance rises (isotonic regression, weights the asks).
    Without asks the raw chance is left as it is.
    """
    if not told:
        return SAME
    rows = [one for one in reliability(told, 2 * BINS).bins if one.said is not None]
    raw = np.array([one.said or 0.0 for one in rows])
    asks = np.array([one.asks for one in rows], np.float64)
    share = (np.array([one.started for one in rows]) + prior * raw) / (asks + prior)
    held = _rising(share, asks + prior)
    return Curve(tuple(raw.tolist()), tuple(np.clip(held, 0, 1).tolist()), len(told))


def _rising(values: Floats, weights: Floats) -> Floats:
    """The nearest values that never fall: neighbours that do are pooled (Ayer and others, 1955).

    By hand, since web pages import this room and the library's costs each of their processes 40 MB.
    """
    pools: list[list[float]] = []  # mean, weight, how many
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, weight, count = pools.pop()
            before = pools[-1]
            before[0] = (before[0] * before[1] + mean * weight) / (before[1] + weight)
            before[1], before[2] = before[1] + weight, before[2] + count
    return np.repeat([pool[0] for pool in pools], [int(pool[2]) for pool in pools])
