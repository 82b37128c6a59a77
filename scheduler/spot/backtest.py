"""How well forecasters would have done: rolling origins over the last days, all of them on the same hours.

Each forecaster learns anew from what was known every ``refit_h`` hours and forecasts from the end of every hour.  The
pinball loss of a quantile p is p (y - q) where the peak y is above it and (1 - p) (q - y) where it is below (Koenker,
Bassett, Econometrica 46, 1978): over-reserving costs little, being caught out costs nine times as much at p = 0.9.
Coverage is the share of hours in which the peak was at or below the quantile.  Hours that are not known, or that one of
the forecasters says nothing of, count for nobody, and how many did not is told.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits

from scheduler.cluster.errors import ParamError, within
from scheduler.cluster.snapshot import Bools, Longs
from scheduler.spot.ahead import Ahead, ForecastParams, share
from scheduler.spot.forecast import FORECASTERS, GFS, fit
from scheduler.spot.peaks import Floats, Peaks, as_floats

MILLI = 1000.0
DAY_H = 24
EVERY_MODEL = ""
type Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestParams:
    """Raises ``ParamError`` for the first bad field."""

    level: float = 0.9
    days: int = 7  # at the end of the history
    refit_h: int = 24  # GFS trains daily
    against: str = GFS  # whom the others are compared with
    hours: int = 4  # ahead
    forecasters: tuple[str, ...] = FORECASTERS
    forecast: ForecastParams = field(default_factory=ForecastParams)

    def __post_init__(self) -> None:
        share("level", self.level, 0, 1)
        within("days", self.days, 1, 60)
        within("refit_h", self.refit_h, 1, 168)
        within("hours", self.hours, 1, 48)
        unknown = next((one for one in self.forecasters if one not in FORECASTERS), None)
        if unknown is not None or not self.forecasters or len(set(self.forecasters)) < len(self.forecasters):
            raise ParamError("forecasters", self.forecasters, f"must be some of {', '.join(FORECASTERS)}")
        if self.against not in self.forecasters:
            raise ParamError("against", self.against, "must be one of the forecasters")


@dataclass(frozen=True, slots=True)
class Score:
    """Of one forecaster on one model's pool, or on all (``EVERY_MODEL``: the mean over models of both).

    ``pinball``: GPUs, mean over hours and hours ahead.  ``below``: share of hours truly below the quantile, which with
    coverage brackets what it promises where peaks are often equal to it.  None where no hour could be judged.
    """

    forecaster: str
    gpu_model: str
    pinball: float | None
    coverage: float | None
    below: float | None
    hours: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Pinball of one forecaster less that of the one it is compared with, GPUs; 95 % interval over days."""

    forecaster: str
    against: str
    gpu_model: str
    mean: float | None
    low: float | None
    high: float | None
    days: int


@dataclass(frozen=True, slots=True, eq=False)
class Backtest:
    """``tenants``: scores per forecaster over single tenants' quantiles, all models together (pinball: their sum).

    ``paths``: forecasts an hour ahead of the pools, for drawing: forecaster -> [m, t] GPUs, beside ``actual`` [m, t].
    """

    params: BacktestParams
    models: tuple[str, ...]
    scores: tuple[Score, ...]
    differences: tuple[Difference, ...]
    tenants: tuple[Score, ...]
    begin_s: int  # of the first hour of ``actual``
    actual: Floats
    paths: Mapping[str, Floats]
    left_out: Mapping[str, int]  # GPU model -> hours x hours ahead that could not be judged
    why: Mapping[str, Mapping[str, str]]  # forecaster -> GPU model -> why it says nothing

    def score(self, forecaster: str, model: str = EVERY_MODEL) -> Score:
        return next(one for one in self.scores if (one.forecaster, one.gpu_model) == (forecaster, model))

    def difference(self, forecaster: str, model: str = EVERY_MODEL) -> Difference:
        return next(one for one in self.differences if (one.forecaster, one.gpu_model) == (forecaster, model))


def backtest(peaks: Peaks, params: BacktestParams, progress: Progress | None = None) -> Backtest:
    """Raises ParamError for ``days`` where the history is no longer than what is judged."""
    judged = params.days * DAY_H
    first = peaks.hours - judged - params.hours
    if first < 1 or not peaks.series:
        raise ParamError("days", params.days, f"needs more than {judged + params.hours} h, there are {peaks.hours}")
    origins = np.arange(first, first + judged)
    blocks = [origins[at : at + params.refit_h] for at in range(0, judged, params.refit_h)]
    made: dict[str, list[Ahead]] = {word: [] for word in params.forecasters}
    for done, block in enumerate(blocks):
        for word in params.forecasters:
            learnt = fit(word, peaks.until(int(block[0]) + 1), _with_level(params))
            with threadpool_limits(1):
                made[word].append(learnt.ahead(peaks.until(int(block[-1]) + 1), block))
        if progress is not None:
            progress(done + 1, len(blocks))
    return _judged(peaks, params, origins, made)


def pinball(actual: Floats, quantile: Floats, level: float) -> Floats:
    """Elementwise, in the unit of both."""
    above = actual - quantile
    return np.where(above >= 0, level * above, (level - 1) * above)


def interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Mean with Student's two-sided 95 % interval; no interval from one value."""
    if not values:
        return None, None, None
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    half = float(stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return mean, mean - half, mean + half


def _with_level(params: BacktestParams) -> ForecastParams:
    had = params.forecast
    return ForecastParams(
        levels=(params.level,), hours=params.hours, least_h=had.least_h, memory_h=had.memory_h, gaps=had.gaps,
        rows=had.rows,
    )  # fmt: skip


def _judged(peaks: Peaks, params: BacktestParams, origins: Longs, made: Mapping[str, list[Ahead]]) -> Backtest:
    pools = peaks.pools()
    actual = _actual(pools, origins, params.hours)
    told = {word: _quantiles([one.pools.quantile_milli for one in parts]) for word, parts in made.items()}
    known = _known(actual, told)
    scores, differences = [], []
    losses = {word: pinball(actual, quantile, params.level) for word, quantile in told.items()}
    for row, model in enumerate(peaks.models):
        for word in params.forecasters:
            scores.append(_score(word, model, losses[word][:, row], actual[:, row], told[word][:, row], known[:, row]))
            gap = losses[word][:, row] - losses[params.against][:, row]
            differences.append(_difference(word, params.against, model, gap, known[:, row]))
    for word in params.forecasters:
        own = [one for one in scores if one.forecaster == word]
        scores.append(_overall(word, own))
        gap, every = (losses[word] - losses[params.against]).mean(axis=1), known.all(axis=1)
        differences.append(_difference(word, params.against, EVERY_MODEL, gap, every))
    judged = int(origins[0]) + 1, int(origins[-1]) + 2
    return Backtest(
        params, peaks.models, tuple(scores), tuple(differences), _of_tenants(peaks, params, origins, made),
        peaks.begin_s + judged[0] * 3600, as_floats(pools.peak_milli)[:, judged[0] : judged[1]] / MILLI,
        {word: quantile[:, :, 0].T for word, quantile in told.items()},
        {model: int((~known[:, row]).sum()) for row, model in enumerate(peaks.models)},
        {word: dict(zip(peaks.models, parts[-1].pools.why, strict=True)) for word, parts in made.items()},
    )  # fmt: skip


def _actual(peaks: Peaks, origins: Longs, hours: int) -> Floats:
    """[o, r, h] GPUs."""
    seen = as_floats(peaks.peak_milli) / MILLI
    return np.stack([seen[:, origins + hour].T for hour in range(1, hours + 1)], axis=-1)


def _quantiles(parts: Sequence[Floats]) -> Floats:
    """[o, r, h] GPUs, of the one level."""
    return np.concatenate(parts)[..., 0] / MILLI


def _known(actual: Floats, told: Mapping[str, Floats]) -> Bools:
    """[o, r, h] hours that everybody is judged on."""
    good = np.isfinite(actual)
    for quantile in told.values():
        good &= np.isfinite(quantile)
    return good


def _score(word: str, model: str, loss: Floats, actual: Floats, quantile: Floats, known: Bools) -> Score:
    hours = int(known.sum())
    if not hours:
        return Score(word, model, None, None, None, 0)
    # A millionth of a GPU: quantiles are sums of floats, peaks are exact
    at_or_below, below = actual <= quantile + 1e-6, actual < quantile - 1e-6
    mean, covered, truly = (float(one[known].mean()) for one in (loss, at_or_below, below))
    return Score(word, model, mean, covered, truly, hours)


def _overall(word: str, own: Sequence[Score]) -> Score:
    known = [one for one in own if one.hours]
    if not known:
        return Score(word, EVERY_MODEL, None, None, None, 0)
    loss, covered, truly = (
        float(np.mean([getattr(one, name) for one in known])) for name in ("pinball", "coverage", "below")
    )
    return Score(word, EVERY_MODEL, loss, covered, truly, sum(one.hours for one in known))


def _difference(word: str, against: str, model: str, gap: Floats, known: Bools) -> Difference:
    days = [
        float(gap[at : at + DAY_H][known[at : at + DAY_H]].mean())
        for at in range(0, len(gap), DAY_H)
        if known[at : at + DAY_H].any()
    ]
    return Difference(word, against, model, *interval(days), len(days))


def _of_tenants(
    peaks: Peaks, params: BacktestParams, origins: Longs, made: Mapping[str, list[Ahead]]
) -> tuple[Score, ...]:
    actual = _actual(peaks, origins, params.hours)
    told = {word: _quantiles([one.tenants.quantile_milli for one in parts]) for word, parts in made.items()}
    known, scores = _known(actual, told), []
    for word, quantile in told.items():
        one = _score(word, EVERY_MODEL, pinball(actual, quantile, params.level), actual, quantile, known)
        summed = None if one.pinball is None else one.pinball * one.hours / max(1, len(origins) * params.hours)
        scores.append(Score(word, EVERY_MODEL, summed, one.coverage, one.below, one.hours))
    return tuple(scores)
