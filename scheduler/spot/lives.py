"""How long a run of spot work lasts before it is reclaimed, from runs that were seen.

Kaplan and Meier's estimate (JASA 53, 1958): a run that ended by itself, or still runs, counts as long as it was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ENOUGH = 20  # runs, of which
RECLAIMED = 5  # so many were reclaimed: with fewer nothing is said
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lived:
    """A run: how long it was seen, and whether it was reclaimed then."""

    age_s: int
    reclaimed: bool


@dataclass(frozen=True, slots=True)
class Survival:
    """``stays[i]``: the part that runs on after ``times_s[i]``; at each of them somebody was reclaimed."""

    times_s: tuple[int, ...]
    stays: tuple[float, ...]
    runs: int
    reclaimed: int
    longest_s: int  # that any run was seen

    @property
    def known(self) -> bool:
        return self.runs >= ENOUGH and self.reclaimed >= RECLAIMED

    @property
    def why(self) -> str:
        """Why nothing is said; "" where something is."""
        if self.known:
            return ""
        return f"{self.runs} runs were seen and {self.reclaimed} of them reclaimed; {ENOUGH} and {RECLAIMED} are needed"

    def after(self, age_s: float) -> float:
        """The part that runs on after so long; of what lies beyond the longest run, what was left there."""
        at = int(np.searchsorted(self.times_s, age_s, side="right"))
        return self.stays[at - 1] if at else 1.0

    def quantile_s(self, part: float) -> int | None:
        """When ``part`` of the runs have been reclaimed; None: so many never were as long as anybody looked."""
        for time, stays in zip(self.times_s, self.stays, strict=True):
            if 1 - stays >= part - 1e-12:
                return time
        return None

    def draw(self, chances: Floats) -> Floats:
        """Seconds until each is reclaimed, inf where it is not within the longest run that was seen."""
        gone = np.append(1 - np.array(self.stays), 1.0)
        times = np.append(np.array(self.times_s, np.float64), np.inf)
        return np.asarray(times[np.minimum(np.searchsorted(gone[:-1], chances), len(self.times_s))])


def survival(lived: Sequence[Lived]) -> Survival:
    """Of equal ages those that were reclaimed count before those that were seen no longer."""
    ages = np.array([one.age_s for one in lived], np.int64)
    ended = np.array([one.reclaimed for one in lived], np.bool_)
    times = np.unique(ages[ended])
    at_risk = len(ages) - np.searchsorted(np.sort(ages), times)
    lost = np.searchsorted(np.sort(ages[ended]), times, side="right") - np.searchsorted(np.sort(ages[ended]), times)
    stays = np.cumprod(1 - lost / at_risk) if len(times) else np.zeros(0)
    return Survival(tuple(times.tolist()), tuple(stays.tolist()), len(ages), int(ended.sum()), int(ages.max(initial=0)))
