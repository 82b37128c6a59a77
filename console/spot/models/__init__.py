"""Rows of spot capacity, one file for each concern."""

from console.spot.models.calibration import ScoredChance, SupplySample
from console.spot.models.estimates import Estimate
from console.spot.models.forecasts import BacktestRun, Forecast, ForecastRun, HourPeak, HourWatched, SpotQuota
from console.spot.models.leases import Lease, LeaseChange, Run, Seat
from console.spot.models.reclaims import Reclaim

__all__ = [
    "BacktestRun",
    "Estimate",
    "Forecast",
    "ForecastRun",
    "HourPeak",
    "HourWatched",
    "Lease",
    "LeaseChange",
    "Reclaim",
    "Run",
    "ScoredChance",
    "Seat",
    "SpotQuota",
    "SupplySample",
]
