"""Spot quotas: the reserve as published, and two feedbacks inside their bounds."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.errors import ParamError
from scheduler.spot.ahead import Path
from scheduler.spot.quota import (
    BACK,
    BLIND,
    LOWERED,
    PAPER,
    RAISED,
    STEADY,
    Eta,
    QuotaParams,
    eviction_rate,
    next_eta,
    reserve,
    spot_quota,
)

RULE = QuotaParams(feedback=PAPER)
OURS = QuotaParams()


def path(*quantiles: float, why: str = "") -> Path:
    column = np.array(quantiles, np.float64)
    return Path(column, np.zeros(len(column)), column[:, None], (0.9,), why)


@pytest.mark.parametrize(
    ("quantile", "capacity", "reserved"), [(12_999.9, 80_000, 12_000), (-5.0, 80_000, 0), (99_000, 80_000, 80_000)]
)
def test_the_reserve_is_floored_and_cut_to_what_there_is(quantile: float, capacity: int, reserved: int) -> None:
    assert reserve(quantile, capacity) == reserved


def test_quota_is_eta_times_what_is_left_in_whole_gpus() -> None:
    found = spot_quota(path(30_500, 70_000), 80_000, 0.5)
    assert (found.reserved_milli, found.quota_milli) == (30_000, 25_000)
    assert spot_quota(path(30_500, 70_000), 80_000, 0.5, QuotaParams(hours=2)).quota_milli == 5_000
    assert spot_quota(path(0.0), 80_000, 1.25).quota_milli == 80_000  # never more than there is


def test_an_unknown_demand_gives_no_quota_and_says_why() -> None:
    found = spot_quota(path(math.nan, why="needs 336 h of history, 3 are known"), 80_000, 1.0)
    assert (found.reserved_milli, found.quota_milli, found.why) == (None, None, "needs 336 h of history, 3 are known")


@pytest.mark.parametrize(
    ("rate", "wait_s", "factor", "why"),
    [
        (0.15, None, 0.1 / 0.15, LOWERED),
        (0.149, 9_999, 1.0, STEADY),
        (0.3, None, 1 / 3, LOWERED),
        (0.05, 3_601, 1.0, RAISED),
        (0.0, 3_601, 1.5, RAISED),
        (0.02, 3_601, 1.3, RAISED),
        (0.0, 3_600, 1.0, STEADY),
        (0.06, 9_999, 1.0, STEADY),
    ],
)
def test_the_published_rule(rate: float, wait_s: int | None, factor: float, why: str) -> None:
    """Constants of GFS with the paper's form for raising, p = 0.9; from 0.6, where no bound is near."""
    found = next_eta(0.6, rate, wait_s, RULE)
    assert math.isclose(found.value, max(0.25, 0.6 * factor), rel_tol=1e-9)
    assert found.why == why


def test_bounds_hold_and_are_told() -> None:
    assert next_eta(0.3, 1.0, None, RULE) == Eta(0.25, 0.25 / 0.3, LOWERED, bounded=True)
    assert next_eta(1.2, 0.0, 7_200, RULE).value == 1.25


@pytest.mark.parametrize("params", [RULE, OURS])
def test_unknown_evictions_move_nothing(params: QuotaParams) -> None:
    assert next_eta(0.7, None, 99_999, params) == Eta(0.7, 1.0, BLIND)
    assert eviction_rate(0, 0) is None
    assert eviction_rate(1, 4) == 0.25


def test_ours_falls_rises_and_goes_back_to_one() -> None:
    assert next_eta(1.0, 0.2, None, OURS).why == LOWERED
    assert next_eta(1.0, 0.0, 7_200, OURS).why == RAISED
    assert next_eta(0.7, 0.0, None, OURS).why == BACK
    eta = 0.5
    for _ in range(24 * 12):
        eta = next_eta(eta, 0.0, None, OURS).value
    assert math.isclose(eta, 1.0, abs_tol=0.01)


rates, waits, etas = st.floats(0, 1), st.integers(0, 40_000), st.floats(0.25, 1.25)


@given(etas, rates, waits, st.integers(1, 6 * 3600))
def test_ours_is_bounded_in_value_and_in_speed(eta: float, rate: float, wait_s: int, elapsed_s: int) -> None:
    found = next_eta(eta, rate, wait_s, OURS, elapsed_s=elapsed_s)
    assert OURS.low <= found.value <= OURS.high
    assert abs(math.log(found.value / eta)) <= OURS.step * elapsed_s / 3600 + 1e-9


@given(etas, rates, rates, waits)
def test_more_evictions_never_give_more(eta: float, one: float, other: float, wait_s: int) -> None:
    low, high = sorted((one, other))
    more = next_eta(max(eta, 1.0), low, wait_s, OURS).value, next_eta(max(eta, 1.0), high, wait_s, OURS).value
    if wait_s > 2 * OURS.wait_s:
        assert more[1] <= more[0] + 1e-12


@given(etas, rates, waits)
def test_ours_does_not_jump(eta: float, rate: float, wait_s: int) -> None:
    """A thousandth more of evictions and a second more of waiting move eta by hardly anything."""
    before = next_eta(eta, rate, wait_s, OURS).value
    after = next_eta(eta, min(1.0, rate + 0.001), wait_s + 1, OURS).value
    assert abs(after - before) < 0.002


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"level": 1.0}, "level"), ({"low": 1.5}, "low"), ({"high": 0.5}, "high"), ({"feedback": "bang"}, "feedback"),
     ({"step": 0}, "step"), ({"hours": 0}, "hours")],
)  # fmt: skip
def test_params_check_themselves(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ParamError) as refused:
        QuotaParams(**fields)
    assert refused.value.field == named
