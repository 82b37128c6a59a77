"""The bound against every outcome of tiny worlds, and the reasons against what happens without the blockers."""

from itertools import product

import numpy as np
import pytest

from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.mobility import bound_domains, immovable
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.room import at_home, faults
from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.plan.outcome import counts, moved
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import after, kept_of, plan_of

MOST = 4096  # outcomes that are tried for one world


def best_net(snapshot: Snapshot) -> int:
    """The largest net gain of any placement that every receiving node can hold, whatever the way there."""
    rules = eligibility(snapshot)
    movable = np.flatnonzero(snapshot.pod_live & (immovable(snapshot) == 0)).tolist()
    usable, homes = snapshot.node_usable, bound_domains(snapshot)
    choices = [_choices(snapshot, p, rules.eligible(p) & usable, homes) for p in movable]
    if np.prod([len(found) for found in choices]) > MOST:
        return -1
    before = counts(occupancy(snapshot)).empty_nodes
    return max(_net(snapshot, dict(zip(movable, homes, strict=True)), before) for homes in product(*choices))


def _choices(snapshot: Snapshot, p: int, nodes: Bools, homes: dict[int, dict[int, int]]) -> list[int]:
    """Where the pod stands and where eligibility and required topology let it go."""
    found = np.flatnonzero(nodes).tolist()
    return sorted({int(snapshot.pod_node[p]), *(n for n in found if p not in homes or at_home(snapshot, n, homes[p]))})


def _net(snapshot: Snapshot, homes: dict[int, int], before: int) -> int:
    moves = {p: n for p, n in homes.items() if n != snapshot.pod_node[p]}
    later = moved(snapshot, moves)
    for node in set(moves.values()):
        here = np.flatnonzero(later.pod_live & (later.pod_node == node)).tolist()
        arrivals = [p for p in here if p in moves]
        if any(faults(later, node, [p for p in here if p not in moves], arrivals)):
            return 0
    return counts(occupancy(later)).empty_nodes - before


def tiny(seed: int, *, lending: bool = False) -> World:
    made = random_world(seed, plain=seed % 2 == 0)
    made.rows["nodes"] = made.rows["nodes"][:4]
    names = {row["name"] for row in made.rows["nodes"]}
    bound = [row for row in made.rows["pods"] if row.get("node") in names and (lending or "lent_by" not in row)]
    made.rows["pods"] = bound[:7]
    return made


def test_no_outcome_of_a_tiny_world_beats_the_bound() -> None:
    judged = reached = 0
    for seed in range(60):
        made = tiny(seed)
        best = best_net(made.snapshot())
        if best >= 0:
            plan = plan_of(made)
            assert plan.net_emptied <= best <= plan.bound.net_upper, seed
            assert plan.bound.proven == (plan.net_emptied == plan.bound.net_upper)
            judged, reached = judged + 1, reached + (plan.net_emptied == best)
    assert judged >= 40
    assert reached >= 0.95 * judged


def test_no_outcome_of_a_tiny_world_with_loans_beats_the_bound() -> None:
    judged = 0
    for seed in range(800):
        made = tiny(seed, lending=True)
        if any("lent_by" in row for row in made.rows["pods"]):
            best = best_net(made.snapshot())
            if best >= 0:
                plan = plan_of(made)
                assert plan.net_emptied <= best <= plan.bound.net_upper, seed
                judged += 1
    assert judged >= 12


def test_the_gap_is_said_in_parts_of_the_bound() -> None:
    made = world().nodes("n0", "n1", "n2")
    for name in ("n0", "n1", "n2"):
        made.pod(f"p-{name}", name, 1, cpu_milli=70_000)
    plan = plan_of(made, exact_up_to=0)
    assert (plan.net_emptied, plan.bound.net_upper, plan.bound.gap, plan.bound.proven) == (0, 1, 1.0, False)


def test_nothing_to_win_is_no_gap() -> None:
    made = world().nodes("n0", "n1").pod("a", "n0", 8).pod("b", "n1", 8, locked=True)
    plan = plan_of(made)
    assert (plan.bound.net_upper, plan.bound.gap, plan.bound.proven) == (0, 0.0, True)


@pytest.mark.parametrize("seed", range(25))
def test_once_the_plan_has_run_the_blockers_alone_keep_a_node(seed: int) -> None:
    """Without them its other pods have room at the same time; nodes that took pods in are left out."""
    made = random_world(seed, plain=seed % 2 == 0)
    plan = plan_of(made)
    takers = {move.target for move in plan.moves}
    for kept in [kept for kept in plan.kept if kept.blockers and kept.node not in takers][:3]:
        lighter = after(made, plan).without(*[blocker.pod for blocker in kept.blockers])
        left = kept_of(plan_of(lighter, depth=0, rounds=1)).get(kept.node)
        assert left is None or not left.blockers or plan_of(lighter).net_emptied > 0, (kept, left)


def test_every_node_that_stays_is_named_once() -> None:
    made = random_world(4)
    plan, snapshot = plan_of(made), made.snapshot()
    state = occupancy(moved(snapshot, {}))
    counted = {snapshot.node_name[n] for n in np.flatnonzero(state.state > 1)}
    named = [kept.node for kept in plan.kept]
    assert len(named) == len(set(named))
    assert set(named) >= counted - set(plan.emptied_nodes)


def test_shares_that_a_sleeping_pod_lends_count_once_in_the_bound() -> None:
    made = world().nodes("n1").node("n2", 1).pod("w", "n1", 6, locked=True).pod("t", "n1", gpu_milli=700, locked=True)
    made.pod("s", "n1", 2, gpu_milli=300, standby=True)
    made.pod("b", "n1", gpu_milli=300, tier="LP", lent_by="jobs/s").pod("a", "n2", gpu_milli=600)
    assert plan_of(made).bound.net_upper == 1  # a fits beside s on its second device
