"""Drains: the named nodes are left by all their pods, none goes to another named one, and what stays says why."""

from typing import Any

import pytest

from scheduler.consolidation.params import Ask, ParamError
from scheduler.plan.plan import Plan
from scheduler.plan.statement import cut, marginal
from scheduler.plan.verify import verify
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import kept_of, moves_of, plan_of

TAINT = {"key": "dedicated", "value": "infer", "effect": "NoSchedule"}
MIG = [{"index": i, "mig": [{"profile": "1g.10gb", "count": 7}]} for i in range(2)]


def drained(made: World, *nodes: str, whole: bool = False, **params: Any) -> Plan:
    return plan_of(made, goal=Ask(kind="drain", nodes=nodes, whole=whole), **params)


def reached(plan: Plan) -> tuple[int, int]:
    assert plan.aim is not None
    return plan.aim.reached, plan.aim.wanted


def test_all_pods_leave_and_none_goes_to_a_named_node() -> None:
    made = world().nodes("n1", "n2", "n3", "n4").pod("a", "n1", 2).pod("b", "n2", 2).pod("c", "n3", 6)
    plan = drained(made, "n1", "n2")
    assert reached(plan) == (2, 2)
    assert {move.target for move in plan.moves} <= {"n3", "n4"}
    assert (plan.bound.net_upper, plan.bound.proven) == (2, True)


def test_an_empty_node_receives_where_nothing_else_has_room_and_only_then() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("b", "n2", 6, locked=True)
    assert moves_of(drained(made, "n1")) == [("jobs/a", "n1", "n3")]
    assert moves_of(drained(made.node("n4").pod("c", "n4", 1), "n1")) == [("jobs/a", "n1", "n4")]


@pytest.mark.parametrize("state", [{"cordoned": True}, {"ready": False}])
def test_a_node_that_is_out_of_service_already_is_drained_like_any_other(state: dict[str, bool]) -> None:
    plan = drained(world().node("n1", **state).nodes("n2").pod("a", "n1", 2).agent("log", "n1"), "n1")
    assert moves_of(plan) == [("jobs/a", "n1", "n2")]
    assert (reached(plan), plan.emptied_nodes) == ((1, 1), ())


def test_others_make_room_where_nothing_has_room_at_once() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 6).pod("b", "n2", 4).pod("c", "n3", 4, locked=True)
    made.pod("d", "n2", 2, locked=True)
    assert moves_of(drained(made, "n1")) == [("jobs/b", "n2", "n3"), ("jobs/a", "n1", "n2")]
    assert drained(made, "n1", depth=0).moves == ()


@pytest.mark.parametrize("gpus", [1, 4])
def test_who_needs_company_follows_it_whatever_their_sizes(gpus: int) -> None:
    """Largest first, c would look for z where z has not come yet; d needs c."""
    made = world().nodes("n0", "n1").pod("z", "n0", 2, labels={"app": "z"})
    made.pod("c", "n0", gpus, affinity=["app=z"], labels={"app": "c"}).pod("d", "n0", 2, affinity=["app=c"])
    plan = drained(made, "n0")
    assert reached(plan) == (1, 1)
    assert [move.pod for move in plan.moves] == ["jobs/z", "jobs/c", "jobs/d"]
    assert len(set(plan.wave_of)) == 3
    assert reached(drained(made, "n0", max_moves=2)) == (0, 1)


def test_what_stays_says_why_and_the_others_are_drained_all_the_same() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("held", "n2", 1, locked=True)
    plan = drained(made, "n1", "n2")
    assert (reached(plan), list(kept_of(plan))) == ((1, 2), ["n2"])
    assert kept_of(plan)["n2"].reason == "locked"
    assert (plan.bound.net_upper, plan.bound.proven) == (1, True)


def test_all_or_nothing_moves_nobody_where_one_node_stays() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("held", "n2", 1, locked=True)
    plan = drained(made, "n1", "n2", whole=True)
    assert (plan.moves, reached(plan)) == ((), (0, 2))
    assert plan.notes == ("all or nothing: 1 of 2 nodes would be reached",)


def test_nodes_that_are_clear_already_count_as_reached() -> None:
    plan = drained(world().nodes("n1", "n2").agent("log", "n1"), "n1")
    assert (plan.moves, reached(plan), plan.aim and plan.aim.before) == ((), (1, 1), 1)


ONE_WAY = {  # what keeps the only free node from taking the pod: its own fields, the node's, who stands there
    "taint": ({}, {"taints": [TAINT]}, {}),
    "zone": ({"volume_zone": "z1"}, {"zone": "z2"}, {}),
    "host_port": ({"host_ports": [80]}, {}, {"host_ports": [80]}),
    "anti_affinity": ({"labels": {"app": "db"}}, {}, {"anti_affinity": ["app=db"]}),
    "affinity": ({"affinity": ["app=db"]}, {}, {}),
    "max_pods": ({}, {"max_pods": 1}, {}),
    "gpu_share": ({"gpu_milli": 600}, {"gpus": 1}, {"gpu_milli": 500}),
    "mig": ({"gpus": 0, "mig": {"1g.10gb": 8}}, {"gpus": 2, "devices": MIG}, {"gpus": 0, "mig": {"1g.10gb": 7}}),
}


@pytest.mark.parametrize("reason", sorted(ONE_WAY))
def test_no_target_that_breaks_a_rule(reason: str) -> None:
    """Each world has one free node, and one rule that speaks against it; without the rule it would be taken."""
    asks, node, there = ONE_WAY[reason]
    made = world().node("n1", zone="z1").node("n2", **node)
    made.pod("r", "n2", **{"gpus": 1, "locked": True, **there}).pod("a", "n1", **{"gpus": 1, **asks})
    plan = drained(made, "n1")
    assert plan.moves == ()
    assert kept_of(plan)["n1"].targets == {reason: 1}
    assert moves_of(drained(made.node("n3", zone="z1", devices=MIG if reason == "mig" else None)
                            .pod("db", "n3", 0, labels={"app": "db"} if reason == "affinity" else {}), "n1")) == [
        ("jobs/a", "n1", "n3")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"locked": True}, "locked"), ({"move": "never"}, "move_never"), ({"terminating": True}, "terminating")],
)
def test_pods_that_never_move_hold_their_node(fields: dict[str, Any], reason: str) -> None:
    plan = drained(world().nodes("n1", "n2").pod("a", "n1", 1).pod("held", "n1", 1, **fields), "n1")
    assert plan.moves == ()
    assert [(b.pod, b.constraint) for b in kept_of(plan)["n1"].blockers] == [("jobs/held", reason)]


def test_a_gang_that_stops_to_move_is_not_taken_below_its_least() -> None:
    made = world().asw("s").nodes("n1", "n2", "n3").gang("g", 2)
    for i in (1, 2):
        made.pod(f"w{i}", f"n{i}", 4, gang="g", move="restart")
    assert kept_of(drained(made, "n1"))["n1"].reason == "gang"
    assert reached(drained(made.pod("w3", "n3", 1, gang="g", move="restart"), "n1")) == (1, 1)


def test_a_gang_stays_under_its_switch() -> None:
    made = world().asw("s").nodes("n1", "n2").asw("t").nodes("n3").gang("g", 2, topology={"required": "asw"})
    made.pod("w1", "n1", 4, gang="g").pod("w2", "n2", 4, gang="g").pod("x", "n2", 2, locked=True)
    assert drained(made, "n1").moves == ()
    assert moves_of(drained(made.asw("s").node("n4"), "n1")) == [("jobs/w1", "n1", "n4")]


def test_a_budget_spreads_the_moves_over_waves() -> None:
    made = world().nodes("n1", "n2").budget("app=db", max_unavailable=1)
    for i in range(3):
        made.pod(f"a{i}", "n1", 1, labels={"app": "db"})
    plan = drained(made, "n1")
    assert (reached(plan), plan.wave_of) == ((1, 1), (0, 1, 2))


def test_a_shorter_plan_reaches_less_and_says_so() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("b", "n2", 3)
    plan, snapshot = drained(made, "n1", "n2"), made.snapshot()
    assert marginal(plan) == [(0, 0), (1, 1), (2, 2)]
    shorter = cut(plan, snapshot, 1)
    assert (reached(shorter), shorter.bound.gap, verify(shorter, snapshot).ok) == ((1, 2), 0.5, True)
    assert len(kept_of(shorter)) == 1
    whole = cut(drained(made, "n1", "n2", whole=True), snapshot, 1)
    assert [v.object for v in verify(whole, snapshot).violations] == ["whole"]


def test_pods_that_want_each_other_would_have_to_go_together() -> None:
    """Neither can go first; d wants company too and could follow the third pod, which moves alone."""
    made = world().nodes("n1", "n2").pod("x", "n2", 1, locked=True, labels={"app": "x"})
    made.pod("b", "n1", 1, labels={"app": "b"}, affinity=["app=c"])
    made.pod("c", "n1", 1, labels={"app": "c"}, affinity=["app=b"])
    made.pod("e", "n1", 1, labels={"app": "e"}).pod("d", "n1", 1, labels={"app": "d"}, affinity=["app=e"])
    for plan in (plan_of(made), drained(made, "n1")):
        kept = kept_of(plan)["n1"]
        assert (plan.moves, kept.reason) == ((), "together")
        assert [b.pod for b in kept.blockers if b.constraint == "together"] == ["jobs/b", "jobs/c"]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"kind": "drain"}, "nodes"),
        ({"kind": "drain", "nodes": ("n1", "n1")}, "nodes"),
        ({"kind": "drain", "nodes": ("n1",), "name": "x"}, "name"),
        ({"kind": "nodes", "nodes": ("n1",)}, "nodes"),
        ({"kind": "domain"}, "name"),
        ({"kind": "shape", "name": "8 GPUs", "slots": 1}, "name"),
        ({"kind": "shape", "name": "8G128C"}, "slots"),
        ({"kind": "gang", "name": "alone"}, "name"),
        ({"kind": "gang", "name": "jobs/g", "whole": False}, "whole"),
        ({"kind": "spare", "nodes": ("n1", "n2")}, "nodes"),
        ({"kind": "peace"}, "goal"),
    ],
)
def test_a_goal_refuses_what_it_cannot_be_asked_with(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ParamError) as refused:
        Ask(**asked)
    assert refused.value.field == field


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(ParamError, match="n9"):
        drained(world().nodes("n1"), "n9")
