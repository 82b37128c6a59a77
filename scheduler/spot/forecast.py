"""HP demand of the next hours by three forecasters: ours from a library, GFS's rule, last week's peak.

``fit`` learns from a history, ``ahead`` forecasts from the end of any hour without looking beyond it.
"""

from collections.abc import Callable
from typing import Protocol

from threadpoolctl import threadpool_limits

from scheduler.cluster.errors import ParamError
from scheduler.cluster.snapshot import Longs
from scheduler.spot import boosted, gfs, lastweek
from scheduler.spot.ahead import Ahead, ForecastParams
from scheduler.spot.peaks import Peaks

LIBRARY, GFS, LAST_WEEK_PEAK = boosted.WORD, gfs.WORD, lastweek.WORD


class Fitted(Protocol):
    def ahead(self, peaks: Peaks, origins: Longs | None = None) -> Ahead:
        """From the end of each hour in ``origins`` (places in ``peaks``), of the last hour where none is named."""
        ...


_FITS: dict[str, Callable[[Peaks, ForecastParams], Fitted]] = {
    LIBRARY: boosted.fit,
    GFS: gfs.fit,
    LAST_WEEK_PEAK: lastweek.fit,
}
FORECASTERS = tuple(_FITS)
DEFAULT = ForecastParams()


def fit(word: str, peaks: Peaks, params: ForecastParams = DEFAULT) -> Fitted:
    """Raises ParamError for a forecaster that does not exist.  Equal input gives the equal answer."""
    if word not in _FITS:
        raise ParamError("forecaster", word, f"there are {', '.join(FORECASTERS)}")
    # Threads of the libraries spin while they wait for one another; beside other work that costs more than it brings
    with threadpool_limits(1):
        return _FITS[word](peaks, params)


def forecast(word: str, peaks: Peaks, params: ForecastParams = DEFAULT) -> Ahead:
    """Learnt from all of a history and told from its end."""
    with threadpool_limits(1):
        return fit(word, peaks, params).ahead(peaks)
