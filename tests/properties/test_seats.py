"""One concept of room: its counts are those of the law, and who would start alone is who is placed."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.admission.diagnosis import ground_of, judge
from scheduler.admission.jobs import Job, pending_jobs
from scheduler.admission.quota import book_of
from scheduler.admission.reasons import BUDGET_RAN_OUT
from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import Snapshot
from scheduler.placement import ground
from scheduler.placement.planner import place, request_of
from scheduler.placement.room import Room
from scheduler.placement.seating import find, take
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World

SEEDS = st.integers(min_value=0, max_value=2**31)


def _waiting(seed: int) -> World:
    """A random world with devices of every kind, in which gangs of several shapes wait."""
    dice, made = random.Random(seed), random_world(seed, scarce=seed % 3 == 0)
    gpus = {row["name"]: row["gpus"] for row in made.rows["nodes"]}
    for row in made.rows["pods"]:
        if row.get("node") in gpus and row["gpus"] == 1 and dice.random() < 0.2:
            row["devices"] = [dice.randrange(gpus[row["node"]])]
    for row in made.rows["nodes"]:
        if dice.random() < 0.2:
            memory = [{"index": i, "memory_mib": dice.choice([20_000, 80_000])} for i in range(row["gpus"])]
            row["devices"] = dice.choice([memory, [{"index": 0, "mig": [{"profile": "1g", "count": 3}]}]])
    for g in range(dice.randint(1, 3)):
        wish = {"topology": {"required": dice.choice(["asw", "host", "agg"])}} if dice.random() < 0.5 else {}
        made.gang(f"q{g}", 1, **wish)
        shapes = [_shape(dice) for _ in range(dice.randint(1, 3))]
        for i in range(dice.randint(1, 6)):
            made.pod(f"q{g}-{i}", gang=f"q{g}", **dice.choice(shapes))
        if dice.random() < 0.3:
            made.pod(f"q{g}-r", "n0", 0, gang=f"q{g}", terminating=dice.random() < 0.5)
    return made


def _shape(dice: random.Random) -> dict[str, Any]:
    odd = ({"gpus": 1, "gpu_milli": dice.choice([400, 500, 700])}, {"gpus": 2, "gpu_milli": 400},
           {"gpus": 0, "mig": {"1g": 1}}, {"host_ports": [80]}, {"labels": {"app": "db"}, "anti_affinity": ["app=db"]},
           {"gpu_model": dice.choice(["H20", "H100"])}, {"gpu_memory_mib": 40_000})  # fmt: skip
    plain = {"gpus": dice.choice([0, 1, 2, 4, 8]), "cpu_milli": dice.choice([1, 8, 16, 40]) * 1000}
    return plain | (dice.choice(odd) if dice.random() < 0.6 else {})


def _room(snapshot: Snapshot) -> tuple[Room, Eligibility, tuple[Job, ...]]:
    rules = eligibility(snapshot)
    jobs = pending_jobs(snapshot, rules.pod_class)
    return ground_of(snapshot, rules, jobs, book_of(snapshot), snapshot.now_s, 1000).now, rules, jobs


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_counts_are_those_of_the_law_also_beside_who_was_given_a_seat(seed: int) -> None:
    snapshot = _waiting(seed).snapshot()
    empty, rules, jobs = _room(snapshot)
    room, seated = empty.copy(), set()
    for job in jobs[::2]:
        found = find(room, job)
        if found.seats is not None:
            take(room, found.seats)
            seated.add(job.key)
    for job in jobs:
        for part in job.parts if job.key not in seated else ():
            may, slots = rules.eligible(part.pods[0]) & snapshot.node_usable, room.slots(part)
            for n in range(len(snapshot.node_name)):
                most = next(
                    (k for k in range(len(part.pods)) if not _holds(room, n, part.pods[: k + 1])), len(part.pods)
                )
                assert min(int(slots[n]), len(part.pods)) == (most if may[n] else 0), (job.key, snapshot.node_name[n])


def _holds(room: Room, node: int, pods: tuple[int, ...]) -> bool:
    return next(faults(room.snapshot, node, room.standing(node), pods), None) is None


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_who_would_start_alone_is_who_is_placed(seed: int) -> None:
    """Apart from those of whom the pass does not know within its budget, which it says."""
    snapshot = _waiting(seed).snapshot()
    rules = eligibility(snapshot)
    jobs = pending_jobs(snapshot, rules.pod_class)
    here, there = ground_of(snapshot, rules, jobs, book_of(snapshot), snapshot.now_s, 1000), ground.ground_of(snapshot)
    for job in jobs:
        verdict, found = judge(here, job, None), place(snapshot, request_of(snapshot, job.key), ground=there)
        if BUDGET_RAN_OUT not in {reason.word for reason in verdict.reasons}:
            assert found.ok == verdict.fits, (job.key, verdict.reasons, found.refusal)
            assert found.ok or (found.refusal is not None and found.refusal.proven)
