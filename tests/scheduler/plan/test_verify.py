"""The judge: what is legal, and each kind of fault by the smallest world that shows it."""

from typing import Any

import msgspec
import pytest

from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.plan import Counts, Plan
from scheduler.plan.verify import verify
from tests.builders.worlds import World, world
from tests.scheduler.plan.plans import Step, plan


def kinds(made: Plan, snapshot: Snapshot) -> list[str]:
    verdict = verify(made, snapshot)
    assert verdict.ok == (not verdict.violations)
    assert all(violation.detail for violation in verdict.violations)
    return sorted({violation.kind for violation in verdict.violations})


def three(a: dict[str, Any] | None = None, n2: dict[str, Any] | None = None, b: dict[str, Any] | None = None) -> World:
    """a (2 GPUs) is alone on n1; b (4) is on n2, c (4) on n3."""
    made = world().asw("x").node("n1").node("n2", **(n2 or {})).asw("y").node("n3")
    made.pod("a", "n1", **{"gpus": 2, **(a or {})}).pod("b", "n2", **{"gpus": 4, **(b or {})})
    return made.pod("c", "n3", 4)


def test_a_move_that_empties_its_node_is_legal() -> None:
    snapshot = three().snapshot()
    assert verify(plan(snapshot, [("a", "n2", 0)]), snapshot).ok


def test_an_empty_plan_is_legal() -> None:
    snapshot = three().snapshot()
    assert verify(plan(snapshot, []), snapshot).ok


TARGET_FAULTS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({"locked": True}, {}, {}, "locked"),
    ({"move": "never"}, {}, {}, "move_never"),
    ({"terminating": True}, {}, {}, "terminating"),
    ({}, {"cordoned": True}, {}, "cordoned"),
    ({}, {"ready": False}, {}, "not_ready"),
    ({}, {"gpu_model": "H20"}, {}, ""),
    ({"gpu_model": "H100-SXM5-80GB"}, {"gpu_model": "H20"}, {}, "model"),
    ({"gpu_memory_mib": 10}, {}, {}, "gpu_memory"),
    ({"node_selector": {"disk": "ssd"}}, {}, {}, "selector"),
    ({}, {"taints": [{"key": "k", "effect": "NoExecute"}]}, {}, "taint"),
    ({"volume_zone": "z1"}, {}, {}, "zone"),
    ({"only_node": "n1"}, {}, {}, "only_node"),
    ({}, {"max_pods": 1}, {}, "max_pods"),
    ({"gpus": 5}, {}, {}, "gpus"),
    ({"gpus": 1, "gpu_milli": 500}, {"gpus": 4}, {}, "gpu_share"),
    ({"cpu_milli": 1000}, {"cpu_milli": 1500}, {"cpu_milli": 501}, "cpu"),
    ({"cpu_milli": 1000}, {"cpu_milli": 1500}, {"cpu_milli": 500}, ""),
    ({"memory_mib": 1000}, {"memory_mib": 1500}, {"memory_mib": 501}, "memory"),
    ({"host_ports": [80]}, {}, {"host_ports": [80]}, "host_port"),
    ({"host_ports": ["*:80/TCP"]}, {}, {"host_ports": ["10.0.0.1:80/TCP"]}, "host_port"),
    ({"host_ports": ["10.0.0.2:80/TCP", "*:80/UDP"]}, {}, {"host_ports": ["10.0.0.1:80/TCP"]}, ""),
    ({"mig": {"1g": 1}, "gpus": 0}, {}, {}, "mig"),
    ({"resources": {"disk": 5}}, {"resources": {"disk": 9}}, {"resources": {"disk": 5}}, "resource"),
    ({"resources": {"disk": 5}}, {"resources": {"disk": 10}}, {"resources": {"disk": 5}}, ""),
    ({"resources": {"disk": 5}}, {}, {}, "resource"),
    ({"anti_affinity": ["app=b"]}, {}, {"labels": {"app": "b"}}, "anti_affinity"),
    ({"labels": {"app": "a"}}, {}, {"anti_affinity": ["app=a"]}, "anti_affinity"),
    ({"affinity": ["app=b"]}, {}, {}, "affinity"),
    ({"affinity": ["app=b"]}, {}, {"labels": {"app": "b"}}, ""),
    ({"cpu_milli": 1}, {"allocatable_gpus": 3}, {}, "gpus"),
    ({"gpus": 0}, {"allocatable_gpus": 3}, {}, "gpus"),
]


@pytest.mark.parametrize(("a", "n2", "b", "kind"), TARGET_FAULTS)
def test_what_the_target_must_be(a: dict[str, Any], n2: dict[str, Any], b: dict[str, Any], kind: str) -> None:
    snapshot = three(a, n2, b).snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0)]), snapshot) == ([kind] if kind else [])


def test_a_node_that_is_over_committed_and_receives_nothing_is_no_fault() -> None:
    made = three().node("n4", allocatable_gpus=2).pod("d", "n4", 5).pod("e", "n4", cpu_milli=1 << 30)
    snapshot = made.snapshot()
    assert verify(plan(snapshot, [("a", "n2", 0)]), snapshot).ok


def _c04() -> World:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 6).pod("b", "n2", 4).pod("d", "n2", 2, locked=True)
    return made.pod("e", "n3", 4, locked=True)


@pytest.mark.parametrize(("waves", "expected"), [((0, 1), []), ((0, 0), ["gpus"])])
def test_c04_a_move_starts_only_when_there_is_room_for_both_copies(waves: tuple[int, int], expected: list[str]) -> None:
    snapshot = _c04().snapshot()
    steps: list[Step] = [("b", "n3", waves[0]), ("a", "n2", waves[1])]
    assert kinds(plan(snapshot, steps, drains={"b": "n1"}), snapshot) == expected


def test_moves_of_one_wave_count_together_on_their_target() -> None:
    made = world().node("n1").node("n2").node("n3").pod("a", "n1", 3).pod("b", "n2", 3).pod("c", "n3", 4)
    snapshot = made.snapshot()
    assert kinds(plan(snapshot, [("a", "n3", 0), ("b", "n3", 0)]), snapshot) == ["gpus"]


def test_two_that_refuse_each_other_do_not_arrive_together() -> None:
    made = three({"labels": {"app": "x"}, "anti_affinity": ["app=x"]}).node("n4")
    made.pod("d", "n4", labels={"app": "x"}, anti_affinity=["app=x"])
    snapshot = made.snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0), ("d", "n2", 0)]), snapshot) == ["anti_affinity"]
    assert kinds(plan(snapshot, [("a", "n2", 0), ("d", "n3", 0)]), snapshot) == []


def test_company_that_leaves_in_the_same_wave_does_not_count() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", affinity=["app=x"]).pod("x", "n2", labels={"app": "x"})
    made.pod("stay", "n2", locked=True).pod("z", "n3", locked=True)
    snapshot = made.snapshot()
    steps: list[Step] = [("a", "n2", 0), ("x", "n3", 0)]
    assert kinds(plan(snapshot, steps, drains={"x": "n1"}), snapshot) == ["affinity"]
    later: list[Step] = [("a", "n2", 0), ("x", "n3", 1)]
    assert kinds(plan(snapshot, later, drains={"x": "n1"}), snapshot) == []


def test_a_copy_that_has_just_begun_is_no_company_yet() -> None:
    """Else a wave could not be run in parts."""
    made = world().nodes("n1", "n2").pod("a", "n1", labels={"app": "a"}, affinity=["app=b"])
    snapshot = made.pod("b", "n1", labels={"app": "b"}, affinity=["app=a"]).pod("c", "n2", locked=True).snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0), ("b", "n2", 0)]), snapshot) == ["affinity"]


def test_the_old_copy_still_repels_in_its_last_wave() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", anti_affinity=["app=x"]).pod("x", "n2", labels={"app": "x"})
    made.pod("stay", "n2", locked=True).pod("z", "n3", locked=True)
    snapshot = made.snapshot()
    drains = {"x": "n1"}
    assert kinds(plan(snapshot, [("x", "n3", 0), ("a", "n2", 0)], drains), snapshot) == ["anti_affinity"]
    assert kinds(plan(snapshot, [("x", "n3", 0), ("a", "n2", 1)], drains), snapshot) == []


@pytest.mark.parametrize(("waves", "expected"), [((0, 0), ["budget"]), ((0, 1), [])])
def test_budgets_bind_in_every_wave(waves: tuple[int, int], expected: list[str]) -> None:
    made = three({"labels": {"app": "x"}}).node("n4").pod("d", "n4", labels={"app": "x"})
    snapshot = made.budget("app=x", max_unavailable=1).snapshot()
    assert kinds(plan(snapshot, [("a", "n2", waves[0]), ("d", "n3", waves[1])]), snapshot) == expected


@pytest.mark.parametrize(("waves", "expected"), [((0, 0), ["gang"]), ((0, 1), [])])
def test_a_gang_keeps_its_minimum_while_members_restart(waves: tuple[int, int], expected: list[str]) -> None:
    member = {"gang": "g", "move": "restart"}
    made = three(member).node("n4").pod("d", "n4", **member).pod("e", "n3", gang="g").gang("g", 2)  # type: ignore[arg-type]
    snapshot = made.snapshot()
    assert kinds(plan(snapshot, [("a", "n2", waves[0]), ("d", "n3", waves[1])]), snapshot) == expected


@pytest.mark.parametrize(("target", "expected"), [("n2", []), ("n3", ["topology"])])
def test_a_gang_stays_in_its_domain(target: str, expected: list[str]) -> None:
    made = three({"gang": "g"}, b={"gang": "g"}).gang("g", 2, topology={"required": "asw"})
    snapshot = made.snapshot()
    assert kinds(plan(snapshot, [("a", target, 0)]), snapshot) == expected


def test_a_single_pod_of_required_topology_needs_a_known_domain() -> None:
    made = three({"topology": {"required": "asw"}}).asw(None).node("n4").pod("d", "n4", locked=True)
    snapshot = made.snapshot()
    assert kinds(plan(snapshot, [("a", "n4", 0)]), snapshot) == ["topology"]
    assert kinds(plan(snapshot, [("a", "n3", 0)]), snapshot) == []


def test_a_lender_stays_and_its_borrower_may_go() -> None:
    lp = {"tier": "LP", "lent_by": "jobs/asleep"}
    made = world().nodes("n1", "n2").pod("asleep", "n1", 4, standby=True).pod("lp", "n1", 4, **lp).pod("b", "n2", 1)
    snapshot = made.snapshot()
    assert kinds(plan(snapshot, [("asleep", "n2", 0), ("lp", "n2", 1)]), snapshot) == ["lender"]
    # The borrower alone leaves no empty node behind, so it goes for the sake of another one.
    made.node("n3").pod("d", "n3", 5).pod("stay", "n2", 2, locked=True)
    snapshot = made.snapshot()
    steps: list[Step] = [("lp", "n2", 0), ("d", "n1", 0)]
    assert kinds(plan(snapshot, steps, drains={"lp": "n3"}), snapshot) == ["gpus"]


ALTERED: list[tuple[dict[str, Any], str]] = [
    ({"uid": "u9"}, "uid"),
    ({"source": "n3"}, "source"),
    ({"pod": "jobs/nobody"}, "pod"),
    ({"target": "n9"}, "target"),
    ({"target": "n1"}, "target"),
    ({"mode": "restart"}, "mode"),
    ({"cluster": "c2"}, "cluster"),
    ({"after": (0,)}, "after"),
    ({"drains": "n2"}, "chain"),
    ({"depth": 1}, "chain"),
]


@pytest.mark.parametrize(("change", "kind"), ALTERED)
def test_what_a_move_says_must_be_so(change: dict[str, Any], kind: str) -> None:
    snapshot = three({"uid": "u1"}).snapshot()
    good = plan(snapshot, [("a", "n2", 0)])
    bad = msgspec.structs.replace(good, moves=(msgspec.structs.replace(good.moves[0], **change),))
    assert kinds(bad, snapshot) == [kind]


PROMISES: list[tuple[dict[str, Any], str]] = [
    ({"emptied_nodes": ()}, "emptied_nodes"),
    ({"emptied_nodes": ("n1", "n2")}, "emptied_nodes"),
    ({"after": Counts(slack_nodes=2, empty_nodes=2, full_nodes=0)}, "counts"),
    ({"before": Counts(slack_nodes=3, empty_nodes=1, full_nodes=0)}, "counts"),
    ({"wave_of": (1,)}, "waves"),
    ({"wave_of": ()}, "waves"),
]


@pytest.mark.parametrize(("change", "kind"), PROMISES)
def test_what_a_plan_promises_must_be_so(change: dict[str, Any], kind: str) -> None:
    snapshot = three().snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0)], **change), snapshot) == [kind]


def test_no_pod_moves_twice() -> None:
    snapshot = three().snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0), ("a", "n3", 1)]), snapshot) == ["moves_twice"]


def test_no_gain_no_move() -> None:
    snapshot = three().pod("stay", "n1", locked=True).snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0)]), snapshot) == ["chain", "no_gain"]


def test_an_empty_node_is_used_only_where_the_net_rises_by_it() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("b", "n2", 4).node("n4").pod("c", "n4", 8)
    snapshot = made.snapshot()
    swap = plan(snapshot, [("a", "n3", 0)])
    assert kinds(swap, snapshot) == ["no_gain", "opens_empty"]
    both = plan(snapshot, [("a", "n3", 0), ("b", "n3", 0)])
    assert kinds(both, snapshot) == []


def test_a_cluster_is_judged_alone() -> None:
    made = three().node("n1", cluster="c2").pod("a", "n1", cluster="c2")
    whole = made.snapshot()
    alone = three().snapshot()
    assert kinds(plan(alone, [("a", "n2", 0)]), whole) == []


def test_listed_devices_bind_where_the_pod_stands_and_not_where_it_arrives() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1", 1, devices=[7]).pod("b", "n2", 1, devices=[7])
    snapshot = made.snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0)]), snapshot) == []
    shares = world().node("n1", 1).node("n2", 1).pod("a", "n1", gpu_milli=600).pod("b", "n2", gpu_milli=600)
    snapshot = shares.snapshot()
    assert kinds(plan(snapshot, [("a", "n2", 0)]), snapshot) == ["gpu_share"]
