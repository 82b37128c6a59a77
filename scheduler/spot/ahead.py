"""What a forecast of HP demand says, whoever makes it: mean, deviation and quantiles, per tenant and per pool."""

import math
from dataclasses import asdict, dataclass, field

import numpy as np

from scheduler.cluster.errors import ParamError, within
from scheduler.cluster.snapshot import Longs
from scheduler.spot.peaks import Floats, Series

LEVELS = (0.1, 0.5, 0.9)
LONGEST_H = 48


def share(name: str, value: object, low: float, high: float) -> None:
    """Raises ParamError unless ``value`` is a number strictly between."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ParamError(name, value, "must be a number")
    if not low < value < high:
        raise ParamError(name, value, f"must be above {low:g} and below {high:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastParams:
    """Raises ``ParamError`` for the first bad field."""

    levels: tuple[float, ...] = LEVELS  # quantiles that are wanted, rising
    hours: int = 4  # ahead, GFS (ASPLOS '26) looks as far
    least_h: int = 336  # of history, below which the library's forecaster says nothing
    memory_h: int = 1344  # of history that is learnt from
    gaps: float = 0.1  # share of hours that may be unknown
    rows: int = 40_000  # examples that are learnt from at once

    def __post_init__(self) -> None:
        if not self.levels:
            raise ParamError("levels", self.levels, "must name at least one quantile")
        for level in self.levels:
            share("levels", level, 0, 1)
        if list(self.levels) != sorted(set(self.levels)):
            raise ParamError("levels", self.levels, "must rise")
        within("hours", self.hours, 1, LONGEST_H)
        within("least_h", self.least_h, 192, 10_000)
        within("memory_h", self.memory_h, self.least_h, 20_000)
        share("gaps", self.gaps, -1e-9, 1)
        within("rows", self.rows, 1_000, 10_000_000)

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One row's forecast.  Axes: h hours ahead (the first is the hour after the origin), q levels.  Milli-GPUs."""

    mean_milli: Floats
    deviation_milli: Floats
    quantile_milli: Floats
    levels: tuple[float, ...]
    why: str  # "" where it is known

    def at(self, level: float) -> Floats:
        """[h] of one quantile.  Raises ParamError for one that was not asked for when the forecaster was fitted."""
        return np.asarray(self.quantile_milli[:, level_of(self.levels, level)])


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Axes: o origins, r rows, h hours ahead, q levels; milli-GPUs, NaN where ``why`` of the row or origin is told."""

    mean_milli: Floats
    deviation_milli: Floats
    quantile_milli: Floats
    why: tuple[str, ...]

    def path(self, origin: int, row: int, levels: tuple[float, ...]) -> Path:
        unknown = bool(np.isnan(self.mean_milli[origin, row]).any())
        why = self.why[row] or ("an hour that it needs was not watched" if unknown else "")
        return Path(
            self.mean_milli[origin, row],
            self.deviation_milli[origin, row],
            self.quantile_milli[origin, row],
            levels,
            why,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """Forecasts made when hours ``origins`` of the history had ended, of every series and every GPU model's pool."""

    word: str
    origins: Longs
    levels: tuple[float, ...]
    series: tuple[Series, ...]
    models: tuple[str, ...]
    tenants: Rows
    pools: Rows
    notes: tuple[str, ...] = field(default=())

    def tenant(self, series: Series, origin: int = -1) -> Path:
        return self.tenants.path(origin, self.series.index(series), self.levels)

    def pool(self, model: str, origin: int = -1) -> Path:
        """Of the sum over the model's tenants, which is not the sum of their quantiles."""
        return self.pools.path(origin, self.models.index(model), self.levels)


def level_of(levels: tuple[float, ...], level: float) -> int:
    for at, one in enumerate(levels):
        if math.isclose(one, level, abs_tol=1e-9):
            return at
    raise ParamError("level", level, f"was not asked for; there are {', '.join(f'{one:g}' for one in levels)}")


def nothing(origins: int, rows: int, hours: int, levels: int) -> tuple[Floats, Floats, Floats]:
    """Mean, deviation and quantiles of which nothing is known yet."""
    shape = (origins, rows, hours)
    return np.full(shape, np.nan), np.full(shape, np.nan), np.full((*shape, levels), np.nan)
