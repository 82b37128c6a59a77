"""New places for all pods at once: more nodes than chains find, in a legal order, and legal wherever it is cut."""

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.consolidation import columns as c
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


def tables(made: World) -> tuple[Compiled, Kinds]:
    snapshot = made.snapshot()
    compiled = compile_arena(snapshot, np.ones(len(snapshot.node_name), np.bool_))
    return compiled, kinds_of(compiled.arena, borrowers(snapshot))


def repack(compiled: Compiled, kinds: Kinds) -> Repack:
    part = Part(frozenset(range(len(kinds.first))), np.ones(len(compiled.takes), np.bool_))
    return Repack(compiled, kinds, part, frozenset(), 3, 0, None)


def test_it_finds_places_and_an_order_that_both_judges_accept_where_chains_find_nothing() -> None:
    """There is room for one node less, with 2 % of a node to spare."""
    chains, exact = (plan_of(tight(0), rounds=1, exact_up_to=nodes) for nodes in (0, 40))
    assert (chains.net_emptied, exact.net_emptied, exact.bound.proven) == (0, 1, True)
    assert len(exact.moves) < 15


def test_every_beginning_of_its_plan_is_legal_alone() -> None:
    made = tight(2, nodes=8, spare=1.1)
    compiled, kinds = tables(made)
    found = repack(compiled, kinds).beyond(NOTHING, 2)
    assert found.net == 2
    assert rearranged(compiled.arena, kinds, found, 3, 0)
    assert net_of(compiled) == 2
    snapshot = made.snapshot()
    plan = unproven(snapshot, Params(rounds=1), 0, None, None)
    chains = {move.chain for move in plan.moves}
    for count in range(len(chains) + 1):
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
