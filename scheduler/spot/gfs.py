"""The rule of GFS (ASPLOS '26) for HP demand: mean and variance per tenant from 672 hours, a pool by their plain sum.

Published: input 672 h, output 4 h, a moving average of 25 h parts trend and rest, Gaussian likelihood, pool mean = sum
of means, pool deviation = root of the summed variances, reserve = its quantile.  The authors' network (OrgLinear:
linear maps of trend and rest, attention over embeddings of cluster and tenant) is not trained here.  What stands in for
it: one linear map of trend and rest, less their last value, to the hours ahead, fitted for all tenants at once by ridge
regression whose strength is chosen on the last fifth of the past; and for the variance each tenant's own squared
errors, corrected for what was learnt by heart, which move with how much it moved in the last day by a second small fit
of the Gaussian likelihood.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import solve

from scheduler.cluster.snapshot import Longs
from scheduler.spot.ahead import Ahead, ForecastParams, Rows, nothing
from scheduler.spot.peaks import Floats, Peaks, as_floats

WORD = "gfs"
INPUT_H = 672
AVERAGE_H = 25
LEAST_H = 844  # as SchedNav, which runs the published rule, asks for
RIDGES = (1e-1, 1e1, 1e3, 1e5)  # per thousand examples
HELD_OUT = 0.2
SHRINK = 5.0  # examples of everybody that stand beside a tenant's own
STRIDE = 3
DAY_H = 24
STEPS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Gfs:
    params: ForecastParams
    why: tuple[str, ...]
    unit: Floats  # [s] milli-GPUs that one stands for
    weights: Floats  # [2 x INPUT_H, h]
    variance: Floats  # [s, h] in units squared
    moving: tuple[float, float]  # log variance = log of ``variance`` + first + second x how much it moved of late

    def ahead(self, peaks: Peaks, origins: Longs | None = None) -> Ahead:
        at = np.array([peaks.hours - 1], np.int64) if origins is None else np.asarray(origins, np.int64)
        mean, variance, _ = nothing(len(at), len(peaks.series), self.params.hours, 1)
        seen = as_floats(peaks.peak_milli) / self.unit[:, None]
        good = np.array([not one for one in self.why], np.bool_)
        for place, hour in enumerate(at.tolist()):
            if hour + 1 < INPUT_H or not good.any():
                continue
            window = seen[good, hour + 1 - INPUT_H : hour + 1]
            told = _parts(window) @ self.weights + window[:, -1:]
            mean[place, good] = np.where(np.isnan(told), np.nan, told * self.unit[good, None])
            wide = np.exp(self.moving[0] + self.moving[1] * _moved(window))
            variance[place, good] = self.variance[good] * wide[:, None] * self.unit[good, None] ** 2
        variance = np.where(np.isnan(mean), np.nan, variance)
        tenants = _rows(np.maximum(mean, 0), np.sqrt(variance), self.params, self.why)
        rows = [peaks.rows_of(model) for model in peaks.models]
        summed = np.stack([mean[:, one].sum(axis=1) for one in rows], axis=1)
        spread = np.sqrt(np.stack([variance[:, one].sum(axis=1) for one in rows], axis=1))
        why = tuple(next((self.why[row] for row in one if self.why[row]), "") for one in rows)
        pools = _rows(np.maximum(summed, 0), spread, self.params, why)
        return Ahead(WORD, at, self.params.levels, peaks.series, peaks.models, tenants, pools)


def fit(peaks: Peaks, params: ForecastParams) -> Gfs:
    """Learns from all windows without an unknown hour in them; a tenant without any says so."""
    recent = peaks.last(max(params.memory_h, LEAST_H))
    seen = as_floats(recent.peak_milli)
    why = _why(recent)
    good = np.array([not one for one in why], np.bool_)
    unit = np.ones(len(seen))
    if not good.any():
        empty = np.zeros((2 * INPUT_H, params.hours))
        return Gfs(params, why, unit, empty, np.zeros((len(seen), params.hours)), (0.0, 0.0))
    unit[good] = np.nanstd(seen[good], axis=1) + 0.05 * np.nanmean(seen[good], axis=1) + 100.0
    windows = sliding_window_view(seen[good] / unit[good, None], INPUT_H + params.hours, axis=1)[:, ::-STRIDE][:, ::-1]
    weights, inflation = _ridge(windows)
    rest, moved = _rests(windows, weights)
    own, everybody = np.nanmean(rest**2, axis=1), np.nanmean(rest**2, axis=(0, 1))
    count = windows.shape[1]
    variance = np.zeros((len(seen), params.hours))
    variance[good] = (own * count + everybody * SHRINK) / (count + SHRINK) * inflation + 1e-12
    ratio = (rest**2).mean(axis=2) / np.maximum((variance[good] / inflation).mean(axis=1), 1e-12)[:, None]
    return Gfs(params, why, unit, weights, variance, _likeliest(moved.ravel(), ratio.ravel()))


def _why(peaks: Peaks) -> tuple[str, ...]:
    told = []
    for row in range(len(peaks.series)):
        unknown = int((peaks.peak_milli[row, -LEAST_H:] < 0).sum())
        short = f"needs {LEAST_H} h of history, there are {peaks.hours}" if peaks.hours < LEAST_H else ""
        gaps = f"needs {LEAST_H} h without a gap, {unknown} of the last were not watched" if unknown else ""
        told.append(short or gaps)
    return tuple(told)


def _parts(windows: Floats) -> Floats:
    """[..., 2 x INPUT_H] trend and rest of [..., INPUT_H], both less the last value."""
    less = windows - windows[..., -1:]
    half = AVERAGE_H // 2
    ends = np.repeat(less[..., :1], half, axis=-1), np.repeat(less[..., -1:], half, axis=-1)
    summed = np.cumsum(np.concatenate([np.zeros_like(less[..., :1]), ends[0], less, ends[1]], axis=-1), axis=-1)
    trend = (summed[..., AVERAGE_H:] - summed[..., :-AVERAGE_H]) / AVERAGE_H
    return np.concatenate([trend, less - trend], axis=-1)


def _sums(windows: Floats) -> tuple[Floats, Floats, int]:
    """Of the normal equations, series by series: all windows at once would fill gigabytes."""
    width, hours = 2 * INPUT_H, windows.shape[2] - INPUT_H
    square, cross, count = np.zeros((width, width)), np.zeros((width, hours)), 0
    for own in windows:
        parts, goal = _parts(own[:, :INPUT_H]).astype(np.float32), own[:, INPUT_H:] - own[:, INPUT_H - 1 : INPUT_H]
        square += parts.T @ parts
        cross += parts.T @ goal
        count += len(own)
    return square, cross, count


def _ridge(windows: Floats) -> tuple[Floats, float]:
    """Weights, and how much larger squared errors are on windows that were not learnt from."""
    cut = max(1, round(windows.shape[1] * (1 - HELD_OUT)))
    past, later = windows[:, :cut], windows[:, cut:]
    first = _sums(past)
    tried = [(_error(later, weights), ridge, weights) for ridge in RIDGES for weights in (_solve(*first, ridge),)]
    error, ridge, weights = min(tried, key=lambda one: one[:2])
    inflation = max(1.0, error / max(_error(past, weights), 1e-12))
    second = _sums(later)
    square, cross, count = first[0] + second[0], first[1] + second[1], first[2] + second[2]
    return _solve(square, cross, count, ridge), float(min(inflation, 4.0))


def _solve(square: Floats, cross: Floats, count: int, ridge: float) -> Floats:
    strength = ridge * count / 1000 + 1e-3
    return np.asarray(solve(square + strength * np.eye(len(square)), cross, assume_a="pos"))


def _rests(windows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """[s, n, h] errors, and [s, n] how much each had moved in its last day."""
    rest, moved = [], []
    for own in windows:
        told = _parts(own[:, :INPUT_H]) @ weights + own[:, INPUT_H - 1 : INPUT_H]
        rest.append(own[:, INPUT_H:] - told)
        moved.append(_moved(own[:, :INPUT_H]))
    return np.stack(rest), np.stack(moved)


def _error(windows: Floats, weights: Floats) -> float:
    return float((_rests(windows, weights)[0] ** 2).mean()) if windows.size else 0.0


def _moved(window: Floats) -> Floats:
    """[n] log of the mean squared step of the last day over that of the whole window."""
    steps = np.diff(window, axis=1) ** 2
    return np.asarray(np.log((steps[:, -DAY_H:].mean(axis=1) + 1e-3) / (steps.mean(axis=1) + 1e-3)))


def _likeliest(moved: Floats, ratio: Floats) -> tuple[float, float]:
    """(a, b) of log variance = a + b x moved under the Gaussian likelihood: Newton's steps, cut in length."""
    found = np.zeros(2)
    design = np.stack([np.ones_like(moved), moved], axis=1)
    for _ in range(STEPS):
        wide = ratio / np.exp(np.clip(design @ found, -20, 20))
        slope, bend = design.T @ (1 - wide), design.T @ (design * wide[:, None]) + 1e-6 * np.eye(2)
        found = found - np.clip(np.linalg.solve(bend, slope), -0.5, 0.5)
    return float(found[0]), float(found[1])


def _rows(mean: Floats, deviation: Floats, params: ForecastParams, why: tuple[str, ...]) -> Rows:
    """Quantiles of the normal distribution."""
    away = np.array([NormalDist().inv_cdf(level) for level in params.levels])
    quantile = np.maximum(mean[..., None] + deviation[..., None] * away, 0)
    return Rows(mean, deviation, quantile, why)
