"""Blockers as a stranger checks them: take them out of the snapshot, plan again, look at the node."""

import numpy as np
import pytest

from scheduler.cluster.build import build
from scheduler.consolidation import explain, planner, shelves
from scheduler.consolidation.planner import Params, consolidate
from scheduler.consolidation.proof import without
from scheduler.worlds.generate import generate
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import after, kept_of, moves_of, plan_of


def holds_work(made: World, node: str) -> bool:
    """Whether the node keeps a pod other than agents once the plan has run."""
    then = after(made, plan_of(made))
    snapshot = then.snapshot()
    row = snapshot.node_name.index(node)
    return bool((snapshot.pod_live & ~snapshot.pod_agent & (snapshot.pod_node == row)).any())


@pytest.mark.parametrize("seed", [3, 17, 19, 23, 24, 25])
def test_without_its_blockers_the_next_plan_empties_the_node(seed: int) -> None:
    made = random_world(seed, plain=seed % 4 == 0)
    for kept in consolidate(made.snapshot(), Params()).kept:
        assert kept.blockers, kept
        assert not holds_work(made.without(*[b.pod for b in kept.blockers]), kept.node), kept


@pytest.mark.parametrize("seed", [17, 31])
def test_no_blocker_can_be_left_out(seed: int) -> None:
    made = random_world(seed)
    for kept in consolidate(made.snapshot(), Params()).kept:
        names = [b.pod for b in kept.blockers]
        for name in names if len(names) > 1 else ():
            assert holds_work(made.without(*[other for other in names if other != name]), kept.node), (kept, name)


def test_a_node_that_takes_pods_in_names_who_holds_it() -> None:
    made = world().nodes("n0", "n1").pod("a", "n0", 1).pod("b", "n1", 2)
    plan = consolidate(made.snapshot(), Params())
    assert moves_of(plan) == [("jobs/a", "n0", "n1")]
    kept = kept_of(plan)["n1"]
    assert kept.blockers
    assert not holds_work(made.without(*[b.pod for b in kept.blockers]), "n1")


def test_a_pod_that_is_thought_away_is_as_good_as_removed() -> None:
    made = random_world(7)
    names = {"jobs/p1", "jobs/p4", "jobs/p9"}
    real = made.without(*names).snapshot()
    thought = without(made.snapshot(), names)
    plans = [planner.unproven(s, planner.Params(), 0, None, None) for s in (real, thought)]
    assert plans[0].moves == plans[1].moves
    assert plans[0].kept == plans[1].kept


def test_counts_of_plain_pods_equal_a_look_at_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums on the shelves against the nodes one by one, which is what every other pod gets."""
    snapshot = build(generate("small78", nodes=60, seed=2))
    quick = planner.unproven(snapshot, planner.Params(rounds=1), 0, None, None)
    fill = shelves.fill_shelves

    def one_by_one(a):  # type: ignore[no-untyped-def]
        return fill(a)._replace(exact=np.zeros(1, np.int64))

    monkeypatch.setattr(explain, "fill_shelves", one_by_one)
    slow = planner.unproven(snapshot, planner.Params(rounds=1), 0, None, None)
    assert quick.kept == slow.kept
    assert any(kept.targets for kept in quick.kept)


def test_where_nobody_counted_the_plan_does_not_say_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made = world().nodes("n0", "n1").pod("a", "n0", 1, gpu_milli=500, anti_affinity=["app=x"], labels={"app": "x"})
    made.pod("b", "n1", 8, locked=True)
    assert kept_of(plan_of(made))["n0"].targets == {"gpu_share": 1}
    monkeypatch.setattr(explain, "LOOKS", 0)
    assert kept_of(plan_of(made))["n0"].targets is None
