"""What the library's forecaster looks at when an hour has ended; all of it relative to what is held at that moment.

Columns of ``now``: the last peaks and levels, the most and the mean of 4 h to a week, how far peaks rose above the
level before.  Columns of ``rows`` beside them: how far it rose by the same hour a day and a week ago and over the last
seven days, the hour of the day, the day of seven, and how many hours ahead.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from scheduler.cluster.snapshot import Longs
from scheduler.spot.peaks import Floats

DAY_H, WEEK_H = 24, 168
COUNT = 18


def now(peak: Floats, closing: Floats) -> Floats:
    """[s, t, f] from [s, t], NaN where the hours that a column needs are not known."""
    rose = peak - _lag(closing, 1)
    columns = [
        peak - closing,
        _lag(closing, 1) - closing,
        _lag(peak, 1) - closing,
        _lag(closing, 3) - closing,
        *(_over(peak, hours, np.max) - closing for hours in (4, DAY_H, WEEK_H)),
        *(_over(closing, hours, np.mean) - closing for hours in (6, DAY_H, WEEK_H)),
        _over(rose, DAY_H, np.mean),
        _over(rose, 6, np.max),
    ]
    return np.stack(columns, axis=-1)


def rows(seen: Floats, peak: Floats, closing: Floats, scale: Floats, origins: Longs, hour: int, begin_h: int) -> Floats:
    """[s, o, f] for the peak ``hour`` hours after each origin, in units of ``scale`` [s].

    ``begin_h`` is the hour since 1970 of column 0, so that a column of the same hour of day is one for every window.
    """
    past = np.stack([_rise_back(peak, closing, origins, hour, DAY_H * day) for day in range(1, 8)])
    known = np.isfinite(past).sum(axis=0)
    mean = np.where(known > 0, np.nansum(past, axis=0) / np.maximum(known, 1), np.nan)
    scaled = np.concatenate([seen[:, origins], np.stack([past[0], past[6], mean], axis=-1)], axis=-1)
    scaled = scaled / scale[:, None, None]
    when = begin_h + origins + hour
    clock = np.stack([when % DAY_H, when // DAY_H % 7, np.full(len(origins), hour)], axis=-1).astype(np.float64)
    return np.concatenate([scaled, np.broadcast_to(clock, (len(peak), *clock.shape))], axis=-1)


def rise(peak: Floats, closing: Floats, origins: Longs, hour: int) -> Floats:
    """[s, o] how far the peak so many hours ahead is above what was held at the origin: what is learnt."""
    return np.asarray(peak[:, origins + hour] - closing[:, origins])


def _rise_back(peak: Floats, closing: Floats, origins: Longs, hour: int, back: int) -> Floats:
    """The same so many hours earlier; only where that peak had been seen at the origin."""
    at = origins - back
    good = (at >= 0) & (at + hour <= origins)
    return np.where(good, peak[:, np.maximum(at + hour, 0) % peak.shape[1]] - closing[:, np.maximum(at, 0)], np.nan)


def _lag(column: Floats, hours: int) -> Floats:
    moved = np.full_like(column, np.nan)
    moved[:, hours:] = column[:, :-hours]
    return moved


def _over(column: Floats, hours: int, taken) -> Floats:  # type: ignore[no-untyped-def]
    """Of the last so many hours, the present one counted."""
    before = np.full((len(column), hours - 1), np.nan)
    return np.asarray(taken(sliding_window_view(np.concatenate([before, column], axis=1), hours, axis=1), axis=-1))
