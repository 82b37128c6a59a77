"""A tenant takes its own share back from LP work of tenants that use more than theirs, and nobody else's."""

from dataclasses import replace

import numpy as np
import pytest

from scheduler.admission.quota import opened
from scheduler.admission.tree import tree_of
from scheduler.cluster.records import NodeRecord, QuotaRecord, TenantRecord
from scheduler.replay import columns as c
from scheduler.replay.accounts import quota_rows
from scheduler.replay.loop import Outcome, begin_replay, replay
from scheduler.replay.report import report
from scheduler.replay.rules import NAMED
from scheduler.replay.turning import advance
from scheduler.replay.world import Work, World, work_of, world_of
from tests.scheduler.replay.small_worlds import mixed_work, small_world

HOUR_S = 3600
RECLAIMING = replace(NAMED["greedy"], preempt="never")
TREE = [
    TenantRecord(name="dept", cohort="c", quotas=[QuotaRecord(gpu_model="A", nominal=4, lending_limit=2)]),
    TenantRecord(name="t0", parent="dept", quotas=[QuotaRecord(gpu_model="A", nominal=12, borrowing_limit=10)]),
    TenantRecord(name="t1", parent="dept", cap_gpus=40, quotas=[QuotaRecord(gpu_model="A", nominal=14)]),
    TenantRecord(name="t2", cohort="c", quotas=[QuotaRecord(gpu_model="A", nominal=20, lending_limit=6)]),
]


def _two(nominal: int) -> list[TenantRecord]:
    quota = [QuotaRecord(gpu_model="A", nominal=nominal)]
    return [TenantRecord(name=name, cohort="c", quotas=quota) for name in ("lender", "borrower")]


def _work(*rows: tuple[int, int, int, int, int]) -> Work:
    """(arrival, duration, tier, tenant, GPUs) of single pods; LP writes a checkpoint every ten minutes."""
    asked = np.zeros((len(rows), c.J_LANE), np.int64)
    for at, row in enumerate(rows):
        asked[at, [c.J_ARRIVAL, c.J_DURATION, c.J_TIER, c.J_TENANT, c.J_GPUS]] = row
    asked[:, [c.J_POOLS, c.J_WORKERS]] = 1
    asked[:, c.J_MILLI], asked[:, c.J_CHECKPOINT], asked[:, c.J_ESTIMATE] = 1000, 600, asked[:, c.J_DURATION]
    return work_of([f"j{at}" for at in range(len(rows))], ["lender", "borrower"], asked)


def _one_node(work: Work, **rules: object) -> Outcome:
    world = world_of([NodeRecord(name="n", gpu_model="A", gpus=8, cpu_milli=96_000, memory_mib=1000)])
    quota = quota_rows(_two(4), work.tenants, world.pools)
    policy = replace(RECLAIMING, **rules)  # type: ignore[arg-type]
    return replay(world, work, policy, until_s=10 * HOUR_S, quota=quota)


def test_the_lenders_share_comes_back_and_least_work_is_lost() -> None:
    # The borrower runs LP on 6 of 8 GPUs, two beyond its share; j1 began last, so that it is what runs on the lender's.
    rows = (0, 5 * HOUR_S, 1, 1, 4), (300, 5 * HOUR_S, 1, 1, 2), (1000, HOUR_S, 0, 0, 4)
    outcome = _one_node(_work(*rows))
    job = outcome.state.job
    grounds = {one.ground: one for one in report(outcome).grounds}
    assert job[:, c.J_EVICTIONS].tolist() == [0, 1, 0]
    assert (grounds["reclaim"].jobs, grounds["preempt"].jobs) == (1, 0)
    gone = int(job[2, c.J_FIRST]) - 1000
    assert grounds["reclaim"].lost_gpu_hours * HOUR_S == pytest.approx(2 * (100 + gone))  # since the last checkpoint


@pytest.mark.parametrize(
    ("rules", "first"), [({"reclaim": False}, 18_000), ({"borrowed_s": 2 * HOUR_S}, 7_500), ({"borrowed_s": 600}, 1000)]
)
def test_borrowed_time_is_kept_and_reclaim_may_be_off(rules: dict[str, object], first: int) -> None:
    rows = (0, 5 * HOUR_S, 1, 1, 4), (300, 5 * HOUR_S, 1, 1, 2), (1000, HOUR_S, 0, 0, 4)
    started = int(_one_node(_work(*rows), **rules).state.job[2, c.J_FIRST])
    assert first <= started <= first + 1260  # asked again every 20 minutes; at most 60 s to leave


def test_beyond_its_own_share_nobody_takes_back() -> None:
    rows = (0, 5 * HOUR_S, 1, 1, 6), (1000, HOUR_S, 0, 0, 5)
    outcome = _one_node(_work(*rows))
    assert outcome.state.job[0, c.J_EVICTIONS] == 0
    assert outcome.state.job[1, c.J_FIRST] == 5 * HOUR_S


def _use(world: World, one: object, work: Work, *, lp: bool) -> dict[tuple[str, str], int]:
    """Use by tenant and model, counted from places alone."""
    found: dict[tuple[str, str], int] = {}
    state = one.state  # type: ignore[attr-defined]
    for place in state.task[state.task[:, c.T_NODE] != c.NONE]:
        job = state.job[place[c.T_JOB]]
        if (job[c.J_TIER] == c.LP) == lp and job[c.J_GPUS]:
            key = work.tenants[job[c.J_TENANT]], world.pools[world.pool[place[c.T_NODE]]][1]
            found[key] = found.get(key, 0) + int(job[c.J_GPUS] * job[c.J_MILLI])
    return found


def test_quotas_of_a_tree_hold_at_every_event_and_only_borrowers_are_taken_from() -> None:
    world, work = small_world(), mixed_work(3)
    quota = quota_rows(TREE, work.tenants, world.pools)
    one = begin_replay(world, work, RECLAIMING, seed=1, until_s=60_000, quota=quota)
    tree, told = tree_of(TREE), np.zeros(len(work), np.int64)
    while one.state.clock[c.C_NOW] < 60_000:
        before = opened(tree, _use(world, one, work, lp=False), _use(world, one, work, lp=True))
        advance(one.state, 60_000, 1)
        book = opened(tree, _use(world, one, work, lp=False), _use(world, one, work, lp=True))
        assert [row for row in book.charged if row[1] == "A" and book.charged[row] < 0] == []
        for name in ("t0", "t1", "t2"):
            over = book.hp.get((name, "A"), 0) - tree.subtree[name, "A"]
            assert over <= (10_000 if name == "t0" else 40_000)
        assert sum(book.charged.get((name, "A"), 0) for name in ("cohort/c",)) <= tree.subtree["cohort/c", "A"]
        assert book.total.get("t1", 0) <= 40_000
        job = one.state.job
        fresh = np.flatnonzero((job[:, c.J_EVICTIONS] > told) & (job[:, c.J_GROUND] == c.BY_RECLAIM))
        for row in fresh.tolist():
            victim, claimant = job[row], job[job[row, c.J_CLAIMANT]]
            borrower, owner = work.tenants[victim[c.J_TENANT]], work.tenants[claimant[c.J_TENANT]]
            assert victim[c.J_TIER] == c.LP and claimant[c.J_TIER] == c.HP and borrower != owner
            used = sum(use.get((borrower, "A"), 0) for use in (before.hp, before.lp))
            assert used > tree.subtree[borrower, "A"]
            assert book.entitled(owner, "A", 0) is not None
        told = job[:, c.J_EVICTIONS].copy()
    assert one.state.clock[c.C_TOLD + c.BY_RECLAIM] > 0
    assert one.state.clock[c.C_TOLD + c.BY_PREEMPT] == 0
