"""The replay loop keeps its promises at every event: capacity, gangs, quotas; and repeats itself exactly."""

from dataclasses import replace

import numpy as np
import pytest

from scheduler.cluster.records import QuotaRecord, TenantRecord
from scheduler.consolidation.params import Params
from scheduler.replay import columns as c
from scheduler.replay.accounts import quota_rows
from scheduler.replay.columns import State
from scheduler.replay.loop import Outcome, Replay, begin_replay, replay, resume
from scheduler.replay.rules import NAMED, Ways
from scheduler.replay.turning import FULL, advance
from scheduler.replay.world import Work, World, work_of
from tests.scheduler.replay.small_worlds import mixed_work, small_world, uses

HARD = Ways(fail_mean_s=150_000, repair_mean_s=6_000)
UNTIL_S = 70_000
MOVING = replace(NAMED["ours"], consolidate_every_s=4 * 3600, consolidation=Params(exact_up_to=0), move_s=900)
QUOTAS = [
    TenantRecord(
        name="t0", cohort="c", quotas=[QuotaRecord(gpu_model="A", nominal=16, borrowing_limit=8, lending_limit=4)]
    ),
    TenantRecord(name="t1", cohort="c", quotas=[QuotaRecord(gpu_model="A", nominal=12, borrowing_limit=0)]),
]


def _check(world: World, state: State, held: np.ndarray) -> None:
    limit = {"cpu": world.cpu_milli, "memory": world.memory_mib}
    for (what, node, _device), amount in uses(world, state).items():
        assert amount <= (limit[what][node] if what in limit else 1000), (what, node)
        assert state.node[node, c.N_UP], node
    placed = np.bincount(state.task[state.task[:, c.T_NODE] != c.NONE, c.T_JOB], minlength=len(state.job))
    placed_status = np.isin(state.job[:, c.J_STATUS], (c.RUNNING, c.LEAVING, c.CLAIMING))
    assert (placed == np.where(placed_status, state.job[:, c.J_WORKERS], 0)).all()  # gangs all or none
    assert (state.job[:, c.J_EPOCH] >= held).all()


def _every_event(one: Replay) -> int:
    """Run to the end, one instant at a time; how many there were."""
    count, held = 0, one.state.job[:, c.J_EPOCH].copy()
    while one.state.clock[c.C_NOW] < one.until_s:
        while advance(one.state, one.until_s, 1) == FULL:
            raise AssertionError("a small world fills no heap")
        _check(one.world, one.state, held)
        held, count = one.state.job[:, c.J_EPOCH].copy(), count + 1
    return count


@pytest.mark.parametrize("policy", ["fifo", "fair", "paper", "ours"])
def test_nothing_is_sold_twice_at_any_event(policy: str) -> None:
    for seed in (0,):
        one = begin_replay(small_world(), mixed_work(seed), NAMED[policy], HARD, seed=seed, until_s=UNTIL_S)
        assert _every_event(one) > 300
        job, pool = one.state.job, one.state.pool
        assert (job[:, c.J_STATUS] == c.DONE).sum() > 80
        assert (job[:, c.J_CAUSE : c.J_MARK].sum(axis=1) == job[:, c.J_WAITED])[job[:, c.J_STATUS] == c.DONE].all()
        assert (pool[:, c.P_HP_TIME] + pool[:, c.P_LP_TIME] > 0).all()


def test_moves_make_before_they_break() -> None:
    moves = 0
    for seed in (2,):
        one = begin_replay(small_world(), mixed_work(seed), MOVING, HARD, seed=seed, until_s=UNTIL_S)
        held = one.state.job[:, c.J_EPOCH].copy()
        while (reached := one.run(pause_s=int(one.state.clock[c.C_NOW]) + 1)).cut:
            _check(one.world, reached.state, held)
            for _ in range(8):  # instants after each sample, in which moves are under way
                advance(one.state, int(one.state.clock[c.C_NOW]) + 3599, 1)
                _check(one.world, one.state, held)
        moves += int(one.state.clock[c.C_MOVES])
    assert moves > 0


def test_no_tenant_is_ever_beyond_its_quota() -> None:
    world, work = small_world(), mixed_work(3)
    quota = quota_rows(QUOTAS, work.tenants, world.pools)
    one = begin_replay(world, work, NAMED["ours"], HARD, seed=1, until_s=UNTIL_S, quota=quota)
    most = 0
    while one.state.clock[c.C_NOW] < UNTIL_S:
        advance(one.state, UNTIL_S, 1)
        held = dict.fromkeys(work.tenants, 0)
        for place in one.state.task[one.state.task[:, c.T_NODE] != c.NONE]:
            job = one.state.job[place[c.T_JOB]]
            if world.pool[place[c.T_NODE]] == 0 and job[c.J_TIER] == c.HP:
                held[work.tenants[job[c.J_TENANT]]] += int(job[c.J_GPUS] * job[c.J_MILLI])
        borrowed = max(0, held["t0"] - 16_000) + max(0, held["t1"] - 12_000)
        assert held["t0"] <= 24_000 and held["t1"] <= 12_000
        assert borrowed <= max(0, 12_000 - held["t1"])
        most = max(most, held["t0"])
    assert most > 16_000  # some of it was borrowed
    assert one.state.job[:, c.J_CAUSE + c.BY_QUOTA].sum() > 0


def _run(work: Work, **more: object) -> Outcome:
    return replay(small_world(), work, MOVING, HARD, seed=5, until_s=UNTIL_S, **more)  # type: ignore[arg-type]


def test_equal_input_gives_an_equal_digest_and_rows_may_stand_in_any_order() -> None:
    work = mixed_work(5)
    digest = _run(work).digest()
    order = np.random.default_rng(0).permutation(len(work))
    shuffled = work_of([work.names[row] for row in order], work.tenants, work.asked[order])
    assert digest == _run(shuffled).digest()
    assert replay(small_world(), work, MOVING, HARD, seed=6, until_s=UNTIL_S).digest() != digest


def test_a_replay_that_is_taken_up_again_ends_the_same() -> None:
    work = mixed_work(7)
    one = begin_replay(small_world(), work, MOVING, HARD, seed=5, until_s=UNTIL_S)
    assert one.run(pause_s=30_000).cut
    packed = one.pack()
    ended = one.run()
    again = resume(begin_replay(small_world(), work, MOVING, HARD, seed=5, until_s=UNTIL_S), packed).run()
    assert ended.digest() == again.digest()
