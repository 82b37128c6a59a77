"""Both ledgers of a difference add up, whatever the two worlds, and turn round when the instants do."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler.fragmentation.difference import difference
from tests.builders.random_worlds import random_world

seeds = st.integers(0, 100_000)


@given(seeds, seeds)
def test_every_gpu_of_the_change_has_a_row(first: int, second: int) -> None:
    found = difference(random_world(first).snapshot(), random_world(second).snapshot())
    assert sum(row.gpus for row in found.capacity) == found.now.schedulable - found.then.schedulable
    gone = sum(row.gpus for row in found.capacity if row.cause == "gone")
    assert int(found.schedulable.sum()) + gone == found.now.schedulable - found.then.schedulable
    net = sum(row.came_milli - row.ended_milli + row.resized_milli for row in found.demand)
    assert net == found.now.asked_milli - found.then.asked_milli
    assert all(row.gpus and len(row.nodes) <= row.of_nodes for row in found.capacity)


@given(seeds, seeds)
def test_backwards_is_the_opposite(first: int, second: int) -> None:
    one, other = random_world(first).snapshot(), random_world(second).snapshot()
    there, back = difference(one, other), difference(other, one)
    assert sum(row.gpus for row in there.capacity) == -sum(row.gpus for row in back.capacity)
    assert {(row.tenant, row.tier, row.came, row.ended) for row in there.demand} == {
        (row.tenant, row.tier, row.ended, row.came) for row in back.demand
    }


@given(seeds)
def test_nothing_changed_is_nothing_said(seed: int) -> None:
    found = difference(random_world(seed).snapshot(), random_world(seed).snapshot())
    assert found.capacity == () and found.demand == ()
    assert not found.schedulable.any() and not found.free.any()
