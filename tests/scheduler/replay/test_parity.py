"""What the loop decides at one instant is what the production planners say of a snapshot of that instant.

A job arrives in a small world that runs; the snapshot is taken just before.  What differs and why: docs/replay.md.
"""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.admission.planner import explain
from scheduler.cluster.build import build
from scheduler.cluster.records import QuotaRecord, TenantRecord
from scheduler.cluster.snapshot import Snapshot
from scheduler.placement.options import Option
from scheduler.placement.planner import place, request_of
from scheduler.placement.policy import Policy
from scheduler.placement.victims import Claim, VictimRules, find_victims
from scheduler.replay import columns as c
from scheduler.replay.accounts import quota_rows
from scheduler.replay.loop import Replay, begin_replay
from scheduler.replay.rules import NAMED, Rules, Ways
from scheduler.replay.snapshots import NAMESPACE, gang_name, node_name, observed, pod_name
from scheduler.replay.state import pack, unpack
from scheduler.replay.turning import advance
from scheduler.replay.world import Work, work_of
from tests.scheduler.replay.small_worlds import mixed_work, small_world

PLAIN = replace(
    NAMED["greedy"],
    preempt="never",
    reclaim=False,
    guarantee_s=0,
    placement=Policy(fragmentation=0, eviction_history=0, network_load=0, power=0),
)
WORDS = {
    c.BY_QUOTA: "quota",
    c.BY_CAPACITY: "capacity",
    c.BY_FRAGMENTATION: "fragmentation",
    c.BY_TOPOLOGY: "topology",
}
TENANTS = [
    TenantRecord(name="t0", cohort="c", quotas=[QuotaRecord(gpu_model="A", nominal=20, lending_limit=8)]),
    TenantRecord(name="t1", cohort="c", quotas=[QuotaRecord(gpu_model="A", nominal=10, borrowing_limit=6)]),
]
WAYS = Ways(restart_s=0, restart_large_s=0)


@dataclass
class Instant:
    one: Replay
    job: int
    before: Snapshot

    @property
    def nodes(self) -> list[int]:
        row = self.one.state.job[self.job]
        tasks = self.one.state.task[row[c.J_TASK] : row[c.J_TASK] + row[c.J_WORKERS]]
        return sorted(tasks[:, c.T_NODE].tolist())

    @property
    def key(self) -> str:
        several = self.one.state.job[self.job, c.J_WORKERS] > 1
        return f"{NAMESPACE}/{gang_name(self.job) if several else pod_name(self.job, 0)}"

    @property
    def status(self) -> int:
        return int(self.one.state.job[self.job, c.J_STATUS])


def _work(seed: int, *, single: bool = False) -> Work:
    """Nobody sleeps, every job has a lane of its own, and all want GPUs."""
    work = mixed_work(seed, jobs=60, span_s=9_000)
    asked = work.asked.copy()
    asked[:, c.J_SLEEP_S] = 0
    asked[:, c.J_MEMORY] = 1000 + np.arange(len(asked))
    asked[:, c.J_POOLS] = np.where(asked[:, c.J_POOLS] == 3, 1, asked[:, c.J_POOLS])
    asked[:, c.J_GPUS] = np.where(asked[:, c.J_GPUS] == 0, 2, asked[:, c.J_GPUS])
    asked[:, c.J_MILLI] = np.where(asked[:, c.J_MILLI] == 0, 1000, asked[:, c.J_MILLI])
    if single:
        asked[asked[:, c.J_TIER] == c.HP, c.J_WORKERS] = 1
    return work_of(work.names, work.tenants, asked)


def _instants(work: Work, rules: Rules, tenants: list[TenantRecord], last: int) -> list[Instant]:
    """Arrivals at which nothing else happens, each with the snapshot of the instant before it."""
    world = small_world()
    one = begin_replay(world, work, rules, WAYS, until_s=40_000, quota=quota_rows(tenants, work.tenants, world.pools))
    found = []
    for _ in range(last):
        state = one.state
        job = int(state.clock[c.C_NEXT_JOB])
        if job >= len(work):
            break
        at = int(state.job[job, c.J_ARRIVAL])
        alone = state.job[job + 1 : job + 2, c.J_ARRIVAL].tolist() != [at] and state.job[job, c.J_STATUS] == c.AHEAD
        while state.clock[c.C_HEAP] and state.heap[0, 0] < at:
            advance(state, at - 1, 1)
        alone = alone and not (state.clock[c.C_HEAP] and state.heap[0, 0] == at)
        alone = alone and not (state.job[:, c.J_STATUS] == c.CLAIMING).any()  # what is held for them no snapshot shows
        advance(state, at - 1, 1 << 40)
        state.clock[c.C_NOW] = at
        document = observed(world, work, state, "default", waiting=[job], tenants=tenants)
        advance(state, at, 1 << 40)
        if alone:
            now = replace(one, state=unpack(pack(state)))
            found.append(Instant(now, job, build(document)))
    return found


@settings(max_examples=2, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_who_starts_where_and_why_not_as_production_says(seed: int) -> None:
    for instant in _instants(_work(seed), PLAIN, TENANTS, 60):
        row, snapshot = instant.one.state.job[instant.job], instant.before
        told = explain(snapshot).row(instant.key)
        assert told is not None
        reason = told.reason.word
        if instant.status != c.RUNNING:
            cause = int(instant.one.state.lane[row[c.J_LANE], c.L_CAUSE])
            assert reason == WORDS[cause], (instant.key, told.reason)
            continue
        assert reason == "fits_now", told.reason
        where = place(snapshot, request_of(snapshot, instant.key), PLAIN.placement)
        assert where.best is not None
        wanted = sorted(node for _, node in where.assignment)
        if row[c.J_WORKERS] == 1 and row[c.J_TOPOLOGY] != c.PREFERRED:
            equals = [one for one in (where.best, *where.alternatives) if _as_good(one, where.best)]
            assert [(told.key, node_name(instant.nodes[0]))] in [list(one.assignment) for one in equals]
        else:
            assert row[c.J_ENTROPY] == int(1000 * where.best.entropy + 0.5)
            assert (len(set(instant.nodes)) == 1) == (len(set(wanted)) == 1)


@settings(max_examples=2, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_who_leaves_for_one_pod_loses_as_little_as_production_finds(seed: int) -> None:
    rules = replace(PLAIN, preempt="least")
    for instant in _instants(_work(seed, single=True), rules, [], 60):
        job, snapshot = instant.one.state.job, instant.before
        if job[instant.job, c.J_TIER] != c.HP:
            continue
        rows = [p for p in range(len(snapshot.pod_name)) if snapshot.pod_key(p) == instant.key]
        said = find_victims(snapshot, Claim(tuple(rows)), rules=VictimRules())
        assert said.ok == (instant.status in (c.RUNNING, c.CLAIMING)), (instant.key, said)
        gone = np.flatnonzero((job[:, c.J_CLAIMANT] == instant.job) & (job[:, c.J_STATUS] == c.LEAVING))
        ages = {int(victim.pod): victim for victim in said.victims}
        assert bool(len(gone)) == bool(ages)
        lost = sum(_loss(instant, int(row)) for row in gone)
        assert lost == said.loss_milli


def _as_good(one: Option, best: Option) -> bool:
    """Production says terms, and so scores, to six places."""
    return one.opens_whole == best.opens_whole and abs(one.score - best.score) < 1e-6


def _loss(instant: Instant, row: int) -> int:
    pods = [
        p for p in range(len(instant.before.pod_name)) if instant.before.pod_name[p].startswith(f"{gang_name(row)}-")
    ]
    before, now = instant.before, instant.before.now_s
    return sum(
        int(before.pod_gpus[p]) * int(before.pod_gpu_milli[p]) * (now - int(before.pod_checkpoint_s[p])) for p in pods
    )
