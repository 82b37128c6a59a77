"""What a run of a spot world showed, from the instant on at which LP work arrives."""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.loop import Outcome, begin_replay
from scheduler.replay.rules import Rules, Ways
from scheduler.replay.spot_world import SpotWorld

MILLI_HOURS = 1000 * 3600.0
INTEGRALS = (c.P_UP_TIME, c.P_HP_TIME, c.P_LP_TIME, c.P_ASLEEP_TIME, c.P_BORROWED_TIME)


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """GPU-hours; shares; seconds.  Jobs that have not ended, or not started, count until the end of the world."""

    run: float  # GPU-hours that LP held
    lost: float  # of those what came to nothing: work since the last checkpoint, leaving, restarts
    allocation_hp: float
    allocation: float  # HP and LP, what sleepers lend counted once
    standby: float | None  # share of the GPU-hours of sleepers that LP ran on
    jobs: int
    ended: int
    evictions: int
    completion_s: float  # mean of LP jobs
    waited_s: float  # mean of LP jobs, all waits of a job together
    hp_delay_s: Longs  # [j] of HP jobs
    hp_names: tuple[str, ...]
    grounds: dict[str, int]
    errors: tuple[float, ...]  # |foreseen less realised| over realised, of each job's last eviction
    recalled_s: tuple[int, ...]  # from an early call to serving
    outcome: Outcome

    @property
    def kept(self) -> float:
        return self.run - self.lost

    @property
    def eviction_rate(self) -> float:
        """Of LP runs that are over: those that were told to leave."""
        return self.evictions / max(1, self.evictions + self.ended)


def shown(world: SpotWorld, rules: Rules, ways: Ways) -> Shown:
    trace, warm_s = world.trace, world.base.warm_s
    one = begin_replay(trace.world, trace.work, rules, ways, seed=world.base.seed, until_s=trace.until_s)
    one.run(pause_s=warm_s)
    before = one.state.pool[:, INTEGRALS].sum(axis=0)
    outcome = one.run()
    up, hp, lp, asleep, borrowed = (outcome.state.pool[:, INTEGRALS].sum(axis=0) - before).astype(np.float64)
    return _shown(outcome, warm_s, up, hp, lp, asleep, borrowed)


def _shown(outcome: Outcome, warm_s: int, up: float, hp: float, lp: float, asleep: float, borrowed: float) -> Shown:
    job, until = outcome.state.job, outcome.until_s
    mine = (job[:, c.J_TIER] == c.LP) & (job[:, c.J_STATUS] != c.NEVER)
    rows = job[mine]
    done = rows[:, c.J_STATUS] == c.DONE
    waits = np.isin(rows[:, c.J_STATUS], (c.WAITING, c.CLAIMING))
    waited = rows[:, c.J_WAITED] + np.where(waits, until - rows[:, c.J_QUEUED], 0)
    others = (job[:, c.J_TIER] == c.HP) & (job[:, c.J_ARRIVAL] >= warm_s) & (job[:, c.J_STATUS] != c.NEVER)
    delay = np.where(job[:, c.J_FIRST] == c.NONE, until, job[:, c.J_FIRST]) - job[:, c.J_ARRIVAL]
    told = rows[rows[:, c.J_REALISED] > 0]
    errors = np.abs(told[:, c.J_PREDICTED] - told[:, c.J_REALISED]) / np.maximum(1, told[:, c.J_REALISED])
    clock = outcome.state.clock
    return Shown(
        run=lp / MILLI_HOURS,
        lost=float(rows[:, c.J_LOST].sum()) / MILLI_HOURS,
        allocation_hp=hp / up,
        allocation=(hp + lp - borrowed) / up,
        standby=borrowed / asleep if asleep else None,
        jobs=len(rows),
        ended=int(done.sum()),
        evictions=int(rows[:, c.J_EVICTIONS].sum()),
        completion_s=float((np.where(done, rows[:, c.J_END], until) - rows[:, c.J_ARRIVAL]).mean()) if len(rows) else 0,
        waited_s=float(waited.mean()) if len(rows) else 0,
        hp_delay_s=delay[others],
        hp_names=tuple(name for name, keep in zip(outcome.work.names, others, strict=True) if keep),
        grounds={ground: int(clock[c.C_TOLD + at]) for at, ground in enumerate(c.GROUNDS)},
        errors=tuple(errors.tolist()),
        recalled_s=tuple(job[job[:, c.J_RECALLED] != c.NONE, c.J_RECALLED].tolist()),
        outcome=outcome,
    )


def recalled(outcome: Outcome, at_s: int) -> tuple[int, ...]:
    """Seconds to serving of each sleeper that was called at an instant; who does not serve yet counts until the end."""
    job = outcome.state.job
    called = job[job[:, c.J_WAKE] == at_s]
    serves = called[:, c.J_ASLEEP] != 2
    until = outcome.until_s - at_s
    return tuple(np.where(serves, called[:, c.J_SERVED] - at_s, until).tolist())
