"""The exact stage: never worse than the chains, optima known by hand, bounds that hold, stops that are obeyed."""

import numpy as np
import pytest
from ortools.sat.python import cp_model

from scheduler.cluster.build import build
from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation import planner, solver
from scheduler.consolidation.arena import Compiled, compile_arena
from scheduler.consolidation.bound import net_upper
from scheduler.consolidation.exact import Counts, Model, parts_of
from scheduler.consolidation.kinds import Kinds, kinds_of, on_devices
from scheduler.consolidation.planner import Params, consolidate, unproven
from scheduler.consolidation.polish import Polished, counts_of, polish
from scheduler.consolidation.rounds import Search, net_of
from scheduler.consolidation.walk import Walk
from scheduler.plan.plan import Bound, Plan
from scheduler.plan.verify import verify
from scheduler.worlds.generate import generate
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import moves_of, plan_of

CHAINS = Params(exact_up_to=0, repack_up_to=0)


def preference(plan: Plan) -> tuple[int, int]:
    return plan.net_emptied, -len(plan.moves)


def compiled(snapshot: Snapshot) -> tuple[Compiled, Kinds, int]:
    """Tables, kinds and the bound by flows."""
    tables = compile_arena(snapshot, np.ones(len(snapshot.node_name), np.bool_))
    return tables, kinds_of(tables.arena, borrowers(snapshot)), net_upper(snapshot, tables)


def log_of(plan: Plan, snapshot: Snapshot) -> np.ndarray:
    node = {name: n for n, name in enumerate(snapshot.node_name)}
    pod = {snapshot.pod_key(p): p for p in range(len(snapshot.pod_name))}
    log = np.zeros((len(plan.moves), c.LOG_COLUMNS), np.int64)
    for i, move in enumerate(plan.moves):
        log[i, [c.L_POD, c.L_SOURCE, c.L_TARGET]] = pod[move.pod], node[move.source], node[move.target]
        log[i, c.L_DEPTH] = move.depth
    return log


def admits(model: Model, counts: Counts) -> bool:
    """Whether the rules allow exactly these counts."""
    for variables, known in ((model.leaves, counts.leaves), (model.reaches, counts.reaches)):
        assert known.keys() <= variables.keys()
        for key, var in variables.items():
            model.rules.add(var == known.get(key, 0))
    for switches, on in ((model.drained, counts.drained), (model.opened, counts.opened)):
        for n, switch in switches.items():
            model.rules.add(switch == (n in on))
    judge = cp_model.CpSolver()
    judge.parameters.num_workers = 1
    return judge.solve(model.rules) == cp_model.OPTIMAL


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_every_legal_plan_keeps_the_rules_of_the_model(start: int) -> None:
    """Else the bound would not hold for it."""
    judged = 0
    for seed in range(start, start + 20):
        snapshot = random_world(seed, plain=seed % 4 == 0).snapshot()
        plan = unproven(snapshot, Params(exact_up_to=0), seed, None, None)
        if plan.moves:
            tables, kinds, _ = compiled(snapshot)
            counts = counts_of(log_of(plan, snapshot), kinds, tables)
            assert (counts.net, counts.moves) == (plan.net_emptied, len(plan.moves))
            for part in parts_of(tables.arena, kinds, snapshot.node_usable):
                assert admits(Model(tables, kinds, snapshot.node_usable, part), part.of(counts)), seed
            judged += 1
    assert judged >= 5


def test_it_is_never_worse_than_the_chains_and_sometimes_better() -> None:
    better = 0
    for seed in range(120):
        made = random_world(seed, plain=seed % 4 == 0)
        chains, anew = (plan_of(made, seed, exact_up_to=0, repack_up_to=nodes) for nodes in (0, 100))
        exact = plan_of(made, seed)
        assert preference(exact) >= preference(chains), seed
        assert chains.net_emptied <= anew.net_emptied <= exact.bound.net_upper <= anew.bound.net_upper, seed
        assert anew.bound.net_upper <= chains.bound.net_upper, seed
        assert preference(anew) >= preference(chains), seed
        better += preference(exact) > preference(chains)
    assert better >= 3


def test_equal_questions_have_equal_answers() -> None:
    snapshot = build(generate("llm78", nodes=40, seed=4))
    plans = [unproven(snapshot, Params(), 3, report, None) for report in (None, None, lambda _: True)]
    assert len({plan.digest() for plan in plans}) == 1
    assert plans[0].params["exact_up_to"] == 40


def test_it_empties_what_the_chains_cannot_and_says_that_nothing_better_exists() -> None:
    snapshot = build(generate("llm78", nodes=100, seed=0))
    chains, exact = (unproven(snapshot, asked, 0, None, None) for asked in (CHAINS, Params(exact_up_to=100)))
    assert (chains.net_emptied, chains.bound.proven) == (10, False)
    assert (exact.net_emptied, exact.bound.net_upper, exact.bound.proven) == (11, 11, True)
    assert verify(exact, snapshot).ok


def halves() -> World:
    """Three nodes of 8 GPUs with 5 each in use, as one pod that fits beside no other."""
    made = world().nodes("n0", "n1", "n2")
    for name in ("n0", "n1", "n2"):
        made.pod(f"p-{name}", name, 5)
    return made


def test_whole_gpus_that_only_fit_in_parts_are_seen_without_the_solver() -> None:
    """6 GPUs are free and 5 would move, but none of the 2 and 1 is a place for 5."""
    assert plan_of(halves(), exact_up_to=0).bound == Bound(net_upper=0, gap=0.0, proven=True)


def test_cores_that_only_fit_in_parts_are_seen_by_the_solver() -> None:
    """The flows let one node go; counted by pods none can."""
    made = world().nodes("n0", "n1", "n2")
    for name in ("n0", "n1", "n2"):
        made.pod(f"p-{name}", name, 1, cpu_milli=70_000)
    assert (plan_of(made, exact_up_to=0).bound.net_upper, plan_of(made).bound.net_upper) == (1, 0)
    assert plan_of(made).bound.proven


def test_shares_over_one_half_need_a_device_each() -> None:
    made = world().node("n0", 2).node("n1", 2)
    for i in range(3):
        made.pod(f"p{i}", "n0" if i < 2 else "n1", gpu_milli=600)
    assert (plan_of(made, exact_up_to=0).bound.net_upper, plan_of(made).bound.net_upper) == (1, 0)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_shares_on_one_device_weigh_no_more_than_the_device(k: int) -> None:
    dice = np.random.default_rng(k)
    for _ in range(300):
        cuts = np.sort(dice.integers(0, 1001, dice.integers(0, 6)))
        shares = np.diff(np.concatenate([[0], cuts, [1000]]))
        assert on_devices(shares, k).sum() <= k * (k + 1) == on_devices(np.array([1000]), k)[0]


def test_of_equal_plans_the_one_with_the_fewest_moves_is_taken() -> None:
    """a and b leave n0 for n1 in two moves; the other way one pod of 4 GPUs moves once."""
    made = world().node("n0", 8).node("n1", 8).pod("a", "n0", 1).pod("b", "n0", 1).pod("c", "n1", 4)
    assert moves_of(plan_of(made)) == [("jobs/c", "n1", "n0")]


def test_of_equal_moves_the_fewest_gpus_are_taken() -> None:
    made = world().node("n0", 8).node("n1", 8).pod("a", "n0", 3).pod("b", "n1", 2)
    assert moves_of(plan_of(made)) == [("jobs/b", "n1", "n0")]


def test_pods_that_keep_apart_are_no_promise_of_the_solver() -> None:
    apart = {"labels": {"app": "db"}, "anti_affinity": ["app=db"]}
    made = world().nodes("n0", "n1").pod("a", "n0", 2, **apart).pod("b", "n1", 2, **apart)
    assert (plan_of(made, exact_up_to=0).bound.net_upper, plan_of(made).bound.net_upper) == (1, 0)


def test_the_limit_on_moves_and_nodes_asked_for_first_hold() -> None:
    snapshot = build(generate("small78", nodes=40, seed=3))
    few = unproven(snapshot, Params(max_moves=3), 0, None, None)
    assert len(few.moves) <= 3
    free = unproven(snapshot, Params(), 0, None, None)
    hardest = max(free.emptied_nodes, key=lambda name: sum(move.source == name for move in free.moves))
    asked = unproven(snapshot, Params(first=(hardest,)), 0, None, None)
    assert hardest in asked.emptied_nodes
    assert asked.bound.net_upper >= free.bound.net_upper


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Has an entry as soon as the exact stage begins."""
    entries: list[bool] = []

    def noted(search: Search, snapshot: Snapshot) -> Polished:
        entries.append(True)
        return polish(search, snapshot)

    monkeypatch.setattr(planner, "polish", noted)
    monkeypatch.setattr(solver, "ASK_EVERY_S", 0.001)  # else the answer may come before the question whether to go on
    return entries


def test_a_stop_during_the_exact_stage_leaves_the_plan_so_far(begun: list[bool]) -> None:
    snapshot = build(generate("llm78", nodes=100, seed=0))
    plan = unproven(snapshot, Params(exact_up_to=100), 0, lambda _: not begun, None)
    assert plan.notes == ("cut: cancelled in the exact stage",)
    assert preference(plan) >= preference(unproven(snapshot, CHAINS, 0, None, None))
    assert verify(plan, snapshot).ok


def test_the_clock_stops_the_exact_stage(begun: list[bool]) -> None:
    snapshot = build(generate("llm78", nodes=100, seed=0))
    plan = unproven(snapshot, Params(exact_up_to=100, seconds=5.0), 0, None, lambda: 10.0 if begun else 0.0)
    assert plan.notes == ("cut: stopped by the wall clock after 5.0 s",)
    assert preference(plan) >= preference(unproven(snapshot, CHAINS, 0, None, None))


def test_a_walk_that_fails_keeps_the_tables_as_they_were() -> None:
    """The counts say that two pods change places on full nodes, which no order of moves can do."""
    made = world().node("n0", 8).node("n1", 8).node("n2", 8)
    made.pod("a", "n0", 8).pod("b", "n1", 4).pod("c", "n1", 4, locked=True).pod("d", "n2", 8, locked=True)
    tables, kinds, _ = compiled(made.snapshot())
    a = tables.arena
    before = a.node.copy()
    k = int(kinds.of[0])
    counts = Counts({(0, k): 1}, {(1, k): 1}, frozenset({0}), frozenset())
    Walk(a, kinds, counts, 3).run()
    assert (int(a.work[c.W_MOVES]), net_of(tables)) == (0, 0)
    assert np.array_equal(a.node, before)


def test_who_is_followed_by_their_like_stays() -> None:
    """The solver may say that a pod leaves a node and another of its kind comes there."""
    made = world().node("n0", 8).node("n1", 8).pod("a", "n0", 2).pod("b", "n1", 2)
    tables, kinds, _ = compiled(made.snapshot())
    model = Model(tables, kinds, made.snapshot().node_usable, parts_of(tables.arena, kinds, np.ones(2, np.bool_))[0])
    for var in (*model.leaves.values(), *model.reaches.values()):
        model.rules.add(var == 1)
    judge = cp_model.CpSolver()
    judge.solve(model.rules)
    assert (judge.value(model.moves), model.read(judge).moves) == (2, 0)


def test_large_clusters_get_no_exact_stage_unless_asked() -> None:
    snapshot = build(generate("llm78", nodes=101, seed=0))
    assert (
        unproven(snapshot, Params(), 0, None, None).digest()
        == unproven(snapshot, Params(exact_up_to=40), 0, None, None).digest()
    )
    chains = unproven(snapshot, Params(exact_up_to=0), 0, None, None)
    assert unproven(snapshot, Params(), 0, None, None).moves == chains.moves


def test_blockers_are_proven_by_the_same_planner() -> None:
    snapshot = random_world(7).snapshot()
    assert consolidate(snapshot, Params()).moves == unproven(snapshot, Params(), 0, None, None).moves
