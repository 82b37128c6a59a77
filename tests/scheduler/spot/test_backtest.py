"""Back-tests: the same hours for everybody, losses as defined, and nothing judged that is not known."""

import numpy as np
import pytest

from scheduler.cluster.errors import ParamError
from scheduler.cluster.snapshot import UNKNOWN
from scheduler.spot.ahead import ForecastParams
from scheduler.spot.backtest import EVERY_MODEL, Backtest, BacktestParams, backtest, interval, pinball
from scheduler.spot.forecast import GFS, LAST_WEEK_PEAK, LIBRARY
from scheduler.spot.peaks import Peaks
from tests.scheduler.spot.test_forecast import SERIES, levels

PARAMS = BacktestParams(days=2, forecast=ForecastParams(rows=4_000))


@pytest.fixture(scope="module")
def found() -> Backtest:
    return backtest(Peaks(0, SERIES, levels(), levels()), PARAMS)


def test_pinball_is_nine_times_as_dear_above_as_below() -> None:
    assert pinball(np.array([10.0, 10.0, 10.0]), np.array([9.0, 10.0, 11.0]), 0.9).tolist() == pytest.approx(
        [0.9, 0, 0.1]
    )


def test_last_weeks_peak_is_judged_as_by_hand(found: Backtest) -> None:
    """Origins are the ends of the 48 hours before the last 4; each is judged 1 to 4 hours later."""
    seen, losses, covered = levels()[3] / 1000, [], []
    for origin in range(len(seen) - 52, len(seen) - 4):
        said = seen[origin - 167 : origin + 1].max()
        for hour in range(1, 5):
            losses.append(float(pinball(np.array(seen[origin + hour]), np.array(said), 0.9)))
            covered.append(seen[origin + hour] <= said)
    score = found.score(LAST_WEEK_PEAK, "L4")
    assert score.hours == 48 * 4
    assert score.pinball == pytest.approx(np.mean(losses))
    assert score.coverage == pytest.approx(np.mean(covered))


def test_all_is_the_mean_over_models_and_differences_are_paired(found: Backtest) -> None:
    for word in (LIBRARY, GFS, LAST_WEEK_PEAK):
        parts = [found.score(word, model) for model in ("H100", "L4")]
        assert found.score(word).pinball == pytest.approx(np.mean([one.pinball for one in parts]))
        gap = found.difference(word)
        assert gap.mean == pytest.approx(found.score(word).pinball - found.score(GFS).pinball)
        assert gap.days == 2
    assert found.difference(GFS).mean == 0
    far = found.difference(LAST_WEEK_PEAK)
    assert far.low is not None and far.high is not None and far.low < far.mean < far.high


def test_the_library_beats_last_weeks_peak(found: Backtest) -> None:
    assert found.score(LIBRARY).pinball < found.score(LAST_WEEK_PEAK).pinball


def test_paths_are_what_was_forecast_an_hour_ahead(found: Backtest) -> None:
    assert found.actual.shape == found.paths[LIBRARY].shape == (2, 48)
    assert found.begin_s == (40 * 24 - 51) * 3600
    assert found.actual[1].tolist() == (levels()[3, -51:-3] / 1000).tolist()


def test_unknown_hours_are_judged_for_nobody_and_counted() -> None:
    column = levels()
    column[3, -10] = UNKNOWN
    params = BacktestParams(
        days=2, forecasters=(LIBRARY, LAST_WEEK_PEAK), against=LAST_WEEK_PEAK, forecast=PARAMS.forecast
    )
    found = backtest(Peaks(0, SERIES, column, column), params)
    assert found.left_out["H100"] == 0
    assert found.left_out["L4"] > 4
    assert found.score(LIBRARY, "L4").hours == found.score(LAST_WEEK_PEAK, "L4").hours == 48 * 4 - found.left_out["L4"]
    assert np.isnan(found.actual[1, -7])


def test_a_forecaster_that_says_nothing_leaves_nothing_to_judge() -> None:
    short = levels()[:, :600]
    found = backtest(Peaks(0, SERIES, short, short), PARAMS)
    assert found.score(LIBRARY, EVERY_MODEL).pinball is None
    assert found.why[GFS]["L4"] == "needs 844 h of history, there are 573"
    assert not found.why[LIBRARY]["L4"]
    assert found.difference(LIBRARY).mean is None


def test_a_history_no_longer_than_what_is_judged_is_refused() -> None:
    with pytest.raises(ParamError, match="needs more than 52 h, there are 50"):
        backtest(Peaks(0, SERIES, levels()[:, :50], levels()[:, :50]), PARAMS)


def test_intervals_need_two_values() -> None:
    assert interval([]) == (None, None, None)
    assert interval([3.0]) == (3.0, None, None)
    mean, low, high = interval([1.0, 3.0])
    assert (mean, low, high) == pytest.approx((2.0, 2 - 12.706, 2 + 12.706), abs=0.01)


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"level": 0}, "level"), ({"days": 0}, "days"), ({"forecasters": ("oracle",)}, "forecasters"),
     ({"forecasters": (LIBRARY,)}, "against"), ({"refit_h": 0}, "refit_h")],
)  # fmt: skip
def test_params_check_themselves(fields: dict[str, object], named: str) -> None:
    with pytest.raises(ParamError) as refused:
        BacktestParams(**fields)  # type: ignore[arg-type]
    assert refused.value.field == named
