"""How far back the curve of the standby pool reaches."""

import pytest

from console.overview.selectors import _span_hours

DAY = 144  # stretches of ten minutes


@pytest.mark.parametrize(
    ("first_known", "hours"),
    [(None, 2), (DAY - 1, 2), (DAY - 12, 2), (DAY - 13, 6), (DAY - 36, 6), (DAY - 37, 24), (0, 24)],
)
def test_it_is_the_shortest_span_that_holds_what_is_known(first_known: int | None, hours: int) -> None:
    known = [first_known is not None and place >= first_known for place in range(DAY)]
    assert _span_hours(known) == hours


def test_a_gap_hides_nothing_before_it() -> None:
    assert _span_hours([True, *[False] * (DAY - 2), True]) == 24
