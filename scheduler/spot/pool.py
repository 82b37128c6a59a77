"""The pool of sleeping GPUs over time: ahead, by windows and how well they were kept, and over the day, as seen."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from scheduler.cluster.errors import ParamError, within
from scheduler.spot.standby import DAY_S, HOUR_S, Sleeper, Span, spans

QUANTILES = (0.1, 0.5, 0.9)
PRIOR_S = 20 * HOUR_S  # GPU-independent time of windows that the prior counts for
PRIOR_SHARE = 0.9  # of a window that is slept: of what sleeps the OSDI '26 study could lend 90 %
MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Kept:
    """Share of its windows' time that a workload truly slept; ``of`` those that are known, ``usual`` for the others."""

    usual: float = PRIOR_SHARE
    of: Mapping[str, float] = field(default_factory=dict)  # by namespace/name

    def share(self, pod: str) -> float:
        return self.of.get(pod, self.usual)


def kept_of(past: Iterable[tuple[str, Span, int]]) -> Kept:
    """From windows that are over: pod, its span and the seconds of it that it slept; each mixed with the prior."""
    meant: dict[str, float] = {}
    slept: dict[str, float] = {}
    for pod, span, seconds in past:
        length = span.end_s - span.start_s
        within("seconds", seconds, 0, length)
        meant[pod] = meant.get(pod, 0.0) + length
        slept[pod] = slept.get(pod, 0.0) + seconds
    usual = (sum(slept.values()) + PRIOR_SHARE * PRIOR_S) / (sum(meant.values()) + PRIOR_S)
    return Kept(usual, {pod: (slept[pod] + usual * PRIOR_S) / (meant[pod] + PRIOR_S) for pod in meant})


@dataclass(frozen=True, slots=True)
class AheadOfModel:
    """Thousandths of GPUs at each step: as the windows say, and as is to be expected of them."""

    gpu_model: str
    planned_milli: tuple[int, ...]
    low_milli: tuple[int, ...]  # p10
    middle_milli: tuple[int, ...]  # p50
    high_milli: tuple[int, ...]  # p90


@dataclass(frozen=True, slots=True)
class Ahead:
    at_s: tuple[int, ...]
    models: tuple[AheadOfModel, ...]


def pool_ahead(
    sleepers: Sequence[Sleeper], low_s: int, high_s: int, step_s: int = 900, kept: Kept | None = None
) -> Ahead:
    """At low, low + step … before high.  Who sleeps until it is recalled counts for all of it.

    Each sleeper is asleep in its window with the share that it kept, independently of the others; quantiles are those
    of the normal distribution with that mean and variance, within what the windows say.
    """
    within("step_s", step_s, 60, DAY_S)
    if not low_s < high_s or (high_s - low_s) // step_s > MOST_STEPS:
        raise ParamError("high_s", high_s, f"must come after low_s, by at most {MOST_STEPS} steps")
    at = np.arange(low_s, high_s, step_s)
    kept = kept or Kept()
    models = sorted({one.gpu_model for one in sleepers})
    planned, mean, variance = (np.zeros((len(models), len(at))) for _ in range(3))
    for one in sleepers:
        row, on, share = models.index(one.gpu_model), _asleep(one, at), kept.share(one.pod)
        sure = on & (at < _sure_until(one, low_s))
        planned[row] += on * one.gpu_milli
        mean[row] += np.where(sure, 1.0, share) * on * one.gpu_milli
        variance[row] += np.where(sure, 0.0, share * (1 - share)) * on * float(one.gpu_milli) ** 2
    return Ahead(
        tuple(at.tolist()), tuple(_of_model(m, planned[i], mean[i], variance[i]) for i, m in enumerate(models))
    )


def _asleep(one: Sleeper, at: np.ndarray) -> np.ndarray:
    low_s, high_s = int(at[0]), int(at[-1]) + 1
    on = np.zeros(len(at), np.bool_)
    for span in spans(one.windows, low_s, high_s):
        on |= (at >= span.start_s) & (at < span.end_s)
    if one.asleep and (one.until_s is not None or not one.windows):
        on |= at < (one.until_s if one.until_s is not None else high_s)
    return on


def _sure_until(one: Sleeper, low_s: int) -> int:
    """Who sleeps now sleeps at the first step."""
    return low_s + 1 if one.asleep else low_s


def _of_model(model: str, planned: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> AheadOfModel:
    normal, spread = NormalDist(), np.sqrt(variance)
    low, middle, high = (
        np.clip(mean + spread * (0.0 if p == 0.5 else normal.inv_cdf(p)), 0, planned).round().astype(np.int64).tolist()
        for p in QUANTILES
    )
    return AheadOfModel(model, tuple(planned.astype(np.int64).tolist()), tuple(low), tuple(middle), tuple(high))


@dataclass(frozen=True, slots=True)
class HourRow:
    """What the pool was in this hour of the day, UTC; None where nobody looked."""

    hour: int
    samples: int
    low_milli: int | None  # p10
    middle_milli: int | None
    high_milli: int | None  # p90


def over_the_day(samples: Iterable[tuple[int, int]]) -> tuple[HourRow, ...]:
    """24 rows from (Unix seconds, GPU milli) of any days."""
    hours: dict[int, list[int]] = {hour: [] for hour in range(24)}
    for at_s, milli in samples:
        hours[at_s % DAY_S // HOUR_S].append(milli)
    return tuple(_hour(hour, sorted(seen)) for hour, seen in hours.items())


def _hour(hour: int, seen: list[int]) -> HourRow:
    if not seen:
        return HourRow(hour, 0, None, None, None)
    low, middle, high = (seen[max(0, math.ceil(p * len(seen)) - 1)] for p in QUANTILES)
    return HourRow(hour, len(seen), low, middle, high)
