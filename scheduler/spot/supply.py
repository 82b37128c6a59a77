"""What spot work could hold of one GPU model, hour by hour: as it was, and paths that it may take from now on.

A path is a stretch of the past that began at about the same time of day and from about the same level, laid on today's
level; stretches whose beginning is nearer in level weigh more.  Nothing else is assumed of the shape of a day.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import ParamError
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs

Floats = NDArray[np.float64]
DAY_S = 86_400
NEAR_S = 5400  # of the time of day; where too little lies so near, any time counts
ENOUGH = 24  # beginnings, so many steps apart from one another as may be
LEAST_SPREAD = 0.02  # of the model's GPUs: levels nearer than that count as equal


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """Axis t: equal steps from ``begin_s``; the last one is now.

    ``supply`` GPUs that high-priority work did not use: free, lent, or held by spot work; UNKNOWN where nobody saw.
    """

    model: str
    begin_s: int
    step_s: int
    supply: Longs  # [t]
    gpus: int  # of the model
    asleep: Longs | None = None  # [t] of these, GPUs of sleepers; None: not known apart

    def __post_init__(self) -> None:
        if self.step_s < 60 or DAY_S % self.step_s:
            raise ParamError("step_s", self.step_s, "must be a minute or more and divide the day")
        if self.asleep is not None and len(self.asleep) != len(self.supply):
            raise ParamError("asleep", len(self.asleep), "must be as long as the supply")

    @property
    def now_s(self) -> int:
        return self.begin_s + self.step_s * (len(self.supply) - 1)

    @property
    def seen_s(self) -> int:
        """How long the steps are together that somebody saw."""
        return int((self.supply != UNKNOWN).sum()) * self.step_s


def beginnings(past: Past, steps: int) -> Longs:
    """Positions from which so many further steps were all seen, at about this time of day; else at any time."""
    seen: Bools = past.supply != UNKNOWN
    unseen = np.concatenate([[0], np.cumsum(~seen)])
    count = len(past.supply) - steps
    if count < 1:
        return np.zeros(0, np.int64)
    start = np.arange(count)
    whole = start[unseen[start + steps + 1] == unseen[start]]
    behind = (len(past.supply) - 1 - whole) * past.step_s % DAY_S
    near = whole[np.minimum(behind, DAY_S - behind) <= NEAR_S]
    return np.asarray(near if len(near) >= ENOUGH else whole)


def paths(
    past: Past, now: int, steps: int, count: int, rng: np.random.Generator, ahead: Longs | None = None
) -> Longs | None:
    """[count, steps + 1] GPUs at each step from now on; None where too little was seen to say anything.

    ``now``: GPUs at this instant.  ``ahead`` [steps + 1]: GPUs of sleepers as their windows say; then only the rest
    is drawn from the past, which has to know sleepers apart.
    """
    series = past.supply
    known = ahead is not None and past.asleep is not None
    if known:
        assert past.asleep is not None
        series = np.where(past.supply == UNKNOWN, UNKNOWN, past.supply - past.asleep)
    at = beginnings(past, steps)
    if len(at) < ENOUGH:
        return None
    here = now - int(ahead[0]) if known and ahead is not None else now
    chosen = rng.choice(at, count, p=_weights(past, series[at], here))
    drawn = series[chosen[:, None] + np.arange(steps + 1)]
    found = here + drawn - drawn[:, :1]
    if known and ahead is not None:
        found = np.maximum(found, 0) + ahead
    return np.asarray(np.clip(found, 0, past.gpus), np.int64)


def _weights(past: Past, level: Longs, now: int) -> Floats:
    spread = max(float(level.std()), LEAST_SPREAD * past.gpus, 1.0)
    weight = np.exp(-np.abs(level - now) / spread)
    return np.asarray(weight / weight.sum())
