"""Whether told chances held: bins, intervals, Brier score and its parts; and curves learnt from the past."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.spot.calibration import MEANINGS, Told, recalibration, reliability, wilson

TOLD = st.lists(st.builds(Told, st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def test_a_page_by_hand() -> None:
    """Four told 0.75 of whom three started, two told 0.05 of whom none did."""
    found = reliability([Told(0.75, True)] * 3 + [Told(0.75, False)] + [Told(0.05, False)] * 2)
    assert found.asks == 6
    assert found.brier == pytest.approx((3 * 0.0625 + 0.5625 + 2 * 0.0025) / 6)
    high = found.bins[7]
    assert (high.asks, high.started, high.share, high.said) == (4, 3, 0.75, 0.75)
    assert found.error_points == pytest.approx(100 * 2 / 6 * 0.05)
    assert found.skill == pytest.approx(1 - (found.brier or 0) / 0.25)
    assert [one.share for one in found.bins].count(None) == 8


def test_wilson_as_published() -> None:
    """The interval of 8 of 10 is 0.490 to 0.943 (Brown, Cai and DasGupta, 2001); of none it does not shrink to 0."""
    assert wilson(8, 10) == pytest.approx((0.490, 0.943), abs=5e-4)
    low, high = wilson(0, 10)
    assert low == pytest.approx(0) and high > 0.2
    with pytest.raises(ValueError, match="no asks"):
        wilson(0, 0)


def test_nobody_asked_is_unknown_and_not_perfect() -> None:
    found = reliability([])
    assert (found.asks, found.brier, found.error_points, found.skill) == (0, None, None, None)
    assert reliability([Told(0.9, True)]).skill is None
    assert set(MEANINGS) >= {"said", "started", "brier", "error"}


@settings(max_examples=60, deadline=None)
@given(TOLD)
def test_the_parts_sum_to_the_score(told: list[Told]) -> None:
    found = reliability(told)
    parts = (found.reliability or 0) - (found.resolution or 0) + (found.uncertainty or 0) + (found.inside or 0)
    assert parts == pytest.approx(found.brier)
    assert sum(one.asks for one in found.bins) == len(told)
    for one in found.bins:
        if one.share is not None:
            assert (one.low95 or 0) - 1e-12 <= one.share <= (one.high95 or 0) + 1e-12


@settings(max_examples=60, deadline=None)
@given(TOLD)
def test_a_curve_never_falls_and_stays_a_chance(told: list[Told]) -> None:
    curve = recalibration(told)
    held = [curve.apply(p) for p in np.linspace(0, 1, 41).tolist()]
    assert all(0 <= a <= b + 1e-12 <= 1 + 1e-9 for a, b in zip(held, [*held[1:], 1.0], strict=True))


def test_too_high_chances_come_down_and_few_asks_hardly_move_them() -> None:
    rng = np.random.default_rng(3)
    said = rng.random(4000)
    many = [Told(float(p), bool(rng.random() < p * p)) for p in said]
    curve = recalibration(many)
    fresh = [Told(curve.apply(float(p)), bool(rng.random() < p * p)) for p in rng.random(4000)]
    assert (reliability(many).error_points or 0) > 10 > 4 > (reliability(fresh).error_points or 99)
    assert recalibration([Told(0.5, False)]).apply(0.5) > 0.45
    assert recalibration([]).apply(0.3) == 0.3
