"""The judge on goals: what is promised and not kept is refused, part by part; and what of a plan still holds later."""

from typing import Any

import msgspec
import pytest

from scheduler.consolidation.params import Ask
from scheduler.plan.goal import Goal, Seat
from scheduler.plan.plan import Plan, from_json
from scheduler.plan.staleness import changes
from scheduler.plan.statement import keep
from scheduler.plan.verify import verify
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import plan_of


def drained() -> World:
    return world().asw("s").nodes("n1", "n2").asw("t").nodes("n3", "n4").pod("a", "n1", 2).pod("b", "n2", 2)


def waiting() -> World:
    made = world().asw("s").nodes("n1", "n2").asw("t").nodes("n3").gang("g", 2, topology={"required": "asw"})
    made.pod("w0", None, 8, gang="g").pod("w1", None, 8, gang="g").pod("m", "n1", 1)
    return made.pod("l", "n3", 4, locked=True)


def failing() -> World:
    made = world().asw("s").node("bad").node("idle").asw("t").node("far").gang("g", 1)
    return made.pod("w0", "bad", 8, gang="g")


ASKS = {
    "drain": (drained, Ask(kind="drain", nodes=("n1", "n2"))),
    "domain": (drained, Ask(kind="domain", name="s")),
    "gang": (waiting, Ask(kind="gang", name="jobs/g")),
    "shape": (waiting, Ask(kind="shape", name="8G64C", slots=2)),
    "spare": (failing, Ask(kind="spare", nodes=("bad",))),
}


def planned(kind: str) -> tuple[World, Plan, Goal]:
    make, ask = ASKS[kind]
    made = make()
    plan = plan_of(made, goal=ask)
    assert plan.moves and plan.aim is not None
    return made, plan, plan.aim


def refused(made: World, plan: Plan, goal: Goal, **fields: Any) -> list[str]:
    told = msgspec.structs.replace(plan, goal=msgspec.structs.replace(goal, **fields))
    return [violation.kind for violation in verify(told, made.snapshot()).violations]


LIES = [
    ("drain", {"reached": 1}),
    ("drain", {"before": 1}),
    ("drain", {"wanted": 3}),
    ("drain", {"nodes": ("n1",), "wanted": 1, "reached": 1}),  # the chain of n2 serves nothing
    ("drain", {"nodes": ("n1", "n2", "n9"), "wanted": 3}),
    ("drain", {"nodes": ("n1", "n2", "n3", "n4"), "wanted": 4}),  # a named node receives
    ("domain", {"nodes": ("n1",), "wanted": 1, "reached": 1}),
    ("domain", {"name": "t"}),
    ("gang", {"seats": (Seat(who="jobs/w0", node="n1", chain=0),), "reached": 1}),  # half a gang
    ("gang", {"seats": (Seat(who="jobs/w0", node="n1", chain=0), Seat(who="jobs/w1", node="n1", chain=0))}),
    ("gang", {"seats": (Seat(who="jobs/w0", node="n1", chain=0), Seat(who="jobs/w1", node="n3", chain=0))}),
    ("gang", {"seats": (Seat(who="jobs/w0", node="n1", chain=0), Seat(who="jobs/m", node="n2", chain=0))}),
    ("gang", {"name": "jobs/other"}),
    ("shape", {"name": "8G999C"}),
    ("shape", {"seats": (Seat(who="slot 1", node="n2"), Seat(who="slot 1", node="n1", chain=0))}),
    ("shape", {"models": ("H20",)}),
    ("spare", {"seats": (Seat(who="jobs/w0", node="far", chain=0),)}),
    ("spare", {"name": "t"}),
    ("spare", {"reached": 0}),
]


@pytest.mark.parametrize(("kind", "fields"), LIES)
def test_a_promise_that_is_not_kept_is_refused(kind: str, fields: dict[str, Any]) -> None:
    made, plan, goal = planned(kind)
    assert refused(made, plan, goal) == []
    assert "goal" in refused(made, plan, goal, **fields)


@pytest.mark.parametrize("kind", sorted(ASKS))
def test_moves_that_serve_no_goal_are_refused(kind: str) -> None:
    made, plan, _ = planned(kind)
    aimless = tuple(msgspec.structs.replace(move, drains="n3" if kind != "spare" else "far") for move in plan.moves)
    found = verify(msgspec.structs.replace(plan, moves=aimless), made.snapshot()).violations
    assert {violation.move for violation in found if violation.kind == "goal"} >= set(range(len(plan.moves)))


def test_a_plan_without_a_goal_reads_and_is_signed_as_before() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1", 2).pod("b", "n2", 5, locked=True)
    plan = plan_of(made)
    assert b'"goal"' not in plan.to_json()
    assert (from_json(plan.to_json()), from_json(plan.to_json()).aim) == (plan, None)


LATER: list[tuple[str, Any, tuple[str, ...]]] = [
    ("drain", lambda w: w.pod("c", "n1", 1), ("n1",)),  # a pod that no move takes along
    ("domain", lambda w: w.asw("s").node("n5"), ("s",)),  # the switch has grown
    ("gang", lambda w: w.pod("x", "n2", 1, locked=True), ("jobs/w0", "jobs/w1")),
    ("shape", lambda w: w.pod("x", "n1", 0, cpu_milli=128_000), ("slot 1", "slot 2")),
    ("spare", lambda w: w.pod("w1", "bad", 0, gang="g"), ("bad",)),
]


@pytest.mark.parametrize(("kind", "happens", "named"), LATER)
def test_a_plan_is_stale_when_its_goal_is_lost_though_its_moves_could_run(
    kind: str, happens: Any, named: tuple[str, ...]
) -> None:
    made, plan, _ = planned(kind)
    base = made.snapshot()
    assert changes(plan, base, base) == ()
    found = changes(plan, base, happens(ASKS[kind][0]()).snapshot())
    assert [change.field for change in found] == ["goal"] * len(found)
    assert found[0].object in named
    assert found[0].moves


def test_a_seat_whose_pod_is_bound_meanwhile_holds() -> None:
    made, plan, _ = planned("gang")
    rows = [{**row, "node": "n2"} if row["name"] == "w0" else row for row in made.rows["pods"]]
    base = made.snapshot()
    seats = {seat.who: seat.node for seat in plan.aim.seats} if plan.aim else {}
    if seats["jobs/w0"] == "n2":
        made.rows["pods"] = rows
    else:
        made.rows["pods"] = [{**row, "node": "n2"} if row["name"] == "w1" else row for row in made.rows["pods"]]
    assert changes(plan, base, made.snapshot()) == ()


def test_without_one_node_a_drain_reaches_less_on_what_is_there_now() -> None:
    made, plan, _ = planned("drain")
    chain = next(move.chain for move in plan.moves if move.source == "n1")
    shorter = keep(plan, made.snapshot(), [chain])
    assert shorter.aim is not None
    assert (shorter.aim.reached, shorter.aim.wanted, verify(shorter, made.snapshot()).ok) == (1, 2, True)


def test_a_node_that_is_to_be_cleared_may_be_cordoned_meanwhile_and_no_other_may() -> None:
    made, plan, goal = planned("drain")
    base = made.snapshot()
    for row in made.rows["nodes"]:
        row["cordoned"] = row["name"] in goal.nodes
    assert changes(plan, base, made.snapshot()) == ()
    (target,) = {move.target for move in plan.moves}
    for row in made.rows["nodes"]:
        row["cordoned"] = row["name"] == target
    assert {(one.object, one.field) for one in changes(plan, base, made.snapshot())} == {(target, "cordoned")}
