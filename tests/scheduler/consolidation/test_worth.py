"""What a chain costs and gains, and plans without the chains that are not worth it."""

import random

import pytest

from scheduler.consolidation.planner import Params, unproven
from scheduler.consolidation.worth import NOT_WORTH_IT, priced, worthwhile
from scheduler.performance.interruption import Rates, costs
from scheduler.plan.price import surges
from scheduler.plan.resolve import resolve
from scheduler.plan.verify import verify
from tests.builders.random_worlds import random_world
from tests.builders.worlds import GPU_MODEL, World, world
from tests.scheduler.consolidation.planning import plan_of

FLAT = Rates(start_s=100, image_mib=0, state_percent=0, rebuild_s=0, failure_percent=0)  # 100 GPU-seconds a GPU
DEAR = Rates(start_s=1000, image_mib=0, state_percent=0, rebuild_s=0, failure_percent=0)
HOUR = 3600


def flat(model: str, tenant: str) -> Rates:
    return FLAT


def two_nodes_to_empty() -> World:
    """n1 gives a pod of 1 GPU, n2 one of 3; both find room on n3."""
    return world().nodes("n1", "n2", "n3").pod("a", "n1", 1).pod("b", "n2", 3).pod("l", "n3", 4, locked=True)


def test_a_chain_gains_its_node_and_costs_its_moves() -> None:
    made = two_nodes_to_empty()
    plan, snapshot = plan_of(made), made.snapshot()
    prices = priced(plan, snapshot, flat, HOUR)
    assert [(p.node, p.gpus, p.gained, p.spent) for p in prices] == [
        ("n1", 8, 8 * HOUR, 100),
        ("n2", 8, 8 * HOUR, 300),
    ]
    assert [p.worth for p in prices] == [288, 96]
    # 8 of 24 GPUs, for a pod and its node of 3 pods and 3 nodes
    assert [p.karpenter for p in prices] == [pytest.approx(1.0)] * 2


def test_an_empty_node_that_receives_is_taken_off_what_is_gained() -> None:
    made = world().node("n0", 16, cpu_milli=256_000)
    for i in range(3):
        made.node(f"n{i + 1}").pod(f"p{i}", f"n{i + 1}", 5)
    plan, snapshot = plan_of(made), made.snapshot()
    assert plan.net_emptied == 2
    prices = priced(plan, snapshot, flat, HOUR)
    assert sum(p.gpus for p in prices) == 3 * 8 - 16


def test_what_loses_gpus_stays_where_nobody_asks_for_a_worth() -> None:
    """Two nodes of three GPUs for one of eight: a node more is empty, and two GPUs fewer."""
    made = world().node("n0", 8).node("n1", 3).node("n2", 3).pod("a", "n1", 2).pod("b", "n2", 2)
    plan, snapshot = plan_of(made), made.snapshot()
    assert plan.net_emptied == 1
    assert max(price.worth for price in priced(plan, snapshot, flat, HOUR)) < 0
    assert worthwhile(plan, snapshot, flat, HOUR, 0) is plan
    assert not worthwhile(plan, snapshot, flat, HOUR, 1).moves


def test_rates_are_those_of_pool_and_tenant() -> None:
    made = world().nodes("n1", "n3").pod("a", "n1", 1, tenant="slow").pod("l", "n3", 4, locked=True)
    plan, snapshot = plan_of(made), made.snapshot()
    asked = []

    def rates(model: str, tenant: str) -> Rates:
        asked.append((model, tenant))
        return DEAR

    assert [c.gpu_seconds for c in costs(snapshot, resolve(plan, snapshot).pod, rates)] == [1000]
    assert asked == [(GPU_MODEL, "slow")]


@pytest.mark.parametrize(("least", "emptied"), [(0, ("n1", "n2")), (97, ("n1",)), (300, ())])
def test_what_is_not_worth_it_is_left_out_and_said(least: float, emptied: tuple[str, ...]) -> None:
    made = two_nodes_to_empty()
    snapshot, whole = made.snapshot(), plan_of(made)
    plan = worthwhile(whole, snapshot, flat, HOUR, least)
    assert plan.emptied_nodes == emptied
    assert verify(plan, snapshot).ok
    left_out = {row.node for row in plan.kept if row.reason == NOT_WORTH_IT}
    assert left_out == set(whole.emptied_nodes) - set(emptied)
    assert any(note.startswith("price: ") for note in plan.notes) == bool(left_out)
    assert not any(note.startswith("cut: ") for note in plan.notes)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_left_is_legal_and_worth_it(seed: int) -> None:
    chance = random.Random(seed)
    snapshot = random_world(seed).snapshot()
    whole = unproven(snapshot, Params(), seed, None, None)
    least = chance.choice((20, 50, 100, 200))
    plan = worthwhile(whole, snapshot, flat, HOUR, least)
    assert verify(plan, snapshot).ok
    assert all(p.worth >= least for p in priced(plan, snapshot, flat, HOUR))
    assert {row.node for row in plan.kept} >= {row.node for row in whole.kept}


def test_surge_says_what_second_copies_take_of_what_is_free() -> None:
    made = two_nodes_to_empty()
    (surge,) = surges(plan_of(made), made.snapshot())
    assert (surge.gpu_model, surge.free, surge.peak, surge.largest, surge.places) == (GPU_MODEL, 7 + 5 + 4, 4, 3, 3)


def test_a_plan_without_moves_costs_nothing() -> None:
    made = world().node("n").pod("a", "n")
    plan, snapshot = plan_of(made), made.snapshot()
    assert (priced(plan, snapshot, flat, HOUR), surges(plan, snapshot)) == ((), ())
    assert worthwhile(plan, snapshot, flat, HOUR, 10) is plan
