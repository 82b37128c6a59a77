"""Workloads that were moved lately stay where they are, and the nodes that they hold say so."""

import pytest

from scheduler.consolidation.planner import Params, consolidate
from scheduler.plan.ask import Ask
from scheduler.plan.verify import verify
from tests.builders.worlds import World, world


def two() -> World:
    """a and its sister stand alone on n1 and would fit on n2."""
    made = world().asw("x").node("n1").asw("y").node("n2").pod("b", "n2", 2, locked=True)
    return made.pod("a", "n1", 1, workload="train").pod("sister", "n1", 1, workload="train")


def test_without_a_rest_the_node_is_emptied() -> None:
    assert consolidate(two().snapshot(), Params()).emptied_nodes == ("n1",)


@pytest.mark.parametrize("goal", [Ask(), Ask(kind="domain", name="x")])
def test_a_workload_that_rests_keeps_its_node(goal: Ask) -> None:
    snapshot = two().snapshot()
    plan = consolidate(snapshot, Params(resting=("jobs/train",), goal=goal))
    assert plan.moves == ()
    assert verify(plan, snapshot).ok
    (kept,) = (one for one in plan.kept if one.node == "n1")
    assert kept.reason == "resting"
    assert {one.pod for one in kept.blockers} == {"jobs/a", "jobs/sister"}


def test_rest_of_others_does_not_matter_and_is_signed() -> None:
    plan = consolidate(two().snapshot(), Params(resting=("jobs/other", "other/train")))
    assert plan.emptied_nodes == ("n1",)
    assert plan.params["resting"] == "jobs/other,other/train"
    assert "resting" not in consolidate(two().snapshot(), Params()).params


def test_a_stronger_reason_is_named_before_the_rest() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1", 1, locked=True).pod("b", "n2", 1)
    kept = {one.node: one.reason for one in consolidate(made.snapshot(), Params(resting=("jobs/a", "jobs/b"))).kept}
    assert kept == {"n1": "locked", "n2": "resting"}
