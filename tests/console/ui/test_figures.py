"""Figures as words."""

from datetime import UTC, datetime, timedelta

import pytest

from console.ui import figures
from console.ui.ages import age_of, limits, state_of

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "decimals", "words"),
    [(0, 0, "0"), (1872, 0, "1,872"), (-72, 0, "−72"), (5.25, 1, "5.2"), (-0.04, 1, "0.0"), (None, 0, "–")],
)
def test_number(value: float | None, decimals: int, words: str) -> None:
    assert figures.number(value, decimals) == words


@pytest.mark.parametrize(("value", "words"), [(72, "+72"), (0, "0"), (-3, "−3"), (None, "–")])
def test_signed(value: float | None, words: str) -> None:
    assert figures.signed(value) == words


@pytest.mark.parametrize(
    ("milli", "words"),
    [(12_000, "12"), (500, "0.5"), (250, "0.25"), (24_500, "24.5"), (24_250, "24.2"), (0, "0"), (None, "–")],
)
def test_whole_gpus(milli: int | None, words: str) -> None:
    assert figures.whole_gpus(milli) == words


def test_a_share_of_nothing_is_unknown_and_not_zero() -> None:
    assert figures.percent(5, 0) == "–"
    assert figures.percent(None, 10) == "–"
    assert figures.percent(0, 10) == "0.0 %"


@pytest.mark.parametrize(
    ("seconds", "words"), [(2, "2 s"), (59.9, "59 s"), (60, "1 min"), (3600, "1 h"), (90_000, "1 d"), (None, "no data")]
)
def test_duration(seconds: float | None, words: str) -> None:
    assert figures.duration(seconds) == words


def test_ages_are_relative_up_to_one_hour_and_then_a_time() -> None:
    assert figures.age_words(NOON - timedelta(minutes=59), NOON) == "59 min"
    assert figures.age_words(NOON - timedelta(hours=1), NOON) == "11:00:00"
    assert figures.age_words(NOON - timedelta(hours=13), NOON) == "2026-11-28 23:00:00"


@pytest.mark.parametrize(("seconds", "state"), [(4.9, "live"), (5, "delayed"), (29.9, "delayed"), (30, "stale")])
def test_states_of_a_quick_source(seconds: float, state: str) -> None:
    assert state_of(seconds, *limits(1)) == state


@pytest.mark.parametrize(("seconds", "state"), [(119, "live"), (120, "delayed"), (359, "delayed"), (360, "stale")])
def test_a_slow_source_is_judged_by_its_own_period(seconds: float, state: str) -> None:
    assert age_of(NOON - timedelta(seconds=seconds), NOON, 60).state == state


@pytest.mark.parametrize(("octets", "words"), [(840, "840 B"), (12_400, "12.4 kB"), (3_100_000, "3.1 MB"), (None, "–")])
def test_size(octets: int | None, words: str) -> None:
    assert figures.size(octets) == words
