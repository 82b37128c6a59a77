"""Last week's peak as a forecast: the most that was held in the last 168 hours, with which GFS compares itself.

It says nothing of how sure it is: mean and quantiles are one number.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.spot.ahead import Ahead, ForecastParams, Rows, nothing
from scheduler.spot.features import WEEK_H
from scheduler.spot.peaks import Floats, Peaks, as_floats

WORD = "last_week_peak"


@dataclass(frozen=True, slots=True, eq=False)
class LastWeek:
    params: ForecastParams

    def ahead(self, peaks: Peaks, origins: Longs | None = None) -> Ahead:
        """A pool is the sum of its tenants' peaks, as the released code adds them up."""
        at = np.array([peaks.hours - 1], np.int64) if origins is None else np.asarray(origins, np.int64)
        seen = as_floats(peaks.peak_milli)
        most = np.stack([_week(seen, int(hour)) for hour in at]) if len(at) else np.zeros((0, len(seen)))
        summed = np.stack([most[:, peaks.rows_of(model)].sum(axis=1) for model in peaks.models], axis=1)
        why = "" if peaks.hours >= WEEK_H else f"needs {WEEK_H} h of history, there are {peaks.hours}"
        tenants, pools = (_rows(one, self.params, why) for one in (most, summed))
        return Ahead(WORD, at, self.params.levels, peaks.series, peaks.models, tenants, pools)


def fit(peaks: Peaks, params: ForecastParams) -> LastWeek:
    """There is nothing to learn."""
    return LastWeek(params)


def _week(seen: Floats, hour: int) -> Floats:
    """[s] NaN where not all of the week is known."""
    if hour + 1 < WEEK_H:
        return np.full(len(seen), np.nan)
    return np.asarray(seen[:, hour + 1 - WEEK_H : hour + 1].max(axis=1))


def _rows(most: Floats, params: ForecastParams, why: str) -> Rows:
    mean, deviation, quantile = nothing(len(most), most.shape[1], params.hours, len(params.levels))
    mean[:] = most[..., None]
    deviation[:] = np.where(np.isnan(mean), np.nan, 0.0)
    quantile[:] = mean[..., None]
    return Rows(mean, deviation, quantile, (why,) * most.shape[1])
