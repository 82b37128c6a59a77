"""What changed between two instants: every GPU of the change has one cause, every tenant its row."""

from typing import Any

import pytest

from scheduler.fragmentation.difference import (
    CAUSES,
    Asked,
    CapacityChange,
    DemandChange,
    Difference,
    Place,
    difference,
)
from tests.builders.worlds import GPU_MODEL, World, world

HERE = Place("default", GPU_MODEL, "asw-17")


def between(then: World, now: World) -> Difference:
    return difference(then.snapshot(), now.snapshot())


def told(found: Difference) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(row.cause, row.gpus, row.nodes) for row in found.capacity]


FAILED = [{"index": 0, "health": "failed"}, {"index": 1}]


@pytest.mark.parametrize(
    ("before", "after", "cause", "gpus"),
    [
        ({}, {"ready": False}, "not_ready", -8),
        ({"ready": False}, {}, "ready_again", 8),
        ({}, {"cordoned": True}, "cordoned", -8),
        ({"cordoned": True}, {}, "uncordoned", 8),
        ({}, {"cordoned": True, "ready": False}, "not_ready", -8),
        ({"cordoned": True, "ready": False}, {}, "ready_again", 8),
        ({}, {"devices": FAILED}, "failed_devices", -1),
        ({"devices": FAILED}, {}, "healed_devices", 1),
        ({}, {"gpus": 6}, "fewer_gpus", -2),
        ({"gpus": 6}, {}, "more_gpus", 2),
        ({}, {"allocatable_gpus": 3}, "unexplained_loss", -5),
        ({"allocatable_gpus": 3}, {}, "unexplained_gain", 5),
    ],
)
def test_each_cause_of_a_node_that_is_still_there(
    before: dict[str, Any], after: dict[str, Any], cause: str, gpus: int
) -> None:
    found = between(
        world().asw("asw-17").node("n1", **before).node("n2"), world().asw("asw-17").node("n1", **after).node("n2")
    )
    assert found.capacity == (CapacityChange(cause, HERE, gpus, ("n1",), 2, (gpus,)),)
    assert found.now.schedulable - found.then.schedulable == gpus
    assert found.schedulable.tolist() == [gpus, 0]


def test_a_cordon_of_a_node_that_was_silent_already_changes_nothing() -> None:
    found = between(world().node("n1", ready=False), world().node("n1", ready=False, cordoned=True))
    assert found.capacity == ()


def test_nodes_that_go_and_come_are_told_with_their_place() -> None:
    then = world().asw("asw-1").nodes("n1", "n2").asw(None).node("n3", 4)
    now = world().asw("asw-1").node("n2").asw("asw-2").node("n4")
    found = between(then, now)
    assert told(found) == [("gone", -8, ("n1",)), ("gone", -4, ("n3",)), ("new", 8, ("n4",))]
    assert [row.place.asw for row in found.capacity] == ["asw-1", None, "asw-2"]
    assert [row.of_nodes for row in found.capacity] == [2, 1, 1]
    assert found.schedulable.tolist() == [0, 8]


def test_a_loss_with_two_causes_is_divided_between_them() -> None:
    then = world().node("n1")
    now = world().node("n1", gpus=7, devices=FAILED, allocatable_gpus=4)
    found = between(then, now)
    assert told(found) == [
        ("failed_devices", -1, ("n1",)),
        ("fewer_gpus", -1, ("n1",)),
        ("unexplained_loss", -2, ("n1",)),
    ]


def test_a_whole_switch_is_one_row() -> None:
    then = world().asw("asw-17").nodes(*(f"n{i}" for i in range(31))).asw("asw-18").node("m")
    now = world().asw("asw-17").nodes(*(f"n{i}" for i in range(31)), ready=False).asw("asw-18").node("m")
    (row,) = between(then, now).capacity
    assert (row.cause, row.gpus, len(row.nodes), row.of_nodes, row.place.asw) == ("not_ready", -248, 31, 31, "asw-17")


def test_demand_by_tenant_and_tier() -> None:
    then = world().nodes("n1", "n2")
    then.pod("stays", "n1", 2, uid="u1").pod("goes", "n1", 4, uid="u2").pod("shifts", "n1", 1, uid="u3")
    now = world().nodes("n1", "n2")
    now.pod("stays", "n1", 2, uid="u1").pod("shifts", "n2", 1, uid="u3").pod("comes", "n2", 3, uid="u4", tenant="t2")
    found = between(then, now)
    assert found.demand == (
        DemandChange("t1", "HP", 0, 0, 1, 4000, 0, 1),
        DemandChange("t2", "HP", 1, 3000, 0, 0, 0, 0),
    )
    assert found.now.asked_milli - found.then.asked_milli == -1000
    assert found.free.tolist() == [5, -4]


def test_a_pod_of_the_same_name_with_another_uid_is_another_pod() -> None:
    found = between(world().node("n1").pod("a", "n1", 2, uid="u1"), world().node("n1").pod("a", "n1", 2, uid="u2"))
    assert found.demand == (DemandChange("t1", "HP", 1, 2000, 1, 2000, 0, 0),)


def test_a_pod_that_falls_asleep_or_changes_hands_leaves_one_row_for_another() -> None:
    then = world().node("n1").pod("a", "n1", 2, uid="u").pod("b", "n1", 1, uid="v")
    now = world().node("n1").pod("a", "n1", 2, uid="u", standby=True).pod("b", "n1", 1, uid="v", tenant=None)
    rows = {(row.tenant, row.tier): (row.came_milli, row.ended_milli) for row in between(then, now).demand}
    assert rows == {("t1", "HP"): (0, 3000), ("t1", "standby"): (2000, 0), (None, "HP"): (1000, 0)}


def test_waiting_and_finished_pods_ask_for_nothing() -> None:
    then = world().node("n1").pod("a", None, 2).pod("b", "n1", 2, phase="Succeeded")
    assert between(then, world().node("n1")).demand == ()


def test_the_causes_are_told_losses_first() -> None:
    then = world().nodes("a", "b", cordoned=True).nodes("c", "d")
    now = world().nodes("a", "b").node("c", ready=False).node("d").node("e")
    found = between(then, now)
    assert [row.cause for row in found.capacity] == ["not_ready", "new", "uncordoned"]
    assert all(row.cause in CAUSES for row in found.capacity)


def test_a_node_that_returns_with_other_gpus_is_another_node() -> None:
    found = between(world().node("n1"), world().node("n1", gpu_model="A10"))
    assert told(found) == [("gone", -8, ("n1",)), ("new", 8, ("n1",))]
    assert [(pool.model, pool.then.schedulable, pool.now.schedulable) for pool in found.pools] == [
        ("A10", 0, 8),
        (GPU_MODEL, 8, 0),
    ]


def test_pools_and_clusters_hold_the_same_ledgers() -> None:
    then = world().node("n1").node("m1", gpu_model="A10").pod("a", "n1", 2, uid="u").pod("b", "n1", 1, uid="v")
    now = world().node("n1").node("m1", gpu_model="A10").pod("a", "m1", 2, uid="u").pod("b", "n1", 1, uid="v")
    found = between(then, now)
    assert found.demand == found.clusters["default"] == (DemandChange("t1", "HP", 0, 0, 0, 0, 0, 1),)
    other, here = found.pools
    assert other.demand == (DemandChange("t1", "HP", 1, 2000, 0, 0, 0, 0),)
    assert here.demand == (DemandChange("t1", "HP", 0, 0, 1, 2000, 0, 0),)
    assert here.asked == (Asked("t1", "HP", 3000, 1000),) and other.asked == (Asked("t1", "HP", 0, 2000),)
    assert (here.then.free, here.now.free, other.then.free, other.now.free) == (5, 7, 8, 6)
