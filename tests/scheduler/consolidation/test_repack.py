"""New places for all pods at once: more nodes than chains find, in a legal order, and legal wherever it is cut."""

import numpy as np
import pytest

from scheduler.cluster.occupancy import borrowers
from scheduler.consolidation import columns as c
from scheduler.consolidation import rounds
from scheduler.consolidation.arena import Compiled, compile_arena
from scheduler.consolidation.exact import NOTHING, Counts, Part
from scheduler.consolidation.kinds import Kinds, kinds_of
from scheduler.consolidation.planner import Params, unproven
from scheduler.consolidation.rearrange import possible, rearranged
from scheduler.consolidation.repack import Repack
from scheduler.consolidation.rounds import net_of
from scheduler.plan.statement import cut
from scheduler.plan.verify import verify
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import plan_of

CORES = (3152, 4000, 8000, 11_300, 12_500, 16_000, 18_708)
SHARES = (250, 470, 650, 1000)


def tight(seed: int, nodes: int = 6, spare: float = 0.02) -> World:
    """Pods whose cores all but fill one node less than there are, as many kinds as there are sizes."""
    dice, made, used = np.random.default_rng(seed), world(), np.zeros(nodes)
    for n in range(nodes):
        made.node(f"n{n}", cpu_milli=96_000)
    room = (nodes - 1 - spare) * 96_000
    for i in range(200):
        cores, milli = int(dice.choice(CORES)), int(dice.choice(SHARES))
        n = int(dice.integers(nodes))
        if used[n] + cores <= 96_000 and used.sum() + cores <= room:
            used[n] += cores
            apart = {"labels": {"app": "db"}, "anti_affinity": ["app=db"]} if i % 9 == 0 else {}
            made.pod(
                f"p{i}",
                f"n{n}",
                gpu_milli=milli,
                cpu_milli=cores,
                memory_mib=1000,
                locked=i % 7 == 0 and n == 0,
                **apart,
            )
    return made


def halls(*seeds: int) -> World:
    """Such worlds beside each other: no pod may leave its own, and the last one has no node to win."""
    both = world()
    for hall, seed in enumerate(seeds):
        for kind, rows in tight(seed).rows.items():
            for row in rows:
                here = {"labels": {"hall": f"h{hall}", **row.get("labels", {})}, "name": f"{row['name']}-{hall}"}
                if kind == "pods":
                    here |= {"node": f"{row['node']}-{hall}", "node_selector": {"hall": f"h{hall}"}}
                both.rows[kind].append({**row, **here})
    return both.node("wall", 8, labels={"hall": "w"}).pod("stays", "wall", 8, node_selector={"hall": "w"})


def tables(made: World) -> tuple[Compiled, Kinds]:
    snapshot = made.snapshot()
    compiled = compile_arena(snapshot, np.ones(len(snapshot.node_name), np.bool_))
    return compiled, kinds_of(compiled.arena, borrowers(snapshot))


def repack(compiled: Compiled, kinds: Kinds) -> Repack:
    part = Part(frozenset(range(len(kinds.first))), np.ones(len(compiled.takes), np.bool_))
    return Repack(compiled, kinds, part, frozenset(), 3, 0, None)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains in one order of nodes only, and only as deep as is asked."""
    monkeypatch.setattr(rounds, "SMALL", 0)


@pytest.mark.usefixtures("quick")
def test_it_finds_places_and_an_order_that_both_judges_accept_where_chains_find_nothing() -> None:
    """There is room for one node less, with 2 % of a node to spare."""
    asked = (0, 0), (0, 100), (40, 100)
    chains, anew, exact = (plan_of(tight(0), rounds=1, exact_up_to=n, repack_up_to=m) for n, m in asked)
    assert [plan.net_emptied for plan in (chains, anew, exact)] == [0, 1, 1]
    assert exact.bound.proven
    assert len(exact.moves) <= len(anew.moves) < 20


def test_every_beginning_of_its_plan_is_legal_alone() -> None:
    made = tight(2, nodes=8, spare=1.1)
    compiled, kinds = tables(made)
    found = repack(compiled, kinds).beyond(NOTHING, 2)
    assert found.net == 2
    assert rearranged(compiled.arena, kinds, found, 3, 0)
    assert net_of(compiled) == 2
    snapshot = made.snapshot()
    for nodes in (0, 40):
        plan = unproven(snapshot, Params(rounds=1, exact_up_to=nodes), 0, None, None)
        assert plan.net_emptied == len({move.chain for move in plan.moves}) == 2
        for count in range(3):
            shorter = cut(plan, snapshot, count)
            assert verify(shorter, snapshot).ok
            assert shorter.net_emptied == count


def test_it_stops_when_it_is_told_to_and_leaves_the_tables_as_they_were() -> None:
    compiled, kinds = tables(tight(0))
    same = [n for n in range(c.NODE_COLUMNS) if n != c.N_FIRST]  # the lists hold the same pods, in any order
    before = compiled.arena.node[:, same], compiled.arena.pod[:, [c.P_NODE, c.P_MOVED]]
    one = repack(compiled, kinds)
    one.go_on = lambda: False
    assert one.beyond(NOTHING, 1) == NOTHING
    assert repack(compiled, kinds).beyond(NOTHING, 1).net == 1
    assert np.array_equal(compiled.arena.node[:, same], before[0])
    assert np.array_equal(compiled.arena.pod[:, [c.P_NODE, c.P_MOVED]], before[1])


@pytest.mark.usefixtures("quick")
def test_parts_share_the_steps_and_large_ones_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes can go, one in each hall."""
    made, asked = halls(0, 2), {"rounds": 1, "exact_up_to": 0}
    chains, anew, again, small = (plan_of(made, **asked, repack_up_to=nodes) for nodes in (0, 6, 6, 5))
    assert (chains.net_emptied, anew.net_emptied, anew.bound.net_upper) == (0, 2, 2)
    assert (small.moves, again.digest()) == (chains.moves, anew.digest())
    monkeypatch.setattr("scheduler.consolidation.anew.MOST_TURNS", 1)
    few = plan_of(made, **asked)
    assert few.net_emptied == 1
    assert {move.pod for move in few.moves} < {move.pod for move in anew.moves}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("short", [{"depth": 2}, {"max_moves": 50}])
def test_short_chains_and_few_moves_get_nothing_else(short: dict[str, int]) -> None:
    plans = [plan_of(tight(0), rounds=1, exact_up_to=0, repack_up_to=nodes, **short) for nodes in (0, 100)]
    assert plans[0].moves == plans[1].moves


@pytest.mark.usefixtures("quick")
def test_a_stop_leaves_the_plan_of_the_chains() -> None:
    told = iter([True])
    plan = unproven(halls(0).snapshot(), Params(rounds=1, exact_up_to=0), 0, lambda _: next(told, False), None)
    assert (plan.notes, plan.moves) == (("cut: cancelled while all pods were placed anew",), ())


def test_places_without_an_order_are_none() -> None:
    """Two pods change places on full nodes: whoever came first would stand beside the other."""
    made = world().nodes("n0", "n1", "n2").pod("a", "n0", 5).pod("b", "n1", 4).pod("x", "n2", 3)
    made.pod("c", "n0", 3, locked=True).pod("d", "n1", 4, locked=True)
    compiled, kinds = tables(made)
    a, b, x = (int(kinds.of[[key.endswith(name) for key in made.snapshot().pod_name].index(True)]) for name in "abx")
    swap = Counts({(0, a): 1, (1, b): 1}, {(1, a): 1, (0, b): 1}, frozenset(), frozenset())
    assert not rearranged(compiled.arena, kinds, swap, 3, 0)
    assert not possible(compiled.arena, kinds, Counts({(2, x): 1}, {(0, x): 1}, frozenset({2}), frozenset()), 3, 0)
    assert int(compiled.arena.work[c.W_MOVES]) == 0


def test_nodes_that_have_nothing_left_of_an_amount_stop_nobody() -> None:
    """Over-committed nodes have less than nothing of it, and a share of nothing is no number."""
    snapshot = random_world(403).snapshot()
    plan = unproven(snapshot, Params(), 403, None, None)
    assert verify(plan, snapshot).ok


def test_nobody_leaves_a_node_that_stays_unless_somebody_comes_there() -> None:
    """In this world a pod went early, for one who found room without it."""
    made = random_world(1657)
    plan = unproven(made.snapshot(), Params(), 1657, None, None)
    assert plan.moves and Judge(made.document()).faults(answer(plan)) == []
