"""Legal moves to nodes with odd devices, and a reason wherever there is none."""

from typing import Any

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
