"""Forward and back again is where one began, on every world; and what stays, stays for a reason."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.consolidation.planner import Params, unproven
from scheduler.plan.inverse import inverse
from scheduler.plan.plan import Plan
from scheduler.plan.verify import verify
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, pod_key, world

SEEDS = st.integers(min_value=0, max_value=2**31)
# A node may be left and not be returned to: it is out of service, or held more than it may before.
ONE_WAY = {"cordoned", "not_ready", "gpus", "gpu_share", "cpu", "memory", "max_pods", "host_port", "anti_affinity"}
WISHES = {"affinity", "selector", "taint", "model", "zone", "gpu_memory", "topology"}


def _run(made: World, plan: Plan, done: list[int]) -> World:
    """The same world once these moves have run."""
    target = {plan.moves[i].pod: plan.moves[i].target for i in done}
    other = world()
    other.top, other.rows = dict(made.top), {kind: list(rows) for kind, rows in made.rows.items()}
    other.rows["pods"] = [
        {**row, "node": target[pod_key(row)]} if pod_key(row) in target else row for row in made.rows["pods"]
    ]
    return other


@given(world_seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_forward_and_back_is_where_one_began(world_seed: int) -> None:
    made = random_world(world_seed, plain=True)
    forward = unproven(made.snapshot(), Params(), 0, None, None)
    there = _run(made, forward, list(range(len(forward.moves))))
    back = inverse(forward, range(len(forward.moves)), there.snapshot())
    assert back.kept == ()
    assert _run(there, back, list(range(len(back.moves)))).snapshot().digest == made.snapshot().digest


@given(world_seed=SEEDS, waves=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_every_rollback_is_legal_by_both_judges_and_names_what_stays(world_seed: int, waves: int) -> None:
    made = random_world(world_seed)
    forward = unproven(made.snapshot(), Params(), 0, None, None)
    done = [i for i, wave in enumerate(forward.wave_of) if wave < waves]
    there = _run(made, forward, done)
    back = inverse(forward, done, there.snapshot())
    assert verify(back, there.snapshot(), forward).violations == ()
    judge = Judge(there.document())
    place = dict(judge.place)
    assert judge.steps(answer(back)["moves"], place) == []
    stays = {blocker.pod: blocker.constraint for kept in back.kept for blocker in kept.blockers}
    assert set(stays.values()) <= ONE_WAY | WISHES
    for i in done:
        move = forward.moves[i]
        assert place[move.pod] == (move.target if move.pod in stays else move.source)
