"""Which pool the waterfall and the table of what fits speak of."""

import pytest

from console.overview.filters import FleetView
from console.overview.selectors import board
from tests.builders.fleets import observed
from tests.builders.people import viewer
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ({}, "H20, c1"),
        ({"cluster": "c2"}, "A10, c2"),
        ({"model": "A10"}, "A10, c2"),
        ({"cluster": "c2", "pool": "H20"}, "H20, c1"),
        ({"cluster": "c1", "model": "A10"}, "H20, c1"),
    ],
)
def test_it_follows_the_filter_until_a_pool_is_chosen(query: dict[str, str], label: str) -> None:
    built = world().nodes("a", "b", cluster="c1", gpu_model="H20", cpu_milli=96_000)
    observed(built.node("c", cluster="c2", gpu_model="A10", cpu_milli=96_000))
    seen = board(viewer(), FleetView.of(query))
    assert seen.fits is not None
    assert (seen.waterfall.pool.label, seen.fits.label) == (label, label)
