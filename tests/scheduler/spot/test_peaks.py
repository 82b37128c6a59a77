"""Hourly peaks: exact, half-open, and unknown where nobody watched."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import UNKNOWN
from scheduler.spot.peaks import HOUR_S, Held, Peaks, Series, peaks_of

A, B, OTHER = Series("H100", "a"), Series("H100", "b"), Series("L4", "a")


def table(*rows: list[int], series: tuple[Series, ...] = (A, B), **fields: Any) -> Peaks:
    column = np.array(rows, np.int64)
    return Peaks(**{"begin_s": 0, "series": series, "peak_milli": column, "closing_milli": column, **fields})


def test_who_ends_as_another_starts_does_not_count_beside_it() -> None:
    held = [Held(A, 0, 1800, 8000), Held(A, 1800, 3600, 8000), Held(A, 3600, 7200, 2000)]
    found = peaks_of(held, begin_s=0, hours=3)
    assert found.peak_milli.tolist() == [[8000, 2000, 0]]
    assert found.closing_milli.tolist() == [[8000, 2000, 0]]


def test_a_peak_inside_an_hour_is_seen_though_neither_end_shows_it() -> None:
    found = peaks_of([Held(A, 600, 1200, 3000), Held(A, 900, 1000, 4000)], begin_s=0, hours=1)
    assert found.peak_milli.tolist() == [[7000]]
    assert found.closing_milli.tolist() == [[0]]


def test_what_began_before_the_first_hour_counts_in_it() -> None:
    found = peaks_of([Held(A, 0, 9 * HOUR_S, 500)], begin_s=2 * HOUR_S, hours=2)
    assert found.peak_milli.tolist() == [[500, 500]]


def test_a_pool_is_unknown_in_the_hours_in_which_one_tenant_is() -> None:
    pools = table([1000, UNKNOWN, 3000], [1, 2, 3], [7, 7, 7], series=(A, B, OTHER)).pools()
    assert [one.gpu_model for one in pools.series] == ["H100", "L4"]
    assert pools.peak_milli.tolist() == [[1001, UNKNOWN, 3003], [7, 7, 7]]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"begin_s": 5}, "begin_s: must be the start of an hour"),
        ({"series": (A, A)}, "stand twice"),
        ({"series": (A,)}, "must have the shape (1, 2)"),
        ({"peak_milli": np.array([[-2, 0], [0, 0]])}, "-1 where it is not known"),
        ({"closing_milli": np.array([[UNKNOWN, 0], [0, 0]])}, "known in the hours in which the peak is"),
    ],
)
def test_a_table_that_cannot_be_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        table([0, 0], [0, 0], **fields)
    assert said in str(refused.value)


def test_an_interval_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InputError, match="end when it starts or later"):
        peaks_of([Held(A, 10, 5, 1000)], begin_s=0, hours=1)


spans = st.tuples(st.sampled_from([A, B]), st.integers(0, 8 * 12), st.integers(0, 40), st.integers(1, 8)).map(
    lambda one: Held(one[0], one[1] * 300, (one[1] + one[2]) * 300, one[3] * 1000)
)


@given(st.lists(spans, min_size=1, max_size=12))
def test_peaks_are_those_of_looking_at_every_step(held: list[Held]) -> None:
    """Everything changes at multiples of 300 s, so that looking just then misses nothing."""
    found = peaks_of(held, begin_s=0, hours=9)
    for row, series in enumerate(found.series):
        seen = [
            sum(one.milli for one in held if one.series == series and one.start_s <= at < one.end_s)
            for at in range(0, 9 * HOUR_S, 300)
        ]
        assert found.peak_milli[row].tolist() == [max(seen[at : at + 12]) for at in range(0, 108, 12)]
        assert found.closing_milli[row].tolist() == [seen[at + 11] for at in range(0, 108, 12)]
