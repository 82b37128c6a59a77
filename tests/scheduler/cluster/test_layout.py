"""Which device each pod lies on, and what is free: the rule by examples, and the public cases that hang on it."""

from typing import Any

import numpy as np
import pytest

from scheduler.cluster.layout import Layout, layout, slices
from scheduler.cluster.occupancy import STATES, Occupancy, occupancy
from scheduler.cluster.snapshot import Snapshot
from tests.builders.worlds import World, world


def laid(made: World, node: str = "n1") -> Layout:
    snapshot = made.snapshot()
    n = snapshot.node_name.index(node)
    return layout(snapshot, n, np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == n)).tolist())


def by_device(made: World, node: str = "n1") -> list[list[str]]:
    snapshot = made.snapshot()
    return [[snapshot.pod_name[p] for p in pods] for pods in laid(made, node).pods]


def said(made: World) -> dict[str, tuple[int, int, int, str]]:
    """Free whole devices, rest of shared ones, excess and state of each node."""
    snapshot = made.snapshot()
    found: Occupancy = occupancy(snapshot)
    columns = (found.free_gpus, found.shared_rest_milli, found.over_committed_milli)
    rows = zip(*(column.tolist() for column in columns), found.state.tolist(), strict=True)
    return {name: (*row[:3], STATES[row[3]]) for name, row in zip(snapshot.node_name, rows, strict=True)}


def test_listed_devices_bind_then_whole_ones_then_shares_by_size() -> None:
    made = world().node("n1", 4).pod("s-small", "n1", gpu_milli=300).pod("s-large", "n1", gpu_milli=600)
    made.pod("whole", "n1", gpus=2).pod("bound", "n1", devices=[1])
    assert by_device(made) == [["whole"], ["bound"], ["whole"], ["s-large", "s-small"]]
    assert said(made)["n1"] == (0, 100, 0, "slack")


def test_equal_shares_lie_in_the_order_of_identities() -> None:
    made = world().node("n1", 2).pod("b", "n1", gpu_milli=600).pod("a", "n1", gpu_milli=600)
    assert by_device(made) == [["a"], ["b"]]


def test_a_share_of_several_devices_takes_each_of_them_once() -> None:
    made = world().node("n1", 3).pod("wide", "n1", gpus=2, gpu_milli=400).pod("big", "n1", gpu_milli=700)
    assert by_device(made) == [["big"], ["wide"], ["wide"]]
    assert said(made)["n1"] == (0, 1500, 0, "slack")


def test_failed_devices_are_no_whole_gpus() -> None:
    made = world().node("n1", 3, devices=[{"index": 0, "health": "failed"}]).pod("a", "n1").pod("b", "n1", devices=[0])
    assert by_device(made) == [["b"], ["a"], []]
    assert said(made)["n1"] == (1, 0, 0, "slack")


def test_no_more_devices_are_opened_than_the_node_allocates() -> None:
    made = world().node("n1", 4, allocatable_gpus=2).pod("a", "n1").pod("b", "n1", gpu_milli=600)
    assert said(made)["n1"] == (0, 400, 0, "slack")
    assert said(made.pod("c", "n1", gpu_milli=600))["n1"] == (0, 400, 600, "slack")


def test_device_memory_is_shared_where_it_is_known() -> None:
    made = world().node("n1", 2, gpu_memory_mib=100)
    made.pod("a", "n1", gpu_milli=300, gpu_memory_mib=60).pod("b", "n1", gpu_milli=300, gpu_memory_mib=60)
    assert by_device(made) == [["a"], ["b"]]
    assert by_device(made.pod("c", "n1", gpu_milli=300)) == [["a", "c"], ["b"]]


LENT: dict[str, Any] = {"tier": "LP", "lent_by": "jobs/asleep"}


def _asleep(**fields: Any) -> World:
    made = world().node("n1", 8, cpu_milli=10_000, memory_mib=1000)
    return made.pod("asleep", "n1", **{"gpus": 4, "standby": True, "cpu_milli": 4000, "memory_mib": 300, **fields})


@pytest.mark.parametrize(
    ("borrowed", "used_gpus", "used_cpu"), [(2, 4, 4000), (4, 4, 4000), (6, 6, 6000), (0, 4, 4000)]
)
def test_who_sleeps_and_who_borrows_count_as_the_larger(borrowed: int, used_gpus: int, used_cpu: int) -> None:
    made = _asleep().pod("lp", "n1", borrowed, cpu_milli=borrowed * 1000, memory_mib=200, **LENT)
    found = occupancy(made.snapshot())
    assert found.free_gpus.tolist() == [8 - used_gpus]
    assert found.used_gpu_milli.tolist() == [used_gpus * 1000]
    assert found.used_cpu_milli.tolist() == [used_cpu]
    assert found.used_memory_mib.tolist() == [500]


def test_two_borrowers_share_what_one_sleeper_lends() -> None:
    made = _asleep().pod("lp1", "n1", 3, **LENT).pod("lp2", "n1", 3, **LENT)
    assert by_device(made)[:6] == [["asleep", name] for name in ("lp1",) * 3 + ("lp2",)] + [["lp2"], ["lp2"]]
    assert said(made)["n1"] == (2, 0, 0, "slack")


@pytest.mark.parametrize(
    "fields",
    [{"standby": False}, {"phase": "Failed"}, {"tier": "LP"}],
    ids=["awake", "finished", "not HP"],
)
def test_who_is_not_asleep_lends_nothing(fields: dict[str, Any]) -> None:
    made = _asleep(**fields).pod("lp", "n1", 2, **LENT)
    alone = 0 if fields.get("phase") else 4
    assert said(made)["n1"][0] == 8 - 2 - alone


def test_a_borrower_of_shares_lies_on_the_lenders_devices() -> None:
    made = world().node("n1", 2).pod("asleep", "n1", standby=True, gpu_milli=500).pod("a", "n1", gpu_milli=400)
    made.pod("lp", "n1", gpu_milli=600, **LENT)
    assert by_device(made) == [["asleep", "a", "lp"], []]
    assert laid(made).use_milli == (1000, 0)


# ---- public cases -------------------------------------------------------------------------------------------------


def test_c15_a_negative_node_hides_nobody_elses_free_gpus() -> None:
    made = world().node("n1", allocatable_gpus=6).nodes("n2", "n3")
    made.pod("p0", "n1", 8).pod("p1", "n2", 6).pod("p2", "n3", 8)
    assert said(made) == {"n1": (0, 0, 2000, "full"), "n2": (2, 0, 0, "slack"), "n3": (0, 0, 0, "full")}


def test_c23_leftovers_of_different_cards_do_not_add_up_and_ten_tenths_are_one() -> None:
    made = world().node("n1", 4).node("n2", 1)
    for i in range(4):
        made.pod(f"f{i}", "n1", gpu_milli=600)
    for i in range(10):
        made.pod(f"t{i}", "n2", gpu_milli=100)
    assert said(made) == {"n1": (0, 1600, 0, "slack"), "n2": (0, 0, 0, "full")}
    assert laid(made).use_milli == (600,) * 4
    assert laid(made, "n2").use_milli == (1000,)
    for milli, fits in ((1000, False), (500, False), (400, True)):
        assert laid(made.without().pod("w", "n1", gpu_milli=milli)).fits == fits


def test_c24_terminating_pods_still_hold_their_gpus() -> None:
    made = world().nodes("n1", "n2").pod("t", "n1", 8, terminating=True, deleted_at_s=1000, grace_s=60)
    assert said(made) == {"n1": (0, 0, 0, "full"), "n2": (8, 0, 0, "empty")}


def test_c44_a_node_whose_devices_are_gone_is_not_empty_and_no_target() -> None:
    made = world().node("n1", allocatable_gpus=0).node("n2", 0).node("n3").pod("r", "n1", 4)
    assert said(made) == {"n1": (0, 0, 4000, "none"), "n2": (0, 0, 0, "none"), "n3": (8, 0, 0, "empty")}
    assert occupancy(made.snapshot()).used_gpu_milli.tolist() == [4000, 0, 0]


def test_c45_only_live_pods_on_known_nodes_use_gpus() -> None:
    made = world().node("n1").pod("done", "n1", 8, phase="Succeeded").pod("bad", "n1", 4, phase="Failed")
    made.pod("orphan", "gone-7", 8, phase="Running").pod("live", "n1", 2).pod("w", None, 6)
    found = occupancy(made.snapshot())
    assert (found.used_gpu_milli.tolist(), found.free_gpus.tolist(), found.pods.tolist()) == ([2000], [6], [1])


def test_c11_slices_are_no_gpus_and_are_counted_by_profile() -> None:
    parts = [{"profile": "1g.10gb", "count": 4}, {"profile": "3g.40gb", "count": 1}]
    made = world().node("m1", 2, devices=[{"index": 0, "mig": parts}, {"index": 1}]).node("m2", 1)
    made.pod("q1", "m1", 0, mig={"1g.10gb": 2}).pod("q2", "m2", gpu_milli=83)
    snapshot: Snapshot = made.snapshot()
    assert said(made) == {"m1": (1, 0, 0, "slack"), "m2": (0, 917, 0, "slack")}
    found = slices(snapshot, 0, [0])
    assert (found.total, found.free) == ({"1g.10gb": 4, "3g.40gb": 1}, {"1g.10gb": 2, "3g.40gb": 1})
    assert slices(snapshot, 1, [0]).short == {"1g.10gb": 2}
    assert int(snapshot.node_gpus.sum()) == 3


@pytest.mark.parametrize("fields", [{"cordoned": True}, {"ready": False}])
def test_nothing_is_said_of_nodes_out_of_use_but_their_use_is_counted(fields: dict[str, Any]) -> None:
    made = world().node("n1", **fields).pod("a", "n1", 3)
    assert said(made)["n1"] == (5, 0, 0, "none")


def test_agents_do_not_keep_a_node_from_being_empty() -> None:
    made = world().node("n1").agent("agent", "n1").agent("proxy", "n1", owner="Static")
    assert said(made)["n1"] == (8, 0, 0, "empty")
    assert occupancy(made.snapshot()).pods.tolist() == [2]
