"""Windows against a clock that looks at every minute; the pool now, ahead and over the day."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.errors import ParamError
from scheduler.spot.pool import Kept, kept_of, over_the_day, pool_ahead
from scheduler.spot.rebate import SleepRates
from scheduler.spot.standby import (
    DAY_S,
    HOUR_S,
    Span,
    Window,
    clock_offset,
    next_change,
    pool_now,
    sleepers_of,
    span_at,
    spans,
    weekday,
)
from tests.builders.worlds import World, world

MONDAY = int(datetime(2026, 11, 30, tzinfo=UTC).timestamp())


def test_days_of_the_week_are_those_of_the_calendar() -> None:
    for day in range(0, 30_000, 13):
        assert weekday(day * DAY_S + 5) == datetime.fromtimestamp(day * DAY_S, UTC).weekday()


WINDOWS = st.builds(
    lambda start, length, days, until: Window(
        starts_s=MONDAY + start * 60,
        length_s=length * 60,
        days=tuple(days),
        until_s=None if until is None else MONDAY + start * 60 + until * 3600,
    ),
    st.integers(0, 10 * 1440),
    st.integers(1, 1440),
    st.sets(st.integers(0, 6)),
    st.none() | st.integers(1, 400),
)


def _on(window: Window, at_s: int) -> bool:
    """Written apart: is some start within the last ``length_s`` seconds?"""
    starts = [window.starts_s]
    if window.days:
        starts = [window.starts_s + k * DAY_S for k in range(60)]
        starts = [s for s in starts if datetime.fromtimestamp(s, UTC).weekday() in window.days]
        starts = [s for s in starts if window.until_s is None or s < window.until_s]
    return any(s <= at_s < s + window.length_s for s in starts)


@settings(max_examples=40, deadline=None)
@given(st.lists(WINDOWS, max_size=3), st.integers(0, 20 * 1440), st.integers(1, 3 * 1440))
def test_spans_are_the_minutes_at_which_a_window_is_on(windows: list[Window], low: int, length: int) -> None:
    low_s, high_s = MONDAY + low * 60, MONDAY + (low + length) * 60
    found = spans(windows, low_s, high_s)
    assert all(a.end_s < b.start_s for a, b in pairwise(found))
    for at in range(low_s, high_s, 17 * 60):
        assert any(one.start_s <= at < one.end_s for one in found) == any(_on(w, at) for w in windows), at
        now = span_at(windows, at)
        assert (now is not None) == any(_on(w, at) for w in windows)
    change = next_change(windows, low_s)
    if change is not None and change < high_s:
        before = any(_on(w, low_s) for w in windows)
        assert any(_on(w, change) for w in windows) != before


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("starts_s", {"starts_s": -1}),
        ("length_s", {"length_s": 10}),
        ("length_s", {"length_s": 2 * DAY_S, "days": (0,)}),
        ("days", {"days": (7,)}),
        ("days", {"days": (1, 1)}),
        ("until_s", {"until_s": MONDAY}),
    ],
)
def test_what_is_no_window_is_refused(field: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ParamError) as told:
        Window(**{"starts_s": MONDAY, "length_s": HOUR_S, **fields})
    assert told.value.field == field


def _pool() -> World:
    built = world(1000).asw("a").nodes("n1", "n2").asw(None).node("n3").node("n4", cordoned=True)
    built.pod("s1", "n1", 8, standby=True, standby_until_s=5000, memory_mib=1000, gpu_memory_mib=40_000)
    built.pod("b1", "n1", 3, tier="LP", lent_by="jobs/s1", memory_mib=500)
    built.pod("s2", "n2", 4, standby=True, memory_mib=1 << 20)  # nothing is left for anybody
    built.pod("s3", "n3", 2, standby=True).pod("s4", "n4", 2, standby=True)
    return built.pod("day", "n3", 4)


def test_the_pool_now_by_model_and_switch_with_what_sleepers_hold() -> None:
    snapshot = _pool().snapshot()
    sleepers = sleepers_of(snapshot)
    assert [one.pod for one in sleepers] == ["jobs/s1", "jobs/s2", "jobs/s3", "jobs/s4"]
    assert sleepers[0].until_s == 5000 + clock_offset(snapshot) and sleepers[1].until_s is None
    known, none = pool_now(snapshot, sleepers, SleepRates())[1], pool_now(snapshot, sleepers)[0]
    assert (known.asw, known.pods, known.asleep_milli, known.lent_milli) == ("a", 2, 12_000, 3_000)
    assert (known.lendable_milli, known.no_memory_milli) == (5_000, 4_000)
    assert known.host_mib == 1000 + (1 << 20) and known.addresses == 2
    assert (none.asw, none.lendable_milli, none.out_of_service_milli) == (None, 2_000, 2_000)
    assert known.cost.total_cents is not None and known.cost.total_cents > 300
    blind = world().node("n", gpu_model="nobody-knows").pod("s", "n", 1, standby=True).snapshot()
    (row,) = pool_now(blind, sleepers_of(blind))
    assert row.device_mib is None and row.cost.total_cents is None  # unknown, not 0


def test_the_pool_ahead_is_what_the_windows_say_as_well_as_they_were_kept() -> None:
    snapshot = world(1000).nodes("n1", "n2").pod("a", "n1", 8).pod("b", "n2", 4, standby=True).snapshot()
    night = Window(starts_s=MONDAY + 20 * HOUR_S, length_s=8 * HOUR_S, days=(0, 1, 2, 3, 4))
    sleepers = sleepers_of(snapshot, {"jobs/a": [night]})
    ahead = pool_ahead(sleepers, MONDAY, MONDAY + 2 * DAY_S, HOUR_S, Kept(1.0))
    (row,) = ahead.models
    hours = [(at - MONDAY) // HOUR_S for at in ahead.at_s]
    expected = [4_000 + (8_000 if 20 <= h < 28 or h >= 44 else 0) for h in hours]
    assert list(row.planned_milli) == expected == list(row.middle_milli)
    doubtful = pool_ahead(sleepers, MONDAY + 21 * HOUR_S, MONDAY + 24 * HOUR_S, HOUR_S, Kept(0.5)).models[0]
    columns = (doubtful.low_milli, doubtful.middle_milli, doubtful.high_milli, doubtful.planned_milli)
    assert all(list(step) == sorted(step) for step in zip(*columns, strict=True))
    assert doubtful.low_milli[1] < doubtful.high_milli[1]
    with pytest.raises(ParamError):
        pool_ahead(sleepers, MONDAY, MONDAY)


def test_how_well_windows_were_kept_and_the_hours_of_the_day() -> None:
    span = Span(0, 10 * HOUR_S)
    kept = kept_of([("ns/a", span, 10 * HOUR_S)] * 20 + [("ns/b", span, 0)] * 20)
    assert kept.share("ns/a") > 0.9 > kept.share("ns/b") and kept.share("ns/b") < kept.share("new") < kept.share("ns/a")
    rows = over_the_day([(MONDAY + 3 * HOUR_S + i, 1000 * i) for i in range(11)])
    assert (rows[3].low_milli, rows[3].middle_milli, rows[3].high_milli) == (1000, 5000, 9000)
    assert rows[4].samples == 0 and rows[4].middle_milli is None
