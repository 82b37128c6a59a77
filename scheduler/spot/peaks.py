"""Hourly peaks of HP GPUs, per GPU model and tenant: what every forecast of HP demand is made from.

An hour that nobody watched is UNKNOWN.  It is never taken for 0, and no pool is known in an hour in which one of its
tenants is not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import UNKNOWN, Longs

type Floats = NDArray[np.float64]
HOUR_S = 3600
EVERYBODY = ""  # the tenant of a pool's own series


class Series(NamedTuple):
    gpu_model: str
    tenant: str


class Held(NamedTuple):
    """``milli`` thousandths of a GPU that a tenant's HP work holds from ``start_s`` until just before ``end_s``."""

    series: Series
    start_s: int
    end_s: int
    milli: int


@dataclass(frozen=True, slots=True, eq=False)
class Peaks:
    """Axes: s series, t hours from ``begin_s`` on; thousandths of a GPU, UNKNOWN for an hour that nobody watched.

    ``peak_milli``: the most that was held at once in that hour; ``closing_milli``: what was held when it ended.
    Raises InputError for a beginning inside an hour, a series that stands twice, unequal shapes, or numbers below 0.
    """

    begin_s: int
    series: tuple[Series, ...]
    peak_milli: Longs
    closing_milli: Longs

    def __post_init__(self) -> None:
        if self.begin_s % HOUR_S:
            raise InputError("begin_s", self.begin_s, "must be the start of an hour")
        if len(set(self.series)) < len(self.series):
            raise InputError("series", len(self.series), "a GPU model and tenant stand twice")
        shape = (len(self.series), self.peak_milli.shape[-1])
        for name in ("peak_milli", "closing_milli"):
            column = getattr(self, name)
            if column.shape != shape:
                raise InputError(name, column.shape, f"must have the shape {shape}")
            if (column < UNKNOWN).any():
                raise InputError(name, int(column.min()), "must be 0 or more, or -1 where it is not known")
        if ((self.peak_milli == UNKNOWN) != (self.closing_milli == UNKNOWN)).any():
            raise InputError("closing_milli", None, "must be known in the hours in which the peak is")

    @property
    def hours(self) -> int:
        return int(self.peak_milli.shape[1])

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(sorted({one.gpu_model for one in self.series}))

    def rows_of(self, model: str) -> list[int]:
        return [row for row, one in enumerate(self.series) if one.gpu_model == model]

    def until(self, hour: int) -> "Peaks":
        """The first ``hour`` hours: what was known then."""
        return Peaks(self.begin_s, self.series, self.peak_milli[:, :hour], self.closing_milli[:, :hour])

    def last(self, hours: int) -> "Peaks":
        cut = max(0, self.hours - hours)
        begin = self.begin_s + cut * HOUR_S
        return Peaks(begin, self.series, self.peak_milli[:, cut:], self.closing_milli[:, cut:])

    def pools(self) -> "Peaks":
        """One series per GPU model: the sum of its tenants' peaks, which is what is reserved for."""
        rows = [self.rows_of(model) for model in self.models]
        return Peaks(
            self.begin_s,
            tuple(Series(model, EVERYBODY) for model in self.models),
            _summed(self.peak_milli, rows),
            _summed(self.closing_milli, rows),
        )


def _summed(column: Longs, rows: Sequence[list[int]]) -> Longs:
    known = [np.where((column[at] == UNKNOWN).any(axis=0), UNKNOWN, column[at].sum(axis=0)) for at in rows]
    return np.array(known, np.int64).reshape(len(rows), column.shape[1])


def peaks_of(held: Iterable[Held], *, begin_s: int, hours: int) -> Peaks:
    """Exact peaks of intervals that are all known; who ends as another starts does not count beside it.

    Raises InputError for an interval that ends before it starts, or less than 1 hour.
    """
    if hours < 1:
        raise InputError("hours", hours, "must be 1 or more")
    spans = list(held)
    bad = next((one for one in spans if one.end_s < one.start_s or one.milli < 0), None)
    if bad is not None:
        raise InputError("held", bad, "must end when it starts or later, and hold 0 or more")
    series = tuple(sorted({one.series for one in spans}))
    row = {one: at for at, one in enumerate(series)}
    return peaks_in(
        series,
        np.array([row[one.series] for one in spans], np.int64),
        np.array([one.start_s for one in spans], np.int64),
        np.array([one.end_s for one in spans], np.int64),
        np.array([one.milli for one in spans], np.int64),
        begin_s=begin_s,
        hours=hours,
    )


def peaks_in(
    series: tuple[Series, ...], row: Longs, start_s: Longs, end_s: Longs, milli: Longs, *, begin_s: int, hours: int
) -> Peaks:
    """As ``peaks_of``, of columns: ``row`` is the place of each interval in ``series``."""
    at_s, change = np.concatenate([start_s, end_s]), np.concatenate([milli, -milli])
    rows = np.concatenate([row, row])
    order = np.lexsort((change, at_s, rows))
    at_s, change, rows = at_s[order], change[order], rows[order]
    peak, closing = (np.zeros((len(series), hours), np.int64) for _ in range(2))
    edges = begin_s + HOUR_S * np.arange(hours + 1)
    for one in range(len(series)):
        low, high = np.searchsorted(rows, [one, one + 1])
        when, level = at_s[low:high], np.cumsum(change[low:high])
        before = np.searchsorted(when, edges, side="left") - 1
        at_edge = np.where(before >= 0, level[np.maximum(before, 0)], 0) if len(when) else np.zeros(hours + 1, np.int64)
        # What is held just after an hour's start, not just before it: who ends then is gone
        opened = np.searchsorted(when, edges[:-1], side="right") - 1
        peak[one] = np.where(opened >= 0, level[np.maximum(opened, 0)], 0) if len(when) else 0
        hour = (when - begin_s) // HOUR_S
        inside = (hour >= 0) & (hour < hours) & _last_of_instant(when)
        np.maximum.at(peak[one], hour[inside], level[inside])
        closing[one] = at_edge[1:]
    return Peaks(begin_s, series, peak, closing)


def _last_of_instant(when: Longs) -> NDArray[np.bool_]:
    """[k] the row after which nothing more changes at that instant."""
    return np.append(when[1:] != when[:-1], True) if len(when) else np.zeros(0, np.bool_)


def as_floats(column: Longs) -> Floats:
    """With NaN where nothing is known."""
    return np.where(column == UNKNOWN, np.nan, column)
