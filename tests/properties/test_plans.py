"""What holds for every plan on every world: legal by two judges, useful, repeatable, honest about what stays.

``benchmarks/legality.py`` asks the first of these of thousands of worlds.
"""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster import codec
from scheduler.consolidation.planner import Params, consolidate, unproven
from scheduler.plan.plan import Plan, from_json
from scheduler.plan.verify import verify
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World

SEEDS = st.integers(min_value=0, max_value=2**31)
PARAMS = st.builds(Params, depth=st.integers(1, 3), rounds=st.integers(1, 3), partition=st.sampled_from([2, 4, 500]))


def planned(world: World, params: Params | None = None, seed: int = 0) -> Plan:
    return unproven(world.snapshot(), params or Params(), seed, None, None)


@given(world_seed=SEEDS, params=PARAMS, seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_every_plan_is_legal_by_both_judges(world_seed: int, params: Params, seed: int) -> None:
    world = random_world(world_seed)
    plan = planned(world, params, seed)
    assert Judge(world.document()).faults(answer(plan)) == []
    assert verify(plan, world.snapshot()).violations == ()


@given(world_seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_row_order_does_not_matter(world_seed: int) -> None:
    world = random_world(world_seed)
    shuffled: dict[str, Any] = world.document()
    for kind in ("nodes", "pods", "pdbs", "gangs", "domains"):
        shuffled[kind] = random.Random(world_seed).sample(shuffled.get(kind, []), len(shuffled.get(kind, [])))
    snapshot = codec.read(json.dumps(shuffled).encode())
    assert snapshot.digest == world.snapshot().digest
    assert unproven(snapshot, Params(), 0, None, None).digest() == planned(world).digest()


@given(world_seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_a_plan_survives_its_json(world_seed: int) -> None:
    plan = planned(random_world(world_seed))
    assert from_json(plan.to_json()) == plan
    assert from_json(plan.to_json()).digest() == plan.digest()


@given(world_seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_the_outcome_never_exceeds_the_bound(world_seed: int) -> None:
    plan = planned(random_world(world_seed))
    assert 0 <= plan.net_emptied <= plan.bound.net_upper
    assert plan.bound.proven == (plan.net_emptied == plan.bound.net_upper)


@given(world_seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_without_its_blockers_a_kept_node_is_emptied(world_seed: int) -> None:
    world = random_world(world_seed)
    for node in consolidate(world.snapshot(), Params()).kept[:3]:
        names = [b.pod for b in node.blockers]
        assert names, node
        lighter = world.without(*names)
        plan = planned(lighter)
        left = [p for p in lighter.rows["pods"] if p.get("node") == node.node]
        busy = [p for p in left if p.get("phase") not in ("Succeeded", "Failed") and "owner" not in p]
        assert not busy or node.node in plan.emptied_nodes, (node, names)


@pytest.mark.parametrize("stop_after", [0, 1, 2])
def test_cancelled_half_way_it_returns_the_valid_plan_so_far(stop_after: int) -> None:
    world = random_world(5, plain=True)
    calls: list[object] = []

    def progress(report: object) -> bool:
        calls.append(report)
        return len(calls) <= stop_after

    plan = consolidate(world.snapshot(), Params(partition=2, rounds=3), progress=progress)
    assert Judge(world.document()).faults(answer(plan)) == []
    assert any("cancel" in note for note in plan.notes)
