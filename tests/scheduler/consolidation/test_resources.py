"""Counted resources beside CPU, memory and devices: planner and two judges agree how much there is."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.consolidation.planner import Params, consolidate, unproven
from scheduler.plan.verify import verify
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import kept_of, moves_of, plan_of

SEEDS = st.integers(min_value=0, max_value=2**31)
PARAMS = st.builds(Params, depth=st.integers(1, 3), rounds=st.integers(1, 3), partition=st.sampled_from([2, 4, 500]))


def two(asks: dict[str, int], has: dict[str, int] | None, beside: dict[str, int], **fields: Any) -> World:
    """A pod on n0 that could go to n1, where another one stays."""
    there: dict[str, Any] = {} if has is None else {"resources": has}
    made = world().node("n0", resources={"disk": 100}).node("n1", **there)
    return made.pod("m", "n0", 2, resources=asks, **fields).pod("r", "n1", 2, resources=beside, locked=True)


@pytest.mark.parametrize(
    ("asks", "has", "beside", "goes"),
    [
        ({"disk": 40}, {"disk": 100}, {"disk": 60}, True),
        ({"disk": 41}, {"disk": 100}, {"disk": 60}, False),
        ({"disk": 1}, {"nic": 4}, {}, False),
        ({"disk": 1}, None, {}, False),
        ({}, None, {}, True),
        ({"disk": 0}, None, {}, True),
        ({}, {"disk": 9}, {"disk": 10}, False),  # more in use than there is: nobody may arrive, as with CPU
        ({"nic": 1, "disk": 1}, {"nic": 1, "disk": 0}, {}, False),
        ({"nic": 1, "disk": 1}, {"nic": 1, "disk": 1}, {}, True),
    ],
)
def test_a_pod_goes_where_there_is_enough_of_each(
    asks: dict[str, int], has: dict[str, int] | None, beside: dict[str, int], goes: bool
) -> None:
    plan = plan_of(two(asks, has, beside))
    assert moves_of(plan) == ([("jobs/m", "n0", "n1")] if goes else [])
    if not goes:
        assert kept_of(plan)["n0"].reason == "resource"


def test_slices_that_lack_are_told_from_other_resources() -> None:
    cut = [{"index": 0, "mig": [{"profile": "1g", "count": 1}]}]
    made = world().node("n0", resources={"disk": 9}, devices=cut).node("n1", resources={"disk": 9}, devices=cut)
    made.node("n2", devices=cut).pod("m", "n0", 0, mig={"1g": 1}, resources={"disk": 5})
    made.pod("r", "n1", 0, mig={"1g": 1}, locked=True).pod("s", "n2", 1, locked=True)
    assert kept_of(plan_of(made))["n0"].targets == {"mig": 1, "resource": 1}


@given(world_seed=SEEDS, params=PARAMS, seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_every_plan_is_legal_by_both_judges(world_seed: int, params: Params, seed: int) -> None:
    made = random_world(world_seed, scarce=True)
    snapshot = made.snapshot()
    plan = unproven(snapshot, params, seed, None, None)
    assert Judge(made.document()).faults(answer(plan)) == []
    assert verify(plan, snapshot).violations == ()
    assert not any("judge" in note for note in plan.notes)
    assert 0 <= plan.net_emptied <= plan.bound.net_upper


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_without_its_blockers_the_next_plan_empties_the_node(seed: int) -> None:
    made = random_world(seed, scarce=True)
    for kept in consolidate(made.snapshot(), Params()).kept[:3]:
        names = [blocker.pod for blocker in kept.blockers]
        assert names, kept
        lighter = made.without(*names)
        plan = unproven(lighter.snapshot(), Params(), 0, None, None)
        left = [p for p in lighter.rows["pods"] if p.get("node") == kept.node]
        busy = [p for p in left if p.get("phase") not in ("Succeeded", "Failed") and "owner" not in p]
        assert not busy or kept.node in plan.emptied_nodes, (kept, names)


def test_an_agent_that_holds_a_port_keeps_no_node_from_being_emptied() -> None:
    made = world().nodes("n0", "n1", "n2").pod("m", "n0", 2).pod("r", "n1", 2, locked=True)
    made.pod("agent", "n0", 0, host_ports=[80], owner={"kind": "DaemonSet", "name": "agent"})
    plan = plan_of(made.pod("web", "n2", 2, host_ports=[80]))
    assert (plan.net_emptied, plan.bound.net_upper) == (2, 2)
