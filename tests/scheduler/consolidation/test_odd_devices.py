"""Legal moves to nodes with odd devices, and a reason wherever there is none."""

from typing import Any

import numpy as np
import pytest

from scheduler.consolidation.planner import Params, unproven
from tests.builders.random_worlds import random_world
from tests.builders.worlds import world
from tests.scheduler.consolidation.planning import kept_of, moves_of, plan_of

Fields = dict[str, Any]


def cut(count: int) -> list[Fields]:
    return [{"index": 0, "mig": [{"profile": "1g.10gb", "count": count}]}]


def test_a_device_that_lender_and_borrower_both_list_is_taken_once() -> None:
    made = world().nodes("n0", "n1").pod("s", "n1", 1, standby=True, devices=[0])
    made.pod("b", "n1", 1, tier="LP", lent_by="jobs/s", devices=[0]).pod("f", "n1", 5, locked=True)
    assert moves_of(plan_of(made.pod("m", "n0", 2))) == [("jobs/m", "n0", "n1")]


def test_what_a_borrower_lists_beyond_its_lender_is_taken_too() -> None:
    made = world().nodes("n0", "n1").pod("s", "n1", 1, standby=True, devices=[0])
    made.pod("b", "n1", 2, tier="LP", lent_by="jobs/s", devices=[0, 1]).pod("f", "n1", 5, locked=True)
    assert plan_of(made.pod("m", "n0", 2)).moves == ()
    made.rows["pods"][-1]["gpus"] = 1
    assert moves_of(plan_of(made)) == [("jobs/m", "n0", "n1")]


def test_a_small_device_beside_a_share_that_asks_for_memory_closes_no_node() -> None:
    devices = [{"index": i, "memory_mib": 40_000 if i else 20_000} for i in range(8)]
    made = world().node("n0", gpu_memory_mib=80_000).node("n1", gpu_memory_mib=80_000, devices=devices)
    made.pod("q", "n1", 1, gpu_milli=500, gpu_memory_mib=30_000, locked=True).pod("m", "n0", 2)
    assert moves_of(plan_of(made)) == [("jobs/m", "n0", "n1")]


def test_a_share_does_not_go_to_a_device_with_too_little_memory() -> None:
    devices = [{"index": 0, "memory_mib": 20_000}]
    made = world().node("n0", 1, gpu_memory_mib=80_000).node("n1", 1, gpu_memory_mib=80_000, devices=devices)
    made.pod("m", "n0", 1, gpu_milli=500, gpu_memory_mib=30_000).pod("q", "n1", 1, gpu_milli=400, locked=True)
    assert plan_of(made).moves == ()


def test_slices_that_are_not_there_close_their_node_until_they_are_gone() -> None:
    made = world().nodes("n0", "n1").pod("m", "n0", 0, mig={"1g.10gb": 2}).pod("r", "n1", 2)
    plan = plan_of(made)
    assert plan.moves == ()
    assert {name: (kept.reason, kept.targets) for name, kept in kept_of(plan).items()} == {
        "n0": ("mig", {"mig": 1}),
        "n1": ("mig", {"mig": 1}),
    }
    made.rows["nodes"][1]["devices"] = cut(2)
    assert moves_of(plan_of(made)) == [("jobs/m", "n0", "n1")]


def test_a_node_with_one_port_used_twice_takes_nobody() -> None:
    made = world().nodes("n0", "n1", "n2").pod("p", "n0", 1).pod("c", "n2", 2, locked=True)
    made.pod("a", "n1", 3, host_ports=[53], locked=True).pod("b", "n1", 3, host_ports=[53], locked=True)
    plan = plan_of(made)
    assert moves_of(plan) == [("jobs/p", "n0", "n2")]
    assert plan.bound.proven


def test_a_node_with_one_port_at_two_addresses_takes_whoever_wants_neither() -> None:
    made = world().nodes("n0", "n1").pod("p", "n0", 1, host_ports=["10.0.0.3:53/UDP", "*:53/TCP"])
    made.pod("a", "n1", 3, host_ports=["10.0.0.1:53/UDP"], locked=True)
    made.pod("b", "n1", 3, host_ports=["10.0.0.2:53/UDP"], locked=True)
    assert moves_of(plan_of(made)) == [("jobs/p", "n0", "n1")]
    for port in ("10.0.0.2:53/UDP", "*:53/UDP", 53):
        made.rows["pods"][0]["host_ports"] = [port]
        assert kept_of(plan_of(made))["n0"].reason == "host_port"


def test_a_node_whose_pods_are_too_large_for_its_devices_takes_nobody() -> None:
    made = world().node("n0").node("n1", gpu_memory_mib=1000).pod("p", "n0", 1)
    plan = plan_of(made.pod("x", "n1", 1, gpu_memory_mib=9000, locked=True))
    assert not plan.moves
    assert not plan.notes
    assert [(b.pod, b.constraint) for b in kept_of(plan)["n0"].blockers] == [("jobs/p", "gpus")]


def test_a_pod_that_borrows_from_an_agent_may_leave_like_any_other() -> None:
    made = world().nodes("n0", "n1").agent("ds", "n0", gpus=1, standby=True)
    made.pod("lp", "n0", 1, tier="LP", lent_by="sys/ds").pod("x", "n1", 1, locked=True)
    plan = plan_of(made)
    assert moves_of(plan) == [("jobs/lp", "n0", "n1")]
    assert plan.net_emptied == 1


@pytest.mark.parametrize("seed", range(24))
def test_planner_and_judge_agree_where_nodes_are_over_committed(seed: int) -> None:
    made, rng = random_world(seed), np.random.default_rng(seed)
    names = [row["name"] for row in made.rows["nodes"]]
    for i, node in enumerate(rng.choice(names, 3).tolist()):
        for twin in "ab":
            made.pod(f"port-{i}{twin}", node, 0, host_ports=[8000 + i % 2], locked=True)
        made.pod(f"big-{i}", node, 1, gpu_memory_mib=10_000_000, locked=True)
    plan = unproven(made.snapshot(), Params(), 0, None, None)
    assert not any("judge" in note for note in plan.notes), plan.notes
