"""Between which cents a price may lie."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.prices.spans import allowed, next_hour

CENTS = st.integers(1, 2000)


@pytest.mark.parametrize(
    ("before", "floor", "ceiling", "expected"),
    [
        ([], 10, 100, (10, 100)),
        ([50], 10, 100, (48, 52)),
        ([10], 10, 100, (10, 11)),
        ([3], 1, 100, (2, 4)),
        ([50, 52], 10, 100, (50, 52)),
        ([100], 10, 100, (95, 100)),
        ([40], 60, 100, (60, 60)),
        ([40], 10, 30, (30, 30)),
        ([50], None, 100, None),
        ([50], 10, None, None),
        ([50], 101, 100, None),
    ],
)
def test_which_cents_are_allowed(before: list[int], floor: int | None, ceiling: int | None, expected: object) -> None:
    assert allowed(before, floor, ceiling, 5) == expected


@given(st.lists(CENTS, max_size=4), CENTS, CENTS, st.integers(1, 100))
def test_a_price_is_within_floor_and_ceiling_whatever_was(
    before: list[int], floor: int, ceiling: int, percent: int
) -> None:
    found = allowed(before, floor, ceiling, percent)
    assert (found is None) == (floor > ceiling)
    if found is not None:
        assert floor <= found[0] <= found[1] <= ceiling


def test_the_next_full_hour_is_not_before_an_instant() -> None:
    half, full = datetime(2026, 1, 1, 23, 0, 1, tzinfo=UTC), datetime(2026, 1, 1, 23, tzinfo=UTC)
    assert (next_hour(half), next_hour(full)) == (datetime(2026, 1, 2, tzinfo=UTC), full)
