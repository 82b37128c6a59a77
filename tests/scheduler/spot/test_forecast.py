"""Forecasters of HP demand: what each knows, what it says when it knows too little, and that it never looks ahead."""

from statistics import NormalDist

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from scheduler.cluster.errors import ParamError
from scheduler.cluster.snapshot import UNKNOWN, Longs
from scheduler.spot.ahead import Ahead, ForecastParams
from scheduler.spot.forecast import FORECASTERS, GFS, LAST_WEEK_PEAK, LIBRARY, fit, forecast
from scheduler.spot.peaks import Peaks, Series

SERIES = (Series("H100", "day"), Series("H100", "steps"), Series("H100", "still"), Series("L4", "steps"))
HOURS = 40 * 24


def levels(seed: int = 3, hours: int = HOURS) -> Longs:
    """A tenant with a daily wave, two that step up and down, one that never moves; milli-GPUs."""
    rng = np.random.default_rng(seed)
    at = np.arange(hours)
    wave = 60 + 30 * np.sin((at - 6) * 2 * np.pi / 24) + rng.normal(0, 2, hours)
    steps = [40 + np.cumsum(rng.choice([-8, 0, 0, 0, 0, 0, 0, 8], hours)) % 64 for _ in range(2)]
    rows = [wave, steps[0], np.full(hours, 16), steps[1]]
    return np.rint(np.array(rows)).astype(np.int64) * 1000


def peaks(column: Longs | None = None) -> Peaks:
    found = levels() if column is None else column
    return Peaks(0, SERIES, found, found)


PARAMS = ForecastParams(rows=4_000)


@pytest.fixture(scope="module")
def told() -> dict[str, Ahead]:
    return {word: forecast(word, peaks(), PARAMS) for word in FORECASTERS}


def test_every_forecaster_says_mean_deviation_and_rising_quantiles(told: dict[str, Ahead]) -> None:
    for ahead in told.values():
        for series in SERIES:
            path = ahead.tenant(series)
            assert not path.why
            assert (path.deviation_milli >= 0).all()
            assert (np.diff(path.quantile_milli, axis=1) >= 0).all()
            assert (path.quantile_milli >= 0).all()
        assert ahead.pool("H100").mean_milli.shape == (4,)


def test_who_never_moves_is_forecast_where_it_stands_and_surely(told: dict[str, Ahead]) -> None:
    path = told[LIBRARY].tenant(SERIES[2])
    assert path.mean_milli.tolist() == [16_000] * 4
    assert path.deviation_milli.tolist() == [0] * 4
    assert path.at(0.9).tolist() == [16_000] * 4


def test_the_library_knows_the_hour_of_the_day() -> None:
    """At 4 in the morning the wave turns: who only looks at the level stays behind."""
    history = peaks()
    origin = HOURS - 24 + 2
    path = (
        fit(LIBRARY, history.until(origin + 1), ForecastParams(levels=(0.9,)))
        .ahead(history, np.array([origin]))
        .tenant(SERIES[0])
    )
    later = history.peak_milli[0, origin + 4]
    held = history.closing_milli[0, origin]
    assert abs(path.mean_milli[3] - later) < 0.6 * abs(held - later)


def test_gfs_adds_means_and_variances_of_tenants(told: dict[str, Ahead]) -> None:
    """Pool = (sum of means, root of summed variances), quantile of the normal distribution: the published rule."""
    ahead = told[GFS]
    mean = sum(ahead.tenant(one).mean_milli for one in SERIES[:3])
    wide = np.sqrt(sum(ahead.tenant(one).deviation_milli ** 2 for one in SERIES[:3]))
    pool = ahead.pool("H100")
    assert np.allclose(pool.mean_milli, mean)
    assert np.allclose(pool.deviation_milli, wide)
    assert np.allclose(pool.at(0.9), mean + NormalDist().inv_cdf(0.9) * wide)


def test_last_weeks_peak_is_the_most_of_168_hours(told: dict[str, Ahead]) -> None:
    seen = levels()[:, -168:].max(axis=1)
    assert told[LAST_WEEK_PEAK].pool("H100").at(0.9).tolist() == [seen[:3].sum()] * 4


@pytest.mark.parametrize("word", FORECASTERS)
def test_nobody_looks_ahead(word: str, told: dict[str, Ahead]) -> None:
    """Hours after the origin may be anything."""
    origin = np.array([HOURS - 1])
    other = np.concatenate([levels(), np.full((len(SERIES), 5), 999_000)], axis=1)
    again = fit(word, peaks(), PARAMS).ahead(peaks(other), origin)
    assert np.array_equal(again.tenants.quantile_milli, told[word].tenants.quantile_milli)
    assert np.array_equal(again.pools.quantile_milli, told[word].pools.quantile_milli)


def test_the_library_answers_the_same_on_any_number_of_threads(told: dict[str, Ahead]) -> None:
    with threadpool_limits(1):
        again = forecast(LIBRARY, peaks(), PARAMS)
    assert np.array_equal(again.tenants.quantile_milli, told[LIBRARY].tenants.quantile_milli)
    assert np.array_equal(again.pools.mean_milli, told[LIBRARY].pools.mean_milli)


def test_tenants_who_move_together_widen_the_pool() -> None:
    """Two copies of one tenant: the pool is uncertain twice, not by the root of two as if they were independent."""
    one = levels()[[1]]
    twins = Peaks(0, (Series("L4", "a"), Series("L4", "b")), np.repeat(one, 2, axis=0), np.repeat(one, 2, axis=0))
    alone = Peaks(0, (Series("L4", "a"),), one, one)
    both, single = forecast(LIBRARY, twins, PARAMS).pool("L4"), forecast(LIBRARY, alone, PARAMS).pool("L4")
    assert np.allclose(both.deviation_milli, 2 * single.deviation_milli, rtol=0.05)
    gfs = forecast(GFS, twins, PARAMS)
    assert np.allclose(gfs.pool("L4").deviation_milli, np.sqrt(2) * gfs.tenant(twins.series[0]).deviation_milli)


def test_a_history_that_is_too_short_is_told() -> None:
    short = peaks(levels(hours=100))
    for word, said in (
        (LIBRARY, "needs 336 h of history, 100 are known"),
        (GFS, "needs 844 h of history, there are 100"),
        (LAST_WEEK_PEAK, "needs 168 h of history, there are 100"),
    ):
        path = forecast(word, short, PARAMS).pool("H100")
        assert path.why == said
        assert np.isnan(path.mean_milli).all()
        assert np.isnan(path.at(0.9)).all()


def test_gaps_are_told_and_never_filled() -> None:
    column = levels()
    column[1, -200:] = UNKNOWN
    found = {word: forecast(word, peaks(column), PARAMS) for word in (LIBRARY, GFS, LAST_WEEK_PEAK)}
    assert found[LIBRARY].tenant(SERIES[1]).why == "200 of the last 960 h were not watched, at most 10% may be"
    assert found[GFS].tenant(SERIES[1]).why == "needs 844 h without a gap, 200 of the last were not watched"
    assert found[LAST_WEEK_PEAK].tenant(SERIES[1]).why == "an hour that it needs was not watched"
    for ahead in found.values():
        assert ahead.pool("H100").why  # one of its tenants is not known
        assert not ahead.pool("L4").why


def test_the_library_goes_on_through_a_few_gaps_but_not_from_one() -> None:
    column = levels()
    column[:, 500:520] = UNKNOWN
    assert not forecast(LIBRARY, peaks(column), PARAMS).pool("H100").why
    column[:, -1] = UNKNOWN
    assert forecast(LIBRARY, peaks(column), PARAMS).pool("H100").why == "an hour that it needs was not watched"


def test_a_storm_is_foretold_a_day_ahead() -> None:
    path = forecast(LIBRARY, peaks(), ForecastParams(hours=24, rows=8_000, levels=(0.9,))).tenant(SERIES[0])
    assert path.mean_milli.shape == (24,)
    assert np.argmax(path.mean_milli) in range(10, 15)  # the wave's top is at noon, hours ahead count from midnight


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"levels": ()}, "levels"),
        ({"levels": (0.9, 0.5)}, "levels"),
        ({"levels": (1.0,)}, "levels"),
        ({"hours": 0}, "hours"),
        ({"least_h": 10}, "least_h"),
        ({"memory_h": 200}, "memory_h"),
        ({"gaps": 1.5}, "gaps"),
        ({"rows": True}, "rows"),
    ],
)
def test_params_check_themselves(fields: dict[str, object], named: str) -> None:
    with pytest.raises(ParamError) as refused:
        ForecastParams(**fields)  # type: ignore[arg-type]
    assert refused.value.field == named


def test_unknown_words_and_quantiles_are_refused(told: dict[str, Ahead]) -> None:
    with pytest.raises(ParamError, match="there are library, gfs, last_week_peak"):
        fit("oracle", peaks())
    with pytest.raises(ParamError, match=r"was not asked for; there are 0.1, 0.5, 0.9"):
        told[LIBRARY].pool("H100").at(0.95)
