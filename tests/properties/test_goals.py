"""What holds for every goal on every world: legal by two judges, the promise kept, equal for equal input."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster import codec
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.params import Ask
from scheduler.consolidation.planner import Params, consolidate
from scheduler.plan.plan import Plan, from_json
from scheduler.plan.promise import nodes_of
from scheduler.plan.verify import verify
from scheduler.plan.waiting import gang_pods, pending
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world

SEEDS = st.integers(min_value=0, max_value=2**31)
KINDS = ("drain", "domain", "shape", "gang", "spare")


def asked(snapshot: Snapshot, kind: str, dice: random.Random) -> Ask | None:
    """A question of that kind that the world can be asked; None where it has nothing of the sort."""
    names = sorted(snapshot.node_name)
    whole = dice.random() < 0.5
    waiting = [snapshot.pod_key(p) for p in pending(snapshot).nonzero()[0].tolist()]
    failing = [name for name in names if len(gang_pods(snapshot, name))]
    if kind == "drain":
        return Ask(kind=kind, nodes=tuple(dice.sample(names, dice.randint(1, 3))), whole=whole)
    if kind == "domain":
        inside = [name for name in snapshot.domain_name if nodes_of(snapshot, name.partition("-")[0], name)]
        return Ask(kind=kind, name=dice.choice(inside), whole=whole) if inside else None
    if kind == "shape":
        return Ask(kind=kind, name=dice.choice(["1G8C", "4G32C", "8G64C"]), slots=dice.randint(1, 6), whole=whole)
    if kind == "gang":
        return Ask(kind=kind, name=dice.choice(waiting)) if waiting else None
    return Ask(kind=kind, nodes=(dice.choice(failing),)) if failing else None


def planned(snapshot: Snapshot, kind: str, seed: int) -> Plan | None:
    ask = asked(snapshot, kind, random.Random(seed))
    return None if ask is None else consolidate(snapshot, Params(goal=ask), seed=seed)


@given(world_seed=SEEDS, kind=st.sampled_from(KINDS), seed=st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_every_plan_is_legal_and_keeps_its_promise_by_both_judges(world_seed: int, kind: str, seed: int) -> None:
    world = random_world(world_seed)
    snapshot = world.snapshot()
    plan = planned(snapshot, kind, seed)
    if plan is None:
        return
    assert verify(plan, snapshot).violations == ()
    assert Judge(world.document()).faults(answer(plan)) == []
    assert plan.aim is not None
    assert plan.aim.reached <= plan.bound.net_upper <= plan.aim.wanted or plan.aim.refused
    assert from_json(plan.to_json()) == plan


@given(world_seed=SEEDS, kind=st.sampled_from(KINDS))
@settings(max_examples=15, deadline=None)
def test_row_order_does_not_matter(world_seed: int, kind: str) -> None:
    world = random_world(world_seed)
    shuffled = world.document()
    for rows in ("nodes", "pods", "pdbs", "gangs", "domains"):
        shuffled[rows] = random.Random(world_seed).sample(shuffled.get(rows, []), len(shuffled.get(rows, [])))
    one, other = (planned(made, kind, 3) for made in (world.snapshot(), codec.read(json.dumps(shuffled).encode())))
    assert (one and one.digest()) == (other and other.digest())
