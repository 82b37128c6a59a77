"""The forecaster from the library: gradient-boosted trees of scikit-learn on what is held now and what was held before.

One small set of trees per quantile learns how far the peak will be above what is held now, over all rows at once, each
in units of its own mean rise; tenants and pools learn apart.  A pool is forecast as a whole, so that tenants who move
together count as such.  Each quantile of each row is moved until the share of past hours below it is what it should be
(after Romano, Patterson, Candes, Conformalized Quantile Regression, 2019, but on the hours that were learnt from).
The library takes unknown hours as they are; it answers the same on any number of threads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from scheduler.cluster.snapshot import Bools, Longs
from scheduler.spot import features
from scheduler.spot.ahead import Ahead, ForecastParams, Rows, nothing
from scheduler.spot.peaks import HOUR_S, Floats, Peaks, as_floats

WORD = "library"
# Few and shallow: three weeks of a pool are some 500 hours that hang together; more leaves lose on the twin's hours
TREES, RATE, LEAVES, LEAST_IN_LEAF, PULL = 40, 0.05, 4, 100, 10.0
LEAST_SCALE_MILLI = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _Learnt:
    """Axes r rows, h hours, q levels.  ``still``: rows that never moved; what they hold now is their forecast."""

    why: tuple[str, ...]
    still: Bools
    scale: Floats
    mean: HistGradientBoostingRegressor | None
    levels: tuple[HistGradientBoostingRegressor, ...]
    deviation: Floats
    moved_by: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Boosted:
    params: ForecastParams
    tenants: _Learnt
    pools: _Learnt

    def ahead(self, peaks: Peaks, origins: Longs | None = None) -> Ahead:
        """From the end of each hour in ``origins``, of the last where none is named; later hours are not looked at."""
        at = np.array([peaks.hours - 1], np.int64) if origins is None else np.asarray(origins, np.int64)
        notes = ("an hour ahead is forecast from what is held at this moment and from hourly peaks before it",)
        tenants = _told(self.tenants, peaks, at, self.params)
        pools = _told(self.pools, peaks.pools(), at, self.params)
        return Ahead(WORD, at, self.params.levels, peaks.series, peaks.models, tenants, pools, notes)


def fit(peaks: Peaks, params: ForecastParams) -> Boosted:
    """Learns from the last ``memory_h`` hours; rows of which too little is known say so and are left out."""
    recent = peaks.last(params.memory_h)
    return Boosted(params, _learn(recent, params), _learn(recent.pools(), params))


def why_not(peaks: Peaks, params: ForecastParams) -> tuple[str, ...]:
    """[s] a reason, "" for a row of which enough is known."""
    told = []
    for row in range(len(peaks.series)):
        unknown = int((peaks.peak_milli[row] < 0).sum())
        known = peaks.hours - unknown
        if known < params.least_h:
            told.append(f"needs {params.least_h} h of history, {known} are known")
        elif unknown > params.gaps * peaks.hours:
            told.append(f"{unknown} of the last {peaks.hours} h were not watched, at most {params.gaps:.0%} may be")
        else:
            told.append("")
    return tuple(told)


def _learn(peaks: Peaks, params: ForecastParams) -> _Learnt:
    peak, closing = as_floats(peaks.peak_milli), as_floats(peaks.closing_milli)
    why, shape = why_not(peaks, params), (len(peaks.series), params.hours)
    first = min(features.WEEK_H, peaks.hours // 2)
    origins = [np.arange(first, max(first, peaks.hours - hour)) for hour in range(1, params.hours + 1)]
    spread = [_mean(np.abs(features.rise(peak, closing, at, hour))) for hour, at in enumerate(origins, 1)]
    scale = np.maximum(2 * np.nan_to_num(np.stack(spread, axis=1)), LEAST_SCALE_MILLI)
    still = ~(np.stack(spread, axis=1) > 0).any(axis=1)
    usable = ~still & np.array([not one for one in why], np.bool_)
    deviation, moved_by = np.zeros(shape), np.zeros((*shape, len(params.levels)))
    if not usable.any():
        return _Learnt(why, still, scale, None, (), deviation, moved_by)
    examples = _examples(peak[usable], closing[usable], scale[usable], origins, peaks.begin_s, params.rows)
    table, goal = (np.concatenate([one[side] for one in examples], axis=1) for side in (0, 1))
    table, goal = table.reshape(-1, features.COUNT), goal.ravel()
    known = np.isfinite(goal)
    mean = _trees("squared_error").fit(table[known], goal[known])
    levels = tuple(_trees("quantile", level).fit(table[known], goal[known]) for level in params.levels)
    for hour, (seen, rose) in enumerate(examples):
        rest = rose - _predicted(mean, seen)
        deviation[usable, hour] = np.sqrt(_mean(rest**2)) * scale[usable, hour]
        for q, (level, trees) in enumerate(zip(params.levels, levels, strict=True)):
            above = np.nanquantile(rose - _predicted(trees, seen), level, axis=1)
            moved_by[usable, hour, q] = above * scale[usable, hour]
    return _Learnt(why, still, scale, mean, levels, deviation, moved_by)


def _examples(
    peak: Floats, closing: Floats, scale: Floats, origins: Sequence[Longs], begin_s: int, most: int
) -> list[tuple[Floats, Floats]]:
    """For each hour ahead [r, o, f] what was seen and [r, o] how far it rose, in units of ``scale``."""
    seen, stride = features.now(peak, closing), _stride(len(peak) * sum(map(len, origins)), most)
    found = []
    for hour, at in enumerate(origins, 1):
        chosen = at[hour % stride :: stride]
        table = features.rows(seen, peak, closing, scale[:, hour - 1], chosen, hour, begin_s // HOUR_S)
        found.append((table, features.rise(peak, closing, chosen, hour) / scale[:, hour - 1, None]))
    return found


def _told(learnt: _Learnt, peaks: Peaks, origins: Longs, params: ForecastParams) -> Rows:
    mean, deviation, quantile = nothing(len(origins), len(peaks.series), params.hours, len(params.levels))
    peak, closing = as_floats(peaks.peak_milli), as_floats(peaks.closing_milli)
    good = np.array([not one for one in learnt.why], np.bool_)
    for row in np.flatnonzero(good & learnt.still):
        mean[:, row] = closing[row, origins][:, None]
        deviation[:, row] = np.where(np.isnan(mean[:, row]), np.nan, 0.0)
        quantile[:, row] = mean[:, row][..., None]
    moving = np.flatnonzero(good & ~learnt.still)
    if len(moving) and learnt.mean is not None:
        seen, begin_h = features.now(peak[moving], closing[moving]), peaks.begin_s // HOUR_S
        held = closing[moving][:, origins].T
        for hour in range(params.hours):
            scale = learnt.scale[moving, hour]
            table = features.rows(seen, peak[moving], closing[moving], scale, origins, hour + 1, begin_h)
            mean[:, moving, hour] = held + _predicted(learnt.mean, table).T * scale
            deviation[:, moving, hour] = np.where(np.isnan(held), np.nan, learnt.deviation[moving, hour])
            for q, trees in enumerate(learnt.levels):
                rise = _predicted(trees, table).T * scale + learnt.moved_by[moving, hour, q]
                quantile[:, moving, hour, q] = held + rise
    return Rows(np.maximum(mean, 0), deviation, np.sort(np.maximum(quantile, 0), axis=-1), learnt.why)


def _predicted(trees: HistGradientBoostingRegressor, table: Floats) -> Floats:
    """[r, o] from [r, o, f]."""
    if not table.size:
        return np.zeros(table.shape[:2])
    return np.asarray(trees.predict(table.reshape(-1, features.COUNT)).reshape(table.shape[:2]))


def _trees(loss: str, level: float | None = None) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        loss=loss, quantile=level, max_iter=TREES, learning_rate=RATE, max_leaf_nodes=LEAVES,
        min_samples_leaf=LEAST_IN_LEAF, l2_regularization=PULL, early_stopping=False, random_state=0,
    )  # fmt: skip


def _stride(examples: int, most: int) -> int:
    """Every so many hours are learnt from; never a part of a day, which would leave hours of the day out."""
    stride = max(1, -(-examples // most))
    while math.gcd(stride, features.DAY_H) > 1:
        stride += 1
    return stride


def _mean(column: Floats) -> Floats:
    """[r] over the known ones; NaN where there are none."""
    known = np.isfinite(column).sum(axis=1)
    return np.where(known > 0, np.nansum(column, axis=1) / np.maximum(known, 1), np.nan)
