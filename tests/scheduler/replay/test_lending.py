"""Lending: who leaves how fast, what LP leaves alone, calls ahead of a known end, and the bound on what can be lent."""

from dataclasses import replace

import numpy as np
import pytest

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import NodeRecord
from scheduler.replay import columns as c
from scheduler.replay.clairvoyant import most_lent
from scheduler.replay.columns import State
from scheduler.replay.loop import Replay, begin_replay, replay, resume
from scheduler.replay.rules import PAPER_ORDER, Rules, Ways
from scheduler.replay.spot_figures import recalled, shown
from scheduler.replay.spot_rules import BASELINE, GFS, OURS, PAPER
from scheduler.replay.spot_world import Base, SpotWorld, lendable_of
from scheduler.replay.trace import Trace
from scheduler.replay.turning import advance
from scheduler.replay.world import Work, World, work_of, world_of
from tests.scheduler.replay.small_worlds import mixed_work, small_world, uses

HOUR_S = 3600
PLAIN = Rules(name="plain", placement=PAPER_ORDER, preempt="paper")


def _world(nodes: int, gpus: int = 8) -> World:
    return world_of(
        [
            NodeRecord(name=f"n{at:03d}", gpu_model="A", gpus=gpus, cpu_milli=96_000, memory_mib=400_000)
            for at in range(nodes)
        ]
    )


def _work(*rows: dict[int, int]) -> Work:
    asked = np.zeros((len(rows), c.J_LANE), np.int64)
    asked[:, [c.J_POOLS, c.J_WORKERS, c.J_GPUS, c.J_MILLI, c.J_DURATION]] = 1, 1, 1, 1000, HOUR_S
    for at, row in enumerate(rows):
        for column, value in row.items():
            asked[at, column] = value
    asked[:, c.J_ESTIMATE] = np.maximum(asked[:, c.J_ESTIMATE], asked[:, c.J_DURATION])
    return work_of([f"j{at:04d}" for at in range(len(rows))], ["t0"], asked)


def _exits(ways: Ways) -> np.ndarray:
    """Seconds to leave of 800 LP jobs that HP work takes the place of, one after the other."""
    lp = [{c.J_TIER: c.LP, c.J_DURATION: 9 * HOUR_S} for _ in range(800)]
    hp = [{c.J_ARRIVAL: 600, c.J_GPUS: 8, c.J_DURATION: 5 * HOUR_S} for _ in range(100)]
    job = replay(_world(100), _work(*lp, *hp), PLAIN, ways, seed=3, until_s=2000).state.job
    left = job[job[:, c.J_EVICTIONS] == 1]
    assert len(left) == 800
    return np.asarray(left[:, c.J_EXIT] - left[:, c.J_TOLD])


def test_exits_follow_the_study_or_a_law_that_is_worse() -> None:
    paper, heavy, hangs = (_exits(Ways(exits=law)) for law in ("paper", "heavy", "hangs"))
    assert 12 < paper.mean() < 14 and 40 < np.quantile(paper, 0.95) < 56
    assert (paper == 60).mean() < 0.05 < 0.09 < (heavy == 60).mean() < 0.17 < (hangs == 60).mean() + 0.05
    assert 0.12 < (hangs == 60).mean() < 0.24
    assert max(paper.max(), heavy.max(), hangs.max()) == 60


def _sleeper(**more: int) -> Work:
    """One HP job on all 8 GPUs that sleeps from hour 1 to hour 5, and an LP job that runs for ten hours."""
    hp = {c.J_GPUS: 8, c.J_DURATION: 40 * HOUR_S, c.J_SLEEP_AT: HOUR_S, c.J_SLEEP_S: 4 * HOUR_S}
    lp = {c.J_TIER: c.LP, c.J_ARRIVAL: HOUR_S + 60, c.J_GPUS: 4, c.J_DURATION: 10 * HOUR_S, c.J_CHECKPOINT: 600}
    return _work(hp | {getattr(c, name): value for name, value in more.items()}, lp)


def test_borrowers_are_out_before_a_known_end_and_the_sleeper_only_has_to_resume() -> None:
    ways, until = Ways(resume_s=5.0), 5 * HOUR_S + 200
    late = replay(_world(1), _sleeper(), PLAIN, ways, seed=4, until_s=until)
    ahead = replay(_world(1), _sleeper(), replace(PLAIN, ahead_s=75), ways, seed=4, until_s=until)
    assert recalled(late, 5 * HOUR_S)[0] > recalled(ahead, 5 * HOUR_S)[0]
    assert 1 <= recalled(ahead, 5 * HOUR_S)[0] <= 15
    assert ahead.state.clock[c.C_TOLD + c.BY_AHEAD] == 1 and late.state.clock[c.C_TOLD + c.BY_RECALL] == 1
    told = ahead.state.job[ahead.state.job[:, c.J_TIER] == c.LP, c.J_TOLD]
    assert told == 5 * HOUR_S - 75
    # Asleep for four hours under either rule: what is told ahead is no shorter night
    assert ahead.state.pool[0, c.P_ASLEEP_TIME] == late.state.pool[0, c.P_ASLEEP_TIME] == 4 * HOUR_S * 8000


def test_an_owner_who_calls_early_is_served_and_sleeps_no_more_in_that_window() -> None:
    done = replay(
        _world(1), _sleeper(J_RECALL_AT=3 * HOUR_S), replace(PLAIN, ahead_s=75), Ways(resume_s=5.0), until_s=6 * HOUR_S
    )
    job = done.state.job[0]
    assert job[c.J_WAKE] == 3 * HOUR_S and 1 < job[c.J_RECALLED] <= 75
    assert job[c.J_SERVED] == job[c.J_WAKE] + job[c.J_RECALLED]
    assert done.state.pool[0, c.P_ASLEEP_TIME] == 2 * HOUR_S * 8000


def test_lp_goes_where_it_saves_something_before_the_sleeper_is_back() -> None:
    heeding = replace(PLAIN, heed_windows=True, ahead_s=75)
    late = {c.J_ARRIVAL: 5 * HOUR_S - 900, c.J_TIER: c.LP, c.J_DURATION: 2 * HOUR_S}
    sleeper = {c.J_GPUS: 8, c.J_DURATION: 40 * HOUR_S, c.J_SLEEP_AT: HOUR_S, c.J_SLEEP_S: 4 * HOUR_S}
    for more, starts in (
        ({}, False),
        ({c.J_NOTICE: 1}, True),
        ({c.J_DURATION: 300}, True),
        ({c.J_CHECKPOINT: 60}, True),
    ):
        for rules, expected in ((heeding, starts), (PLAIN, True)):
            work = _work(sleeper, late | more)
            job = replay(_world(1), work, rules, until_s=5 * HOUR_S - 60).state.job
            assert (job[1, c.J_FIRST] != c.NONE) == expected, (more, rules.name)


def _kept(state: State) -> None:
    state.pool[:, c.P_KEEP], state.pool[:, c.P_KEEP_NODES], state.pool[:, c.P_CAP] = 6000, 1, 30_000


def test_lp_leaves_alone_what_is_withheld_at_every_event() -> None:
    one = begin_replay(small_world(), mixed_work(11), replace(PLAIN, reserve_ahead_s=300), seed=2, until_s=70_000)
    starts = 0
    while one.state.clock[c.C_NOW] < 70_000:
        _kept(one.state)
        before = one.state.job[:, c.J_STATUS].copy()
        advance(one.state, 70_000, 1)
        job, pool = one.state.job, one.state.pool
        began = (before != c.RUNNING) & (job[:, c.J_STATUS] == c.RUNNING) & (job[:, c.J_TIER] == c.LP)
        for row in np.flatnonzero(began & (job[:, c.J_GPUS] > 0)):
            p, starts = int(job[row, c.J_POOL]), starts + 1
            own = pool[p, c.P_LP_HELD] - pool[p, c.P_BORROWED]
            places = one.state.task[job[row, c.J_TASK] : job[row, c.J_TASK] + job[row, c.J_WORKERS]]
            if not places[:, c.T_BORROWS].all():
                assert own <= 30_000 and pool[p, c.P_FREE] >= 6000
    assert starts > 5


def _every_event(one: Replay) -> None:
    while one.state.clock[c.C_NOW] < one.until_s:
        advance(one.state, one.until_s, 1)
        one.state.pool[:, c.P_KEEP], one.state.pool[:, c.P_LEAST], one.state.pool[:, c.P_CLEAR] = 9000, 8000, 1
        for (what, node, _device), amount in uses(one.world, one.state).items():
            limit = {"cpu": one.world.cpu_milli, "memory": one.world.memory_mib}
            assert amount <= (limit[what][node] if what in limit else 1000), (what, node)


@pytest.mark.parametrize("rules", [OURS, GFS], ids=lambda rules: str(rules.name))
def test_nothing_is_sold_twice_while_lp_makes_room_and_is_called_ahead(rules: Rules) -> None:
    one = begin_replay(small_world(), mixed_work(5), rules, Ways(resume_s=5.0), seed=5, until_s=60_000)
    _every_event(one)
    told = one.state.clock[c.C_TOLD : c.C_LOST]
    assert told[c.BY_RESERVE] > 0 and (not rules.ahead_s or told[c.BY_AHEAD] > 0)
    assert one.state.clock[c.C_LOST : c.C_HOOKS].sum() <= one.state.job[:, c.J_LOST].sum()


def test_whose_hook_writes_a_checkpoint_leaves_first_and_loses_only_the_time_to_leave() -> None:
    lp = {c.J_TIER: c.LP, c.J_DURATION: 9 * HOUR_S, c.J_GPUS: 4, c.J_CHECKPOINT: 2 * HOUR_S}
    work = _work(lp | {c.J_CHECKPOINT: 6000}, lp | {c.J_NOTICE: 1}, {c.J_ARRIVAL: 6900, c.J_GPUS: 4})
    for rules, leaves in ((OURS, 1), (PAPER, 0)):
        job = replay(_world(1), work, replace(rules, spot_quota="none"), until_s=7100).state.job
        assert job[:, c.J_EVICTIONS].tolist() == [int(at == leaves) for at in range(3)]
        took = int(job[leaves, c.J_EXIT] - job[leaves, c.J_TOLD])
        kept = 6000 if leaves == 0 else 6900
        assert took < 60 and job[leaves, c.J_SAVED] == kept
        assert job[leaves, c.J_REALISED] == (6900 - kept + took + 40) * 4000


def test_a_run_with_a_quota_that_is_taken_up_again_ends_the_same() -> None:
    for rules in (OURS, GFS):
        begun = [begin_replay(small_world(), mixed_work(7), rules, seed=1, until_s=60_000) for _ in range(2)]
        assert begun[0].run(pause_s=30_000).cut
        packed = begun[0].pack()
        ended = begun[0].run()
        assert ended.digest() == resume(begun[1], packed).run().digest()
        assert begun[0].memory.held[:100].any()


def _spot(work: Work, world: World, until_s: int) -> SpotWorld:
    hp = work.column(c.J_TIER) == c.HP
    alone = work_of([name for name, keep in zip(work.names, hp, strict=True) if keep], work.tenants, work.asked[hp])
    trace = Trace("small", world, alone, until_s)
    base = Base("small", 0, trace, 0, work.asked[~hp], np.ones(24), (600,), lendable_of(trace, 0))
    return SpotWorld(base, 1.0, replace(trace, work=work))


def test_a_tenant_that_is_not_listed_is_refused() -> None:
    work = mixed_work(9)
    with pytest.raises(InputError, match="names a tenant by number, and there are 1"):
        work_of(work.names, ["t0"], work.asked)


def test_the_bound_is_what_one_can_work_out_by_hand() -> None:
    hp = {c.J_GPUS: 4, c.J_DURATION: 2 * HOUR_S}
    wide = {c.J_TIER: c.LP, c.J_GPUS: 8, c.J_DURATION: HOUR_S}
    long = {c.J_TIER: c.LP, c.J_GPUS: 1, c.J_DURATION: 9 * HOUR_S, c.J_ARRIVAL: HOUR_S}
    # Four hours: 4 + 4 + 8 + 8 GPU-hours are left; the long one runs from hour 1 on, three hours of its nine
    assert most_lent(_spot(_work(hp, wide), _world(1), 4 * HOUR_S)) == pytest.approx(8, abs=0.1)
    assert most_lent(_spot(_work(hp, long), _world(1), 4 * HOUR_S)) == pytest.approx(3, abs=0.1)
    assert most_lent(_spot(_work(hp, *[wide] * 9), _world(1), 4 * HOUR_S)) == pytest.approx(24, abs=0.1)


def test_no_policy_that_leaves_hp_alone_beats_the_bound() -> None:
    work = mixed_work(9)
    keep = [name for at, name in enumerate(work.names) if work.asked[at, c.J_POOLS] in (1, 2)]
    rows = work.asked[np.isin(work.asked[:, c.J_POOLS], (1, 2))]
    world = _spot(work_of(keep, work.tenants, rows), small_world(), 20 * HOUR_S)
    bound = most_lent(world)
    for rules in (replace(OURS, spot_quota="none", preempt="never"), replace(BASELINE, preempt="never")):
        found = shown(world, replace(rules, reclaim=False), Ways())
        assert 0 < found.kept <= bound * 1.02
