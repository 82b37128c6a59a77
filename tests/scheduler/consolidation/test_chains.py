"""Ejection chains, their order, and what a plan never does."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.consolidation.params import ParamError, Progress
from scheduler.consolidation.planner import Params, consolidate, unproven
from scheduler.plan.verify import verify
from scheduler.worlds.generate import generate
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import after, kept_of, moves_of, plan_of


def ladder() -> World:
    """a (5) fits n1 once b (4) has left, b fits n2 once c (3) has left, c fits n3 once d (2) has left for n4."""
    made = world().nodes("n0", "n1", "n2", "n3", "n4")
    made.pod("a", "n0", 5).pod("b", "n1", 4).pod("l1", "n1", 3, locked=True)
    made.pod("c", "n2", 3).pod("l2", "n2", 4, locked=True).pod("d", "n3", 2).pod("l3", "n3", 5, locked=True)
    return made.pod("l4", "n4", 6, locked=True)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_shallow_search_does_not_free_the_node(depth: int) -> None:
    assert plan_of(ladder(), depth=depth).moves == ()


def test_depth_three_frees_the_node_step_by_step() -> None:
    plan = plan_of(ladder(), depth=3)
    assert plan.emptied_nodes == ("n0",)
    assert moves_of(plan) == [
        ("jobs/d", "n3", "n4"),
        ("jobs/c", "n2", "n3"),
        ("jobs/b", "n1", "n2"),
        ("jobs/a", "n0", "n1"),
    ]
    assert [(m.depth, m.after) for m in plan.moves] == [(3, ()), (2, (0,)), (1, (1,)), (0, (2,))]
    assert plan.wave_of == (0, 1, 2, 3)
    assert plan.bound.proven


def test_several_small_pods_may_leave_one_target() -> None:
    made = world().nodes("n0", "n1", "n2").pod("a", "n0", 4).pod("l", "n1", 4, locked=True)
    made.pod("s1", "n1", 1).pod("s2", "n1", 1).pod("s3", "n1", 1).pod("r", "n2", 5, locked=True)
    plan = plan_of(made, depth=1)
    assert plan.emptied_nodes == ("n0",)
    assert moves_of(plan)[-1] == ("jobs/a", "n0", "n1")


def test_all_pods_of_a_node_leave_or_none() -> None:
    made = world().nodes("n0", "n1").pod("a", "n0", 1).pod("b", "n0", 3).pod("r", "n1", 6, locked=True)
    plan = plan_of(made)
    assert plan.moves == ()
    assert [b.pod for b in kept_of(plan)["n0"].blockers] == ["jobs/b"]
    assert (kept_of(plan)["n0"].blockers[0].missing, kept_of(plan)["n0"].blockers[0].unit) == (1, "gpus")


def test_an_empty_node_is_used_only_if_the_net_rises() -> None:
    shared: dict[str, Any] = {"cpu_milli": 20_000}
    two = world().node("n0", **shared).node("n1", **shared).node("n2")
    two.pod("a", "n0", 2, cpu_milli=15_000).pod("b", "n1", 2, cpu_milli=15_000)
    plan = plan_of(two)
    assert (plan.net_emptied, plan.emptied_nodes) == (1, ("n0", "n1"))
    assert {move.target for move in plan.moves} == {"n2"}
    one = world().node("n0", **shared).node("n2").pod("a", "n0", 2, cpu_milli=15_000)
    assert plan_of(one).moves == ()


@pytest.mark.parametrize("seed", range(12))
def test_a_second_plan_finds_little_and_a_third_agrees(seed: int) -> None:
    made = random_world(seed, plain=True)
    plan = plan_of(made)
    again = plan_of(after(made, plan))
    assert plan.net_emptied + again.net_emptied <= plan.bound.net_upper


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_on_moves_holds(limit: int) -> None:
    snapshot = build(generate("small78", nodes=40, seed=3))
    free = unproven(snapshot, Params(), 0, None, None)
    plan = unproven(snapshot, Params(max_moves=limit), 0, None, None)
    assert verify(plan, snapshot).ok
    assert len(plan.moves) <= limit < len(free.moves)


def test_only_nodes_of_the_models_in_scope_are_emptied() -> None:
    made = (
        world().node("a0", gpu_model="A").node("a1", gpu_model="A").node("b0", gpu_model="B").node("b1", gpu_model="B")
    )
    for name in ("a0", "a1", "b0", "b1"):
        made.pod(f"p-{name}", name, 2, gpu_model=name[0].upper())
    plan = plan_of(made, models=("B",))
    assert [name[0] for name in plan.emptied_nodes] == ["b"]
    assert kept_of(plan)["a0"].reason == "scope"
    with pytest.raises(ParamError, match="models"):
        plan_of(made, models=("C",))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("depth", 4),
        ("depth", -1),
        ("rounds", 0),
        ("rounds", 6),
        ("partition", 1),
        ("exact_up_to", -1),
        ("exact_up_to", 501),
        ("max_moves", -1),
        ("seconds", 0.0),
    ],
)
def test_params_name_the_field_out_of_range(field: str, value: float) -> None:
    with pytest.raises(ParamError) as caught:
        Params(**{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_several_clusters_are_refused() -> None:
    made = world().node("n0", cluster="a").node("n1", cluster="b")
    with pytest.raises(InputError):
        consolidate(made.snapshot(), Params())


def stop_at(count: int) -> Callable[[Progress], bool]:
    seen: list[Progress] = []

    def report(now: Progress) -> bool:
        seen.append(now)
        return len(seen) < count

    return report


def test_cancelled_half_way_the_plan_is_legal_and_says_so() -> None:
    snapshot = build(generate("small78", nodes=120, seed=1))
    params = Params(partition=30, rounds=2)
    whole = consolidate(snapshot, params)
    cut = consolidate(snapshot, params, progress=stop_at(3))
    assert verify(cut, snapshot).ok
    assert 0 < cut.net_emptied < whole.net_emptied
    assert cut.notes == ("cut: cancelled in round 1, partition 3 of 4",)
    assert whole.notes == ()


def test_the_clock_is_a_safety_net_that_the_plan_admits() -> None:
    snapshot = build(generate("small78", nodes=120, seed=1))
    ticks = iter(range(100))
    plan = consolidate(snapshot, Params(partition=30, seconds=2.5), clock=lambda: float(next(ticks)))
    assert verify(plan, snapshot).ok
    assert plan.notes == ("cut: stopped by the wall clock after 2.5 s",)


@pytest.mark.parametrize(("name", "nodes", "seed"), [("uniform8", 30, 3), ("small68c", 30, 10)])
def test_who_allows_more_never_gets_less(name: str, nodes: int, seed: int) -> None:
    """Deeper chains alone, or more rounds alone, would have cost moves here."""
    snapshot = build(generate(name, nodes=nodes, seed=seed))
    found = {
        (depth, rounds): (plan.net_emptied, -len(plan.moves))
        for depth, rounds in ((0, 3), (1, 3), (2, 3), (3, 3), (3, 1), (3, 5))
        for plan in [unproven(snapshot, Params(depth=depth, rounds=rounds, exact_up_to=0), 0, None, None)]
    }
    assert found[0, 3] <= found[1, 3] <= found[2, 3] <= found[3, 3]
    assert found[3, 1][0] <= found[3, 3][0] <= found[3, 5][0]


@pytest.mark.parametrize("name", ["llm78", "small68c"])
def test_equal_input_gives_the_equal_plan_whatever_the_row_order(name: str) -> None:
    document = generate(name, nodes=80, seed=5)
    dice = random.Random(5)
    mixed = type(document)(
        taken_at=document.taken_at,
        nodes=dice.sample(document.nodes, len(document.nodes)),
        pods=dice.sample(document.pods, len(document.pods)),
        clusters=document.clusters,
        domains=document.domains,
        gangs=document.gangs,
        pdbs=document.pdbs,
        tenants=document.tenants,
        now_s=document.now_s,
    )
    params = Params(partition=30)
    first = consolidate(build(document), params, seed=7)
    assert first.digest() == consolidate(build(mixed), params, seed=7).digest()
    assert first.net_emptied > 0
