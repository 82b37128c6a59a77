from django.urls import path, register_converter
from django.urls.converters import StringConverter

from console.spot import api, api_calibration, api_forecasting
from console.spot.views import calibration, capacity, forecasting, leases, overview


class LeaseActionConverter(StringConverter):
    """What can be done with a lease; anything else is no address."""

    regex = "ask|withdraw|give-back"


register_converter(LeaseActionConverter, "lease_action")

urlpatterns = [
    path("capacity/", capacity.capacity, name="capacity"),
    path("capacity/ask/", capacity.ask, name="ask"),
    path("capacity/estimate/", capacity.estimate, name="estimate"),
    path("capacity/estimates/<row:estimate_id>/", capacity.estimate_part, name="estimate-part"),
    path("capacity/calibration/", calibration.calibration, name="calibration"),
    path("capacity/forecast/", forecasting.forecast, name="forecast"),
    path("spot/", overview.overview, name="overview"),
    path("spot/leases/<row:lease_id>/", leases.lease, name="lease"),
    path("spot/leases/<row:lease_id>/<lease_action:action>/", leases.act, name="act"),
    path("spot/reclaims/", leases.reclaim_log, name="reclaims"),
    path("spot/reclaims.csv", leases.reclaims_csv, name="reclaims-csv"),
    path("spot/bills/", leases.bills, name="bills"),
]
_LEASE = "leases/<row:lease_id>"
api_urlpatterns = [
    path("leases/", api.LeaseList.as_view(), name="leases"),
    path(f"{_LEASE}/", api.LeaseDetail.as_view(), name="lease"),
    path(f"{_LEASE}/ask/", api.LeaseAsk.as_view(), name="lease-ask"),
    path(f"{_LEASE}/withdraw/", api.LeaseWithdraw.as_view(), name="lease-withdraw"),
    path(f"{_LEASE}/give-back/", api.LeaseGiveBack.as_view(), name="lease-give-back"),
    path(f"{_LEASE}/changes/", api.LeaseChanges.as_view(), name="lease-changes"),
    path("lease-estimates/", api.EstimateList.as_view(), name="lease-estimates"),
    path("lease-estimates/<row:estimate_id>/", api.EstimateDetail.as_view(), name="lease-estimate"),
    path("reclaims/", api.ReclaimList.as_view(), name="reclaims"),
    path("reclaims.csv", api.ReclaimsCsv.as_view(), name="reclaims-csv"),
    path("spot/calibration/", api_calibration.CalibrationDetail.as_view(), name="spot-calibration"),
    path("spot/", api.SpotOverview.as_view(), name="spot"),
    path("spot/forecasts/", api_forecasting.ForecastList.as_view(), name="spot-forecasts"),
    path("spot/quotas/", api_forecasting.QuotaList.as_view(), name="spot-quotas"),
    path("spot/backtest/", api_forecasting.BacktestDetail.as_view(), name="spot-backtest"),
    path("spot/bills/", api.BillList.as_view(), name="spot-bills"),
]
