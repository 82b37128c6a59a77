"""What filters and freezes can name: everything that was observed, whether or not it was drawn on the map."""

import pytest

from console.inventory import services
from console.inventory.selectors import filter_choices
from tests.builders.fleets import file_source, observed
from tests.builders.people import operator
from tests.builders.worlds import GPU_MODEL, world

pytestmark = pytest.mark.django_db


def test_a_source_that_was_never_drawn_can_be_named() -> None:
    source = file_source(world().asw("asw-1").node("n1").asw(None).node("n2").pod("a", "n1"), "bare")
    reading = services.observe(source.pk)  # as an execution reads: complete, but without the map's columns
    assert reading is not None
    assert reading.columns is None
    found = filter_choices(operator())
    assert found.sources == ("bare",)
    assert found.clusters == ("default",)
    assert found.models == (GPU_MODEL,)
    assert found.asws == ("asw-1",)
    assert found.tenants == ("t1",)


def test_the_newest_reading_of_each_source_counts() -> None:
    observed(world().node("n1", gpu_model="A100").pod("a", "n1", tenant="t2"), "drawn")
    bare = file_source(world().node("n2").pod("b", "n2"), "bare")
    services.observe(bare.pk)
    found = filter_choices(operator())
    assert found.sources == ("bare", "drawn")
    assert found.models == ("A100", GPU_MODEL)
    assert found.tenants == ("t1", "t2")


def test_nothing_can_be_named_before_the_first_reading() -> None:
    file_source(world().node("n1"), "bare")
    found = filter_choices(operator())
    assert (found.sources, found.clusters, found.models, found.asws, found.tenants) == ((), (), (), (), ())
