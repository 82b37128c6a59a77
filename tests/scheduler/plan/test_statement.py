"""What-if and back, and shorter plans from longer ones."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.plan.plan import Plan
from scheduler.plan.statement import cut, keep, marginal, statement
from scheduler.plan.verify import verify
from tests.builders.worlds import World, world
from tests.properties.test_occupancy import odd_world
from tests.scheduler.plan.plans import plan


def chained() -> World:
    """b makes room for a (chain n1); f goes beside it to where b was (chain n4)."""
    made = world().nodes("n1", "n2", "n3", "n4").pod("a", "n1", 5).pod("b", "n2", 4).pod("d", "n2", 2, locked=True)
    return made.pod("e", "n3", 4, locked=True).pod("f", "n4", 1)


def whole(made: World) -> Plan:
    snapshot = made.snapshot()
    return plan(snapshot, [("b", "n3", 0), ("a", "n2", 1), ("f", "n2", 1)], drains={"b": "n1"})


def test_the_whole_plan_and_its_curve() -> None:
    snapshot = chained().snapshot()
    assert verify(whole(chained()), snapshot).ok
    assert marginal(whole(chained())) == [(0, 0), (2, 1), (3, 2)]


def test_a_cut_keeps_the_first_chains_and_counts_anew() -> None:
    snapshot = chained().snapshot()
    short = cut(whole(chained()), snapshot, 1)
    assert [(move.pod, wave) for move, wave in zip(short.moves, short.wave_of, strict=True)] == [
        ("jobs/b", 0),
        ("jobs/a", 1),
    ]
    assert short.moves[1].after == (0,)
    assert short.emptied_nodes == ("n1",)
    assert [(kept.node, kept.reason) for kept in short.kept] == [("n4", "cut")]
    assert (short.bound.net_upper, short.bound.gap, short.bound.proven) == (2, 0.5, False)
    assert short.notes == ("cut: 2 of 3 moves kept",)
    assert verify(short, snapshot).ok


def test_later_chains_alone_get_waves_of_their_own() -> None:
    snapshot = chained().snapshot()
    late = keep(whole(chained()), snapshot, {1})
    assert (late.wave_of, late.emptied_nodes) == ((0,), ("n4",))
    assert verify(late, snapshot).ok


def test_all_chains_are_the_plan_itself_and_none_is_none() -> None:
    snapshot = chained().snapshot()
    assert cut(whole(chained()), snapshot, 2) == whole(chained())
    nothing = cut(whole(chained()), snapshot, 0)
    assert (nothing.moves, nothing.net_emptied) == ((), 0)
    assert verify(nothing, snapshot).ok


def test_budgets_spread_a_cut_over_waves() -> None:
    made = world().nodes("n1", "n2", "n3", "n4").budget("app=x", max_unavailable=1).pod("z", "n3", 1, locked=True)
    for name, node in (("a", "n1"), ("b", "n2"), ("c", "n4")):
        made.pod(name, node, 1, labels={"app": "x"})
    snapshot = made.snapshot()
    long = plan(snapshot, [("a", "n3", 0), ("b", "n3", 1), ("c", "n3", 2)])
    short = cut(long, snapshot, 2)
    assert short.wave_of == (0, 1)
    assert verify(short, snapshot).ok


def test_a_move_is_judged_as_things_stand_by_then() -> None:
    snapshot = chained().snapshot()
    row = {name: p for p, name in enumerate(snapshot.pod_name)}
    what_if = statement(snapshot)
    block = what_if.move(row["a"], 1)
    assert block is not None and (block.reason, block.missing) == ("gpus", 3)
    assert what_if.move(row["b"], 2) is None
    mark = what_if.checkpoint()
    assert what_if.move(row["a"], 1) is None
    assert what_if.node_of(row["a"]) == 1
    what_if.rollback(mark)
    assert what_if.node_of(row["a"]) == 0
    assert what_if.pods_on(1) == (row["d"],)


@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_rolling_back_is_as_if_nothing_had_been(seed: int) -> None:
    snapshot = odd_world(seed).snapshot()
    dice, what_if = random.Random(seed), statement(snapshot)
    live = snapshot.pod_live.nonzero()[0].tolist()
    nodes = range(len(snapshot.node_name))

    def standing() -> list[tuple[int, ...]]:
        return [what_if.pods_on(node) for node in nodes]

    def wander(steps: int) -> None:
        for _ in range(steps):
            what_if.move(dice.choice(live), dice.choice(nodes))

    wander(10)
    before, mark = standing(), what_if.checkpoint()
    wander(20)
    what_if.rollback(mark)
    assert standing() == before
    what_if.rollback(0)
    assert standing() == [tuple(p for p in live if snapshot.pod_node[p] == node) for node in nodes]
