"""HP demand: watched, forecast, judged and turned into quotas; and each tenant sees its own."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.spot import services
from console.spot.models import BacktestRun, Forecast, ForecastRun, HourPeak, HourWatched, SpotQuota
from console.spot.planning import forecasting as planning
from console.spot.selectors import forecasting as selectors
from console.tenancy.models import UsageFeed
from console.tenancy.services import Denied
from scheduler.spot.ahead import ForecastParams
from tests.builders.people import operator, stranger, tenant

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
BASE = NOW.replace(minute=0)
HOUR = timedelta(hours=1)
MODEL = "H100"


def feed(*rows: list[Any], source: int = 1, at: datetime = NOW) -> None:
    """[cluster, tenant, model, hp, lp, pending] each."""
    UsageFeed.objects.update_or_create(
        source=source, defaults={"name": f"s{source}", "at": at, "period_s": 10, "rows": list(rows)}
    )


def past(hours: int, tenants: tuple[str, ...] = ("team-a", "team-b")) -> None:
    """Watched to the end of the last hour: one tenant steps up and down, the other holds 16 GPUs."""
    at = [BASE - back * HOUR for back in range(hours, 0, -1)]
    HourWatched.objects.bulk_create(HourWatched(began_at=one, minutes=services.forecasting.ALL_MINUTES) for one in at)
    HourPeak.objects.bulk_create(
        HourPeak(
            began_at=one, tenant=name, gpu_model=MODEL,
            peak_milli=(milli := 16_000 if place else 8_000 * (1 + step * 7 % 5)), closing_milli=milli,
        )
        for step, one in enumerate(at)
        for place, name in enumerate(tenants)
    )  # fmt: skip


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few examples, a short day and short back-test: the same code in a second."""
    monkeypatch.setattr(planning, "PARAMS", ForecastParams(hours=6, rows=2_000))
    monkeypatch.setattr(planning, "JUDGED_DAYS", 1)
    monkeypatch.setattr(planning, "_capacity", lambda: {MODEL: 80_000})
    monkeypatch.setattr(selectors, "timezone", SimpleNamespace(now=lambda: NOW))


def test_peaks_are_the_most_seen_in_an_hour_over_all_sources() -> None:
    feed(["c", "team-a", MODEL, 8_000, 0, 0], ["c", "team-a", MODEL, 2_000, 0, 0])
    feed(["d", "team-a", MODEL, 4_000, 1_000, 0], source=2)
    assert services.watch_demand(NOW)
    feed(["d", "team-a", MODEL, 1_000, 0, 0], source=2)
    assert services.watch_demand(NOW + timedelta(seconds=10))
    feed(["c", "team-b", MODEL, 500, 0, 0])
    assert services.watch_demand(NOW + timedelta(minutes=1))
    rows = {row.tenant: (row.peak_milli, row.closing_milli) for row in HourPeak.objects.all()}
    assert rows == {"team-a": (14_000, 1_000), "team-b": (500, 500)}
    assert HourWatched.objects.get().known_minutes == 2


def test_a_source_that_is_not_read_makes_the_minute_unknown() -> None:
    feed(["c", "team-a", MODEL, 8_000, 0, 0])
    feed(["d", "team-a", MODEL, 8_000, 0, 0], source=2, at=NOW - timedelta(minutes=5))
    assert not services.watch_demand(NOW)
    assert not HourWatched.objects.exists() and not HourPeak.objects.exists()


def test_hours_that_were_hardly_watched_are_unknown_and_never_zero() -> None:
    past(5)
    HourWatched.objects.filter(began_at=BASE - 2 * HOUR).update(minutes=0b111)
    HourPeak.objects.filter(began_at=BASE - 3 * HOUR, tenant="team-b").delete()
    peaks, simulated = planning.history(BASE)
    assert peaks is not None and simulated == 0
    assert peaks.peak_milli[1].tolist() == [16_000, 16_000, 0, -1, 16_000]  # no row in a watched hour: it held none


def test_forecasts_are_made_once_an_hour_and_say_why_they_know_nothing(light: None) -> None:
    assert planning.look(NOW) == "1 quotas"
    quota = SpotQuota.objects.get()
    assert (quota.quota_milli, quota.unknown) == (None, "no forecast of this hour was made yet")
    past(30)
    planning.look(NOW)
    planning.look(NOW + timedelta(seconds=60))
    run = ForecastRun.objects.get()
    assert (run.base_at, run.history_h) == (BASE, 30)
    row = Forecast.objects.get(forecaster="library", pool=True)
    assert row.why == "needs 336 h of history, 30 are known" and row.high_milli == []
    assert BacktestRun.objects.count() == 1 and BacktestRun.objects.get().document["scores"][0]["pinball"] is None
    assert selectors.panel(operator()).why == row.why
    assert selectors.quota_of(None, MODEL, NOW) is None


def test_a_history_gives_bands_a_back_test_and_a_quota(light: None) -> None:
    past(400)
    assert planning.look(NOW) == "forecast, judged, 1 quotas"
    panel = selectors.panel(operator())
    assert panel.ours is not None and len(panel.ours.high) == 6 and not panel.why
    assert all(low <= high for low, high in zip(panel.ours.low, panel.ours.high, strict=True))
    assert panel.judged is not None
    scores = {one.forecaster: one for one in panel.judged.of("")}
    assert scores["gfs"].pinball is None  # 400 h are too few for it, so nobody is judged on those hours
    assert {one.why for one in panel.judged.of(MODEL) if one.forecaster == "gfs"} == {
        "needs 844 h of history, there are 373"
    }
    quota = panel.quotas[0]
    assert quota.reserved is not None and quota.quota == 80 - quota.reserved and quota.rate is None
    assert selectors.quota_of("team-a", MODEL, NOW) == quota.quota
    assert panel.actual is not None and panel.actual.gpus[-1] == 16 + 8 * (1 + 399 * 7 % 5)


def test_the_feedback_moves_at_most_every_refresh(light: None) -> None:
    past(30)
    planning.look(NOW)
    planning.look(NOW + timedelta(seconds=100))
    assert SpotQuota.objects.count() == 1


def test_a_demos_past_is_drawn_once_and_says_so(light: None) -> None:
    feed(["c", "team-a", MODEL, 64_000, 0, 0])
    assert services.ensure_peaks(NOW) == 43 * 24
    assert services.ensure_peaks(NOW) == 0
    peaks, simulated = planning.history(BASE)
    assert peaks is not None and simulated == peaks.hours == 43 * 24
    assert (peaks.peak_milli >= peaks.closing_milli).all()


def test_nobody_sees_another_tenants_forecast(light: None) -> None:
    past(400)
    planning.look(NOW)
    mine = selectors.forecasts(tenant("team-b"))
    assert {row.tenant for row in mine} == {"team-b"}
    assert selectors.forecasts(tenant("team-b"), tenant="team-a") == []
    panel = selectors.panel(tenant("team-b"), tenant="team-a")
    assert (panel.tenants, panel.tenant, panel.judged, panel.before) == (("team-b",), "team-b", None, {})
    assert panel.actual is not None and set(panel.actual.gpus) <= {16.0, None}
    nobody = selectors.panel(stranger())
    assert (nobody.models, nobody.rows, nobody.actual) == ((), (), None)
    with pytest.raises(Denied):
        selectors.backtested(tenant("team-b"))
    assert {row.tenant for row in selectors.forecasts(operator())} == {None, "team-a", "team-b"}


def test_the_page_and_the_api_say_the_same(light: None) -> None:
    past(400)
    planning.look(NOW)
    client = APIClient()
    client.force_login(operator())
    page = client.get("/capacity/forecast/").content.decode()
    rows = client.get("/api/v1/spot/forecasts/").json()
    pool = next(row for row in rows if row["tenant"] is None and row["forecaster"] == "library")
    assert f"{pool['high'][0]:,.1f}" in page
    assert "Last week&#x27;s peak" in page or "Last week's peak" in page
    quota = client.get("/api/v1/spot/quotas/").json()
    assert quota[0]["gpu_model"] == MODEL and f'<td class="sl-num">{quota[0]["reserved_gpus"]}</td>' in page
    assert client.get("/api/v1/spot/backtest/").json()["level"] == 0.9
    client.force_login(tenant("team-b"))
    assert client.get("/api/v1/spot/backtest/").status_code == 403
    page = client.get("/capacity/forecast/?of=team-a").content.decode()
    assert "team-a" not in page and "team-b" in page


def test_before_anything_was_watched_the_page_says_what_comes() -> None:
    client = APIClient()
    client.force_login(operator())
    page = client.get("/capacity/forecast/").content.decode()
    assert "A forecast is made" in page and "0 h have been so far" in page
    assert client.get("/api/v1/spot/backtest/").status_code == 404
    assert client.get("/api/v1/spot/forecasts/").json() == []
