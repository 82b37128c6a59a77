"""Map columns and GPU states."""

from itertools import pairwise

import pytest

from scheduler.fragmentation.devices import gpu_states
from scheduler.fragmentation.measures import CORDONED, DEGRADED, NO_DATA, NO_GPUS, NOT_READY, OK, node_measures
from tests.builders.worlds import World, world


def columns(made: World, node: int = 0) -> dict[str, int]:
    found = node_measures(made.snapshot())
    names = ("free", "stranded", "cpu_bound", "standby", "lp", "health")
    return {name: int(getattr(found, name)[node]) for name in names}


def why(made: World, node: int = 0) -> str:
    return node_measures(made.snapshot()).why_text(node)


def test_shares_in_percent_of_the_nodes_gpus() -> None:
    made = world().node("n1").pod("a", "n1", 2, tier="LP").pod("s", "n1", 3, standby=True)
    # 3 of 8 free = 37.5 %, rounded up; LP 2 of 8; standby 3 of 8.
    assert columns(made) == {"free": 38, "stranded": 38, "cpu_bound": 0, "standby": 38, "lp": 25, "health": OK}
    assert why(made) == "stranded"


def test_an_empty_node_without_cpu_is_cpu_bound() -> None:
    made = world().node("n1", cpu_milli=64_000)
    assert columns(made) == {"free": 100, "stranded": 0, "cpu_bound": 100, "standby": 0, "lp": 0, "health": OK}
    assert why(made) == "cpu_memory"


def test_a_small_node_is_asked_for_what_it_can_have() -> None:
    assert why(world().node("n1", 1, cpu_milli=12_000)) == ""
    assert why(world().node("n1", 4, cpu_milli=47_000)) == "cpu_memory"
    assert why(world().node("n1", 6).pod("a", "n1", 1)) == "stranded"


def test_a_sliver_is_not_nothing() -> None:
    assert columns(world().node("n1").pod("a", "n1", 1, gpu_milli=5, tier="LP"))["lp"] == 1


def test_a_node_without_gpus_has_no_data() -> None:
    found = columns(world().node("c1", 0))
    assert {found[name] for name in ("free", "stranded", "cpu_bound", "standby", "lp")} == {NO_DATA}
    assert found["health"] == NO_GPUS
    assert why(world().node("c1", 0)) == ""


@pytest.mark.parametrize(
    ("fields", "health"),
    [
        ({}, OK),
        ({"cordoned": True}, CORDONED),
        ({"ready": False, "cordoned": True}, NOT_READY),
        ({"allocatable_gpus": 6}, DEGRADED),
        ({"allocatable_gpus": 8}, OK),
        ({"devices": [{"index": 0, "health": "degraded"}]}, DEGRADED),
        ({"devices": [{"index": 0, "health": "failed"}]}, DEGRADED),
        ({"devices": [{"index": 0}]}, OK),
    ],
)
def test_health_says_the_worst_that_is_known(fields: dict[str, object], health: int) -> None:
    assert columns(world().node("n1", **fields))["health"] == health


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (world().node("n1"), ""),
        (world().node("n1", ready=False), "unhealthy"),
        (world().node("n1", taints=[{"key": "k", "effect": "NoSchedule"}]), "constraint"),
        (world().node("n1").pod("a", "n1", 8), "allocated_hp"),
        (world().node("n1").pod("a", "n1", 8, tier="LP"), "allocated_lp"),
        (world().node("n1").pod("a", "n1", 8, standby=True), "standby"),
        (world().node("n1", 1).pod("a", "n1", 1, gpu_milli=200), "fractional"),
        (world().node("n1", allocatable_gpus=0), "unhealthy"),
    ],
)
def test_one_word_says_why(made: World, word: str) -> None:
    assert why(made) == word


def test_hover_has_free_and_all_gpus() -> None:
    found = node_measures(world().node("n1").pod("a", "n1", 5).snapshot())
    assert (int(found.free_gpus[0]), int(found.gpus[0]), int(found.stranded_gpus[0])) == (3, 8, 3)


def test_no_nodes_no_columns() -> None:
    assert node_measures(world().snapshot()).free.size == 0


def states(made: World) -> list[list[int]]:
    found = gpu_states(made.snapshot())
    return [found.states[first:end].tolist() for first, end in pairwise(found.offsets.tolist())]


def test_one_state_per_gpu() -> None:
    made = world().node("n1").node("n2", 0).node("n3", 2)
    made.pod("hp", "n1", 2).pod("lp", "n1", 1, tier="LP").pod("s", "n1", 2, standby=True)
    made.pod("x", "n1", 1, gpu_milli=300)
    assert [sorted(row) for row in states(made)] == [[0, 0, 1, 1, 2, 3, 3, 4], [], [0, 0]]


def test_listed_devices_and_failed_ones_keep_their_place() -> None:
    devices = [{"index": i, "health": "failed" if i == 0 else "ok"} for i in range(4)]
    made = world().node("n1", 4, devices=devices).pod("a", "n1", 1, devices=[3], tier="LP").pod("b", "n1", 1)
    assert states(made) == [[5, 1, 0, 2]]


def test_devices_that_the_node_does_not_allocate_count_as_failed() -> None:
    assert sorted(states(world().node("n1", 4, allocatable_gpus=3).pod("a", "n1", 1))[0]) == [0, 0, 1, 5]


def test_what_a_sleeper_lends_is_lp() -> None:
    made = world().node("n1", 4).pod("s", "n1", 3, standby=True).pod("b", "n1", 1, tier="LP", lent_by="jobs/s")
    assert sorted(states(made)[0]) == [0, 2, 3, 3]


def test_what_is_borrowed_beyond_the_sleeper_comes_after_all_owners() -> None:
    made = world().node("n1").pod("a", "n1", 1).pod("s", "n1", 2, standby=True).pod("t", "n1", 2, standby=True)
    made.pod("b", "n1", 1, tier="LP", lent_by="jobs/s").pod("c", "n1", 3, tier="LP", lent_by="jobs/t")
    # a; one of s's two is lent; both of t's are, and one more; two are free.
    assert states(made) == [[1, 2, 3, 2, 2, 2, 0, 0]]


def test_over_commitment_marks_no_more_gpus_than_there_are() -> None:
    assert states(world().node("n1", 8, allocatable_gpus=6).pod("a", "n1", 8)) == [[1] * 8]
