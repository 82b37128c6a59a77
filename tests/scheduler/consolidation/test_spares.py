"""A gang leaves a failing node for a spare under the same switch, by the fewest moves of others."""

from typing import Any

import pytest

from scheduler.consolidation.params import Ask, ParamError
from scheduler.plan.goal import Goal
from scheduler.plan.plan import Plan
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import kept_of, moves_of, plan_of


def spared(made: World, node: str = "bad", **params: Any) -> Plan:
    return plan_of(made, goal=Ask(kind="spare", nodes=(node,)), **params)


def goal(plan: Plan) -> Goal:
    assert plan.aim is not None
    return plan.aim


def ring(**fields: Any) -> World:
    """A gang of two nodes under switch s, one of which fails; t is another switch with an empty node."""
    made = world().asw("s").node("bad", ready=False).node("good").asw("t").node("far").gang("g", 2)
    made.pod("w0", "bad", 8, gang="g", **fields).pod("w1", "good", 8, gang="g", **fields)
    return made


def test_an_empty_node_under_the_same_switch_is_the_spare() -> None:
    plan = spared(ring().asw("s").node("idle"))
    assert moves_of(plan) == [("jobs/w0", "bad", "idle")]
    assert (goal(plan).reached, goal(plan).wanted, goal(plan).level, goal(plan).name) == (1, 1, "asw", "s")
    assert [(seat.who, seat.node) for seat in goal(plan).seats] == [("jobs/w0", "idle")]


def test_where_none_is_free_the_fewest_make_room() -> None:
    made = ring().asw("s").nodes("two", "one").pod("a", "two", 1).pod("b", "two", 1).pod("c", "one", 2)
    plan = spared(made.pod("x", "far", 4, locked=True))
    assert moves_of(plan) == [("jobs/c", "one", "two"), ("jobs/w0", "bad", "one")] or moves_of(plan) == [
        ("jobs/c", "one", "far"),
        ("jobs/w0", "bad", "one"),
    ]
    assert {move.drains for move in plan.moves} == {"bad"}
    assert plan.wave_of == (0, 1)


def test_another_switch_is_no_place_for_it() -> None:
    plan = spared(ring())
    assert (plan.moves, goal(plan).refused) == (
        (),
        "no other node under asw s has room for all of them, or can be given it",
    )


def test_a_gang_that_requires_its_switch_finds_no_spare_elsewhere() -> None:
    """Not for want of room: far is empty, and the switch that the gang requires has no other node, or a full one."""
    anywhere, need = Ask(kind="spare", nodes=("bad",), level="cluster"), {"required": "asw"}
    made = world().asw("s").node("bad").asw("t").node("far").gang("g", 1, topology=need).pod("w0", "bad", 8, gang="g")
    assert goal(plan_of(made, goal=anywhere)).refused == (
        "its gang requires one asw and runs in asw s, and no other usable node of the cluster stands there"
    )
    made.asw("s").node("full").pod("x", "full", 8, locked=True)
    assert goal(plan_of(made, goal=anywhere)).refused.endswith(", and its gang requires one asw and runs in asw s")


def test_all_members_of_the_node_go_together() -> None:
    made = world().asw("s").node("bad").nodes("n1", "n2").gang("g", 2)
    made.pod("w0", "bad", 4, gang="g").pod("w1", "bad", 4, gang="g").pod("a", "n1", 4, locked=True)
    assert {target for _, _, target in moves_of(spared(made))} == {"n2"}
    assert spared(made.pod("b", "n2", 1, locked=True)).moves == ()


def test_pods_of_no_gang_stay() -> None:
    plan = spared(ring().pod("other", "bad", 0).asw("s").node("idle"))
    assert [move.pod for move in plan.moves] == ["jobs/w0"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"move": "restart"}, "its gang would fall below its minimum while it is stopped"),
        ({"move": "never"}, "its owner forbids moves"),
        ({"locked": True}, "it is locked"),
    ],
)
def test_a_member_that_does_not_move_is_refused_with_its_reason(fields: dict[str, Any], reason: str) -> None:
    plan = spared(ring(**fields).asw("s").node("idle"))
    assert plan.moves == ()
    assert reason in goal(plan).refused
    assert kept_of(plan)["bad"].blockers[0].pod == "jobs/w0"


def test_a_member_that_is_stopped_first_goes_where_its_gang_can_spare_it() -> None:
    made = ring(move="restart").asw("s").nodes("idle", "third").pod("w2", "third", 8, gang="g", move="restart")
    plan = spared(made)
    assert [(move.pod, move.target, move.mode) for move in plan.moves] == [("jobs/w0", "idle", "restart")]


def test_nobody_knows_the_switch() -> None:
    made = world().node("bad").node("idle").gang("g", 1).pod("w0", "bad", 8, gang="g")
    assert goal(spared(made)).refused.startswith("nobody knows under which switch this node stands")
    plan = plan_of(made, goal=Ask(kind="spare", nodes=("bad",), level="cluster"))
    assert (moves_of(plan), goal(plan).level, goal(plan).name) == ([("jobs/w0", "bad", "idle")], "cluster", "")


def test_a_wider_domain_may_be_enough_but_not_for_a_gang_that_requires_its_switch() -> None:
    made = world().domain("row", "agg").domain("s", "asw", "row").domain("t", "asw", "row")
    made.within("s").node("bad").within("t").node("far").gang("g", 1).pod("w0", "bad", 8, gang="g")
    plan = plan_of(made, goal=Ask(kind="spare", nodes=("bad",), level="agg"))
    assert (moves_of(plan), goal(plan).name) == ([("jobs/w0", "bad", "far")], "row")
    held = world().domain("row", "agg").domain("s", "asw", "row").domain("t", "asw", "row")
    held.within("s").node("bad").within("t").node("far").gang("g", 1, topology={"required": "asw"})
    held.pod("w0", "bad", 8, gang="g")
    assert plan_of(held, goal=Ask(kind="spare", nodes=("bad",), level="agg")).moves == ()


def test_a_node_without_a_gang_is_named() -> None:
    with pytest.raises(ParamError, match="carries no member of a gang"):
        spared(world().nodes("n1", "n2").pod("a", "n1", 1), "n1")
