"""Blockers as a stranger checks them: take them out of the snapshot, plan again, look at the node."""

import numpy as np
import pytest

from scheduler.cluster.build import build
from scheduler.cluster.snapshot import Snapshot
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


def shared_world() -> World:
    """Listed devices push shares aside, one node has a port taken, and a borrower asks for more than it adds."""
    made = world().nodes("n0", "n1", "n2", "n3", "n4", gpus=8)
    made.pod("a", "n0", 1, gpu_milli=500, devices=[0]).pod("b", "n0", 6).pod("c", "n1", 7, host_ports=[80])
    made.pod("d", "n2", 4, host_ports=[80], locked=True).pod("e", "n2", 3, locked=True)
    made.pod("f", "n3", 8, cpu_milli=120_000)
    return made.pod("g", "n4", 5, anti_affinity=["app=x"], labels={"app": "x"}).pod("h", "n1", 1, labels={"app": "x"})


@pytest.mark.parametrize(
    "snapshot",
    [build(generate("small78", nodes=60, seed=2)), shared_world().snapshot()]
    + [made for seed in range(40) if not ((made := random_world(seed).snapshot()).pod_lender >= 0).any()],
)
def test_sums_on_the_shelves_equal_a_look_at_every_node(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = planner.unproven(snapshot, planner.Params(rounds=1, exact_up_to=0), 0, None, None)
    fill = shelves.fill_shelves

    def one_by_one(a):  # type: ignore[no-untyped-def]
        return fill(a)._replace(exact=np.zeros(1, np.int64))

    monkeypatch.setattr(explain, "fill_shelves", one_by_one)
    slow = planner.unproven(snapshot, planner.Params(rounds=1, exact_up_to=0), 0, None, None)
    assert quick.kept == slow.kept


def test_a_borrower_without_room_says_nothing_of_pods_that_ask_for_less() -> None:
    """Beside its lender it adds one GPU, but it leaves with all four; who asks for one finds room all the same."""
    made = world().nodes("n0", "n1", "n2").pod("lender", "n0", 3, standby=True, locked=True)
    made.pod("borrower", "n0", 4, tier="LP", lent_by="jobs/lender", cpu_milli=1000).pod("more", "n0", 4, locked=True)
    made.pod("wall", "n1", 6, locked=True).pod("held", "n2", 0, locked=True)
    made.pod("big", "n2", 7).pod("clerk", "n2", 1, cpu_milli=2000)
    kept = kept_of(plan_of(made))
    assert [b.pod for b in kept["n0"].blockers] == ["jobs/lender", "jobs/more", "jobs/borrower"]
    assert [b.pod for b in kept["n2"].blockers] == ["jobs/held", "jobs/big"]


def test_where_nobody_counted_the_plan_does_not_say_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made = world().nodes("n0", "n1").pod("a", "n0", 1, gpu_milli=500, anti_affinity=["app=x"], labels={"app": "x"})
    made.pod("b", "n1", 8, locked=True)
    assert kept_of(plan_of(made))["n0"].targets == {"gpu_share": 1}
    monkeypatch.setattr(explain, "LOOKS", 0)
    assert kept_of(plan_of(made))["n0"].targets is None
