"""Chains whose gain does not last: slack-node hours for each GPU moved, worked out by hand."""

import pytest

from scheduler.consolidation.enduring import Standing
from scheduler.consolidation.planner import ParamError, Params, consolidate
from scheduler.consolidation.worth import NOT_WORTH_IT
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import plan_of

HOUR = 3600
NOW = 40 * HOUR


def two_ages(young: int | None = NOW - HOUR) -> World:
    """An old pod on n1 and a young one on n2 fill up n3, where a locked one has run for 30 hours."""
    made = world(NOW).nodes("n1", "n2", "n3")
    made.pod("l", "n3", 6, locked=True, started_s=NOW - 30 * HOUR)
    return made.pod("a", "n1", 1, started_s=NOW - 10 * HOUR).pod("b", "n2", 1, started_s=young)


def drained(made: World, least: float) -> list[str]:
    return sorted({move.drains for move in plan_of(made, least_hours=least).moves})


def test_hours_saved_for_each_gpu() -> None:
    standing = Standing(two_ages().snapshot())
    # One start in two hours, shared by three slack nodes: each is filled up within 6 h in the mean
    assert standing.arrivals.tolist() == pytest.approx([1 / 6] * 3)
    assert standing.saved(0, [(0, 2)]) == pytest.approx(1 / (1 / 6 + 1 / 10))
    standing.take([(0, 2)], {0: 0})
    full = 1 / (1 / 6 + 1 / 30 + 1 / 10 + 1)  # until the first of three ends, or would have been filled anyway
    assert standing.saved(1, [(1, 2)]) == pytest.approx(1 / (1 / 6 + 1) + full)


def test_chains_that_do_not_last_are_left_out() -> None:
    assert drained(two_ages(), 0) == drained(two_ages(), 1.5) == ["n1", "n2"]
    assert drained(two_ages(), 2) == ["n1"]
    plan = consolidate(two_ages().snapshot(), Params(least_hours=2))
    assert [(row.node, row.reason) for row in plan.kept if row.node == "n2"] == [("n2", NOT_WORTH_IT)]
    assert plan.notes[-1].startswith("endurance: 1 nodes left out, each saving less than 2 slack-node hours")
    assert plan.params["least_hours"] == 2
    assert drained(two_ages(), 5) == []


def test_who_does_not_say_since_when_he_runs_is_as_old_as_the_others() -> None:
    """Of 30 and 10 hours the median is 20, and nobody has arrived lately."""
    standing = Standing(two_ages(None).snapshot())
    assert standing.saved(1, [(1, 2)]) == pytest.approx(20)
    nobody = world().nodes("n1", "n2").pod("a", "n1", 1).pod("b", "n2", 2)
    plan = plan_of(nobody, least_hours=1000)
    assert len(plan.moves) == 1 and plan.notes == ("endurance: nobody says since when pods run",)


def test_bad_hours_are_refused() -> None:
    for hours in (-1, 10_001, float("nan")):
        with pytest.raises(ParamError, match="must be 0 to"):
            Params(least_hours=hours)
    assert "least_hours" not in Params().as_json()
