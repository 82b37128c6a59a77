"""Both ledgers of a difference add up, whatever the two worlds, and turn round when the instants do."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.fragmentation.difference import difference, net
from tests.builders.random_worlds import random_world

seeds = st.integers(0, 100_000)


@settings(max_examples=60, deadline=None)
@given(seeds, seeds)
def test_every_gpu_of_the_change_has_a_row(first: int, second: int) -> None:
    found = difference(random_world(first).snapshot(), random_world(second).snapshot())
    assert sum(row.gpus for row in found.capacity) == found.now.schedulable - found.then.schedulable
    gone = sum(row.gpus for row in found.capacity if row.cause == "gone")
    assert int(found.schedulable.sum()) + gone == found.now.schedulable - found.then.schedulable
    net = sum(row.came_milli - row.ended_milli + row.resized_milli for row in found.demand)
    assert net == found.now.asked_milli - found.then.asked_milli
    assert all(row.gpus and len(row.nodes) <= row.of_nodes for row in found.capacity)
    assert all(sum(row.amounts) == row.gpus and len(row.amounts) == len(row.nodes) for row in found.capacity)


@settings(max_examples=60, deadline=None)
@given(seeds, seeds)
def test_so_do_the_ledgers_of_each_pool(first: int, second: int) -> None:
    found = difference(random_world(first).snapshot(), random_world(second).snapshot())
    for pool in found.pools:
        at = (pool.cluster, pool.model)
        rows = sum(row.gpus for row in found.capacity if (row.place.cluster, row.place.model) == at)
        assert rows == pool.now.schedulable - pool.then.schedulable
        assert sum(net(row) for row in pool.demand) == pool.now.asked_milli - pool.then.asked_milli
        assert sum(row.then_milli for row in pool.asked) == pool.then.asked_milli
        assert sum(row.now_milli for row in pool.asked) == pool.now.asked_milli
    for whole, parts in ((found.then, [p.then for p in found.pools]), (found.now, [p.now for p in found.pools])):
        assert whole.schedulable == sum(part.schedulable for part in parts)
        assert (whole.nodes, whole.gpus, whole.free, whole.asked_milli) == tuple(
            sum(getattr(part, field) for part in parts) for field in ("nodes", "gpus", "free", "asked_milli")
        )
    assert sum(net(row) for rows in found.clusters.values() for row in rows) == sum(net(row) for row in found.demand)


@settings(max_examples=60, deadline=None)
@given(seeds, seeds)
def test_backwards_is_the_opposite(first: int, second: int) -> None:
    one, other = random_world(first).snapshot(), random_world(second).snapshot()
    there, back = difference(one, other), difference(other, one)
    assert sum(row.gpus for row in there.capacity) == -sum(row.gpus for row in back.capacity)
    assert {(row.tenant, row.tier, row.came, row.ended) for row in there.demand} == {
        (row.tenant, row.tier, row.ended, row.came) for row in back.demand
    }


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_nothing_changed_is_nothing_said(seed: int) -> None:
    found = difference(random_world(seed).snapshot(), random_world(seed).snapshot())
    assert found.capacity == () and found.demand == ()
    assert not found.schedulable.any() and not found.free.any()
