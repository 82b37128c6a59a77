"""What a replay showed: allocation, waiting, losses, what fitted and for how long, fairness; plain numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from scheduler.cluster.snapshot import Bools
from scheduler.performance.energy import board_watts
from scheduler.replay import columns as c
from scheduler.replay.blocks import Block, blocks_of
from scheduler.replay.lending import OfGround, Standby, grounds_of, standby_of
from scheduler.replay.loop import Outcome
from scheduler.replay.reaching import OfSize, gangs_of
from scheduler.replay.sampling import S_EMPTY, S_FRAGMENT, S_NODES, S_SLACK, S_UP
from scheduler.replay.spread import Floats, Spread, spread

__all__ = ["Report", "Spread", "as_json", "report", "spread"]
HOUR_S = 3600.0
MILLI_HOURS = 1000 * HOUR_S
SHORT_S = 600  # a job of at most ten minutes is short
LARGE_GPUS = 8  # a job from so many GPUs on is large
POINTS = 168  # of a series that is told; more instants are averaged
LEAST_SLOWED_S = 10.0  # bounded slowdown: runs below count as so long


@dataclass(frozen=True, slots=True)
class OfClass:
    """Jobs of one tier.  Delay: from arrival to first start; completion: from arrival to end; both in seconds."""

    tier: str
    jobs: int
    started: int
    ended: int
    never: int
    sliced: int  # of those: that ask for MIG slices, which a replay does not count
    delay_s: Spread
    completion_s: Spread
    slowdown_short: Spread
    evictions: int
    failures: int
    lost_gpu_hours: float
    waited_hours: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OfPool:
    cluster: str
    gpu_model: str
    gpus: int
    hp: float
    lp: float
    asleep: float
    idle: float
    lost_waiting_gpu_hours: float  # free GPUs while somebody waited who asked for as many or more


@dataclass(frozen=True, slots=True)
class Report:
    policy: str
    seed: int
    digest: str
    cut: bool
    seconds: int
    allocation_hp: float
    allocation: float
    slack_nodes: float  # share of nodes that are up, in the mean
    empty_nodes: float
    fragmentation_gpus: float
    lost_waiting_gpu_hours: float
    entropy: float | None  # mean of gangs whose topology is known, in nats
    gangs_under_one_asw: float | None  # of those
    gangs_unknown: int  # gangs on several nodes of which some have no known switch
    fairness: float | None  # Jain's index over dominant shares
    wake_s: Spread
    moves: int
    moved_gpu_hours: float
    energy_mwh: float | None
    energy_unknown_gpus: int
    classes: tuple[OfClass, ...]
    pools: tuple[OfPool, ...]
    gangs: tuple[OfSize, ...]
    standby: Standby
    grounds: tuple[OfGround, ...]
    blocks: tuple[Block, ...]
    series: Mapping[str, tuple[float, ...]]


def report(outcome: Outcome) -> Report:
    """Integrals are exact, from event to event; slack nodes, F(M) and what fits are means of the samples."""
    state = outcome.state
    pool, job, clock = state.pool, state.job, state.clock
    up = max(1, int(pool[:, c.P_UP_TIME].sum()))
    nodes = np.maximum(1, outcome.series.pools[:, :, S_NODES].sum(axis=1))
    placed = (job[:, c.J_WORKERS] > 1) & (job[:, c.J_FIRST] != c.NONE)
    gangs = placed & (job[:, c.J_UNKNOWN] == 0)
    watts, unknown = energy(outcome)
    return Report(
        policy=outcome.rules.name,
        seed=outcome.seed,
        digest=outcome.digest(),
        cut=outcome.cut,
        seconds=int(clock[c.C_NOW]),
        allocation_hp=float(pool[:, c.P_HP_TIME].sum() / up),
        allocation=float((pool[:, c.P_HP_TIME].sum() + pool[:, c.P_LP_TIME].sum()) / up),
        slack_nodes=float((outcome.series.pools[:, :, S_SLACK].sum(axis=1) / nodes).mean()),
        empty_nodes=float((outcome.series.pools[:, :, S_EMPTY].sum(axis=1) / nodes).mean()),
        fragmentation_gpus=float(outcome.series.pools[:, :, S_FRAGMENT].sum(axis=1).mean() / c.WHOLE),
        lost_waiting_gpu_hours=float(pool[:, c.P_LOST_TIME].sum() / MILLI_HOURS),
        entropy=float(job[gangs, c.J_ENTROPY].mean() / 1000) if gangs.any() else None,
        gangs_under_one_asw=float((job[gangs, c.J_ASWS] == 1).mean()) if gangs.any() else None,
        gangs_unknown=int((placed & ~gangs).sum()),
        fairness=jain(dominant_shares(outcome)),
        wake_s=spread(job[(job[:, c.J_SLEEP_S] > 0) & (job[:, c.J_WAKE] > 0), c.J_SLOWEST]),
        moves=int(clock[c.C_MOVES]),
        moved_gpu_hours=float(clock[c.C_MOVED] / MILLI_HOURS),
        energy_mwh=watts,
        energy_unknown_gpus=unknown,
        classes=tuple(_class(outcome, tier) for tier in (c.HP, c.LP)),
        pools=tuple(_pool(outcome, at) for at in range(len(pool))),
        gangs=gangs_of(outcome),
        standby=standby_of(outcome),
        grounds=grounds_of(outcome),
        blocks=blocks_of(outcome.series, outcome.ways.sample_s),
        series=series_of(outcome),
    )


def _class(outcome: Outcome, tier: int) -> OfClass:
    job = outcome.state.job[outcome.state.job[:, c.J_TIER] == tier]
    started, ended = job[:, c.J_FIRST] != c.NONE, job[:, c.J_STATUS] == c.DONE
    delay = np.where(started, job[:, c.J_FIRST], outcome.until_s) - job[:, c.J_ARRIVAL]
    arrived = (job[:, c.J_STATUS] != c.NEVER) & (job[:, c.J_ARRIVAL] <= outcome.until_s)
    short = ended & (job[:, c.J_DURATION] <= SHORT_S)
    took = job[:, c.J_END] - job[:, c.J_ARRIVAL]
    return OfClass(
        tier=("HP", "LP")[tier],
        jobs=len(job),
        started=int(started.sum()),
        ended=int(ended.sum()),
        never=int((job[:, c.J_STATUS] == c.NEVER).sum()),
        sliced=int(((job[:, c.J_STATUS] == c.NEVER) & (job[:, c.J_SLICED] == 1)).sum()),
        delay_s=spread(delay[arrived]),
        completion_s=spread(took[ended]),
        slowdown_short=spread(np.maximum(1.0, took[short] / np.maximum(LEAST_SLOWED_S, job[short, c.J_DURATION]))),
        evictions=int(job[:, c.J_EVICTIONS].sum()),
        failures=int(job[:, c.J_FAILURES].sum()),
        lost_gpu_hours=float(job[:, c.J_LOST].sum() / MILLI_HOURS),
        waited_hours={cause: float(job[:, c.J_CAUSE + at].sum() / HOUR_S) for at, cause in enumerate(c.CAUSES)},
    )


def _pool(outcome: Outcome, at: int) -> OfPool:
    row, (cluster, model) = outcome.state.pool[at], outcome.world.pools[at]
    up = max(1, int(row[c.P_UP_TIME]))
    return OfPool(
        cluster=cluster,
        gpu_model=model,
        gpus=int(outcome.world.gpus[outcome.world.pool == at].sum()),
        hp=float(row[c.P_HP_TIME] / up),
        lp=float(row[c.P_LP_TIME] / up),
        asleep=float(row[c.P_ASLEEP_TIME] / up),
        idle=float(row[c.P_FREE_TIME] / up),
        lost_waiting_gpu_hours=float(row[c.P_LOST_TIME] / MILLI_HOURS),
    )


def served_milli(outcome: Outcome) -> Floats:
    """[j] GPU thousandths times seconds that advanced the job, up to the end of the replay."""
    job = outcome.state.job
    running = np.isin(job[:, c.J_STATUS], (c.RUNNING, c.LEAVING))
    since = np.where(running, outcome.state.clock[c.C_NOW] - job[:, c.J_STARTED] - job[:, c.J_OVERHEAD], 0)
    done = np.where(job[:, c.J_STATUS] == c.DONE, job[:, c.J_DURATION], job[:, c.J_SAVED] + np.maximum(0, since))
    return np.asarray(done * (job[:, c.J_WORKERS] * job[:, c.J_GPUS] * job[:, c.J_MILLI]), np.float64)


def dominant_shares(outcome: Outcome) -> Floats:
    """[tenant] that asked for anything: what it was served of the pool where that is most, over its weight, in the end
    of what it asked for: a tenant that got all it wanted counts as 1."""
    job, tenants = outcome.state.job, max(1, len(outcome.work.tenants))
    asked = (job[:, c.J_DURATION] * job[:, c.J_WORKERS] * job[:, c.J_GPUS] * job[:, c.J_MILLI]).astype(np.float64)
    reach = np.maximum(0, np.minimum(job[:, c.J_DURATION], outcome.until_s - job[:, c.J_ARRIVAL]))
    asked *= reach / np.maximum(1, job[:, c.J_DURATION])
    got, wanted = np.zeros(tenants), np.zeros(tenants)
    np.add.at(got, job[:, c.J_TENANT], served_milli(outcome))
    np.add.at(wanted, job[:, c.J_TENANT], asked)
    some: Bools = wanted > 0
    return np.minimum(1.0, got[some] / wanted[some])


def jain(shares: Floats) -> float | None:
    """(Σx)² / (n Σx²): 1 where all are alike, 1/n where one has everything."""
    squares = float((shares**2).sum())
    return float(shares.sum() ** 2 / (len(shares) * squares)) if squares else None


def energy(outcome: Outcome) -> tuple[float | None, int]:
    """MWh that held GPUs draw at most by their data sheets, and GPUs of models without a sheet (left out)."""
    joules, unknown, known = 0.0, 0, False
    for at, (_, model) in enumerate(outcome.world.pools):
        watts, row = board_watts(model), outcome.state.pool[at]
        gpus = int(outcome.world.gpus[outcome.world.pool == at].sum())
        if watts is None:
            unknown += gpus
            continue
        known = known or gpus > 0
        awake = row[c.P_HP_TIME] + row[c.P_LP_TIME] - row[c.P_ASLEEP_TIME]
        joules += watts * float(awake) / c.WHOLE
    return (joules / 3.6e9 if known else None), unknown


def series_of(outcome: Outcome) -> dict[str, tuple[float, ...]]:
    """Means over at most POINTS equal spans."""
    found = outcome.series
    up = np.maximum(1, found.pools[:, :, S_UP].sum(axis=1))
    nodes = np.maximum(1, found.pools[:, :, S_NODES].sum(axis=1))
    lines = {
        "at_s": found.at_s.astype(np.float64),
        "hp": found.pools[:, :, 1].sum(axis=1) / up,
        "hp_lp": found.pools[:, :, 1:3].sum(axis=(1, 2)) / up,
        "slack": found.pools[:, :, S_SLACK].sum(axis=1) / nodes,
        "waiting_gpus": found.pools[:, :, 5].sum(axis=1) / c.WHOLE,
    }
    parts = np.array_split(np.arange(len(found.at_s)), min(POINTS, max(1, len(found.at_s))))
    return {name: tuple(round(float(line[part].mean()), 5) for part in parts) for name, line in lines.items()}


def as_json(found: Report) -> dict[str, object]:
    return asdict(found)


def policies(reports: Sequence[Report]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(report.policy for report in reports))
