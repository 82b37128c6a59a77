"""Days on which LP work is lent to: a world that is fixed before anybody plans on it.

HP work and nodes are those of the spot trace's twin, or of the ASI-like fleet; standby around midnight has the study's
peak, and one sleeper in four is once called by its owner before its window ends.  What HP leaves, awake and asleep, is
measured hour by hour in a run without LP work (``lendable``).  LP work is drawn of the base's own LP jobs until it asks
for a stated multiple of that, by pool.  For ``warm_s`` only HP work arrives, so that forecasts have a past.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.asi import asi_trace
from scheduler.replay.loop import begin_replay
from scheduler.replay.rules import PAPER_ORDER, Rules
from scheduler.replay.sources import with_standby
from scheduler.replay.standby import PEAK
from scheduler.replay.trace import CHECKPOINT_S, Trace, estimates, spot_trace
from scheduler.replay.world import World, work_of
from scheduler.worlds.spot_marginals import HOURS
from scheduler.worlds.spot_trace import SpotJobs, twin_jobs, twin_nodes

type Floats = NDArray[np.float64]
HOUR_S = 3600
TWIN, ASI = "spot-twin-days", "asi-days"
WORLDS = (TWIN, ASI)
DEMANDS = (0.5, 1.0, 2.0)  # times what is lendable
TWIN_MODELS = ("A100-SXM4-80GB", "GPU-series-2")  # 8 GPUs a node, large, and HP work asks for most of them
TWIN_FROM_DAY = 40  # spot jobs are there from day 30 on
TWIN_SHARE = 0.5
LARGEST_HP = 0.1  # of its pool: no gang of the twin asks for more at once
ASI_NODES = 1000
LEAST_POOL = 50  # nodes of a pool of the ASI-like fleet: smaller ones are left out
WARM_DAYS, LENT_DAYS = 36, 4
LONGEST_LP_S = 24 * HOUR_S
MOST_HP = 0.72  # of a pool: where HP jobs ask for more in the mean, some are left out, or nothing could be lent
LARGEST_LP = 0.05  # of its pool: no LP job asks for more at once
ON_NOTICE, SILENT = 0.3, 0.15  # shares of LP jobs whose hook writes a checkpoint, and that say nothing of theirs
ASI_CHECKPOINTS_S: tuple[int, ...] = (900, 1800, 3600, 7200)
CALLED_EARLY = 0.25
STORM_AT_S = 1800  # of the day, when a storm calls
HP_ALONE = Rules(name="HP only", meaning="no LP work", placement=PAPER_ORDER, lend=False)


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """HP work, and LP jobs as kinds to draw from.  Axes: h hour from ``warm_s`` on, p pool, k kind."""

    name: str
    seed: int
    trace: Trace  # HP work alone
    warm_s: int
    kinds: Longs  # [k, columns of ``Work.asked``]
    hourly: Floats  # [24] weights of arrivals by hour of day
    checkpoints_s: tuple[int, ...]
    lendable: Longs  # [h, p] thousandths of a GPU times seconds


@dataclass(frozen=True, slots=True, eq=False)
class SpotWorld:
    base: Base
    demand: float
    trace: Trace


@lru_cache(maxsize=2)
def base_of(name: str, seed: int) -> Base:
    """Equal arguments give an equal base.  Raises InputError for an unknown name."""
    hourly, checkpoints = np.ones(24), ASI_CHECKPOINTS_S
    if name == TWIN:
        trace, kinds = _twin(seed)
        hourly, checkpoints = np.array(HOURS, np.float64), (CHECKPOINT_S,)
    elif name == ASI:
        trace, kinds = _asi(seed)
    else:
        raise InputError("world", name, f"expected one of {', '.join(WORLDS)}")
    trace = _called_early(with_standby(trace, PEAK), seed)
    warm_s = WARM_DAYS * c.DAY_S
    return Base(name, seed, trace, warm_s, kinds, hourly, checkpoints, lendable_of(trace, warm_s))


def spot_world(name: str, seed: int, demand: float) -> SpotWorld:
    """The base's HP work, and LP work that asks for ``demand`` times what it leaves."""
    base = base_of(name, seed)
    rng = np.random.default_rng([seed, round(1000 * demand)])
    asked = np.concatenate([base.trace.work.asked, _lp_work(base, demand, rng)])
    fresh = len(asked) - len(base.trace.work)
    names = [*base.trace.work.names, *(f"lp-{at:06d}" for at in range(fresh))]
    asked[-fresh:, c.J_ESTIMATE] = estimates(asked[-fresh:, c.J_DURATION], names[-fresh:])
    work = work_of(names, base.trace.work.tenants, asked)
    return SpotWorld(base, demand, replace(base.trace, work=work))


def lendable_of(trace: Trace, warm_s: int) -> Longs:
    """[h, p] What HP work leaves of nodes that are up, asleep or not there, by hour from ``warm_s`` on."""
    one = begin_replay(trace.world, trace.work, HP_ALONE, until_s=trace.until_s)
    rows, before = [], np.zeros(len(trace.world.pools), np.int64)
    for at in range(0, trace.until_s + 1, HOUR_S):
        one.run(pause_s=at)
        pool = one.state.pool
        left = pool[:, c.P_UP_TIME] - pool[:, c.P_HP_TIME] + pool[:, c.P_ASLEEP_TIME]
        if at > warm_s:
            rows.append(left - before)
        before = left.copy()
    return np.array(rows, np.int64)


def _twin(seed: int) -> tuple[Trace, Longs]:
    """A share of the twin's nodes and jobs of three models; who ran on its first day arrives with what is left."""
    nodes = [
        node
        for model in TWIN_MODELS
        for at, node in enumerate(node for node in twin_nodes() if node.gpu_model == model)
        if at % round(1 / TWIN_SHARE) == 0
    ]
    jobs = twin_jobs(seed, share=TWIN_SHARE)
    trace = spot_trace(TWIN, nodes, _of_models(jobs))
    asked, start = trace.work.asked.copy(), TWIN_FROM_DAY * c.DAY_S
    span = (WARM_DAYS + LENT_DAYS) * c.DAY_S
    asked = _smaller(trace.world, asked, LARGEST_HP)
    kinds = asked[asked[:, c.J_TIER] == c.LP]
    begun, end = asked[:, c.J_ARRIVAL], asked[:, c.J_ARRIVAL] + asked[:, c.J_DURATION]
    inside = (asked[:, c.J_TIER] == c.HP) & (end > start) & (begun < start + span)
    names = [name for name, keep in zip(trace.work.names, inside, strict=True) if keep]
    rows = asked[inside]
    late = np.maximum(0, start - rows[:, c.J_ARRIVAL])
    rows[:, c.J_ARRIVAL] = np.maximum(0, rows[:, c.J_ARRIVAL] - start)
    rows[:, c.J_DURATION] -= late
    rows[:, c.J_ESTIMATE] = estimates(rows[:, c.J_DURATION], names)
    keep = _thinned(trace.world, rows, span, seed)
    names = [name for name, stays in zip(names, keep, strict=True) if stays]
    return replace(trace, work=work_of(names, trace.work.tenants, rows[keep]), until_s=span), kinds


def _thinned(world: World, rows: Longs, span: int, seed: int) -> NDArray[np.bool_]:
    """Jobs in a drawn order until those of a pool ask for ``MOST_HP`` of it in the mean."""
    gpus = np.bincount(world.pool, weights=world.gpus, minlength=len(world.pools))
    held = np.minimum(rows[:, c.J_DURATION], span - rows[:, c.J_ARRIVAL]).astype(np.float64)
    held *= rows[:, c.J_WORKERS] * rows[:, c.J_GPUS] * rows[:, c.J_MILLI]
    own = np.array([_first(pools) for pools in rows[:, c.J_POOLS].tolist()])
    keep, order = np.zeros(len(rows), np.bool_), np.random.default_rng([seed, 3]).permutation(len(rows))
    for pool in range(len(world.pools)):
        mine = order[own[order] == pool]
        summed = np.cumsum(held[mine])
        keep[mine] = summed <= MOST_HP * gpus[pool] * c.WHOLE * span
    return keep


def _of_models(jobs: SpotJobs) -> SpotJobs:
    keep = np.isin(np.array(jobs.model), TWIN_MODELS)
    rows = np.flatnonzero(keep).tolist()
    words, numbers = ("name", "organisation", "model"), ("cpu", "gpu", "workers", "submit_s", "duration_s", "spot")
    chosen: dict[str, Any] = {name: tuple(getattr(jobs, name)[row] for row in rows) for name in words}
    return replace(jobs, **chosen, **{name: getattr(jobs, name)[keep] for name in numbers})


def _smaller(world: World, asked: Longs, share: float) -> Longs:
    """Gangs of at most a share of their pool: the twin's largest are made for pools four times as large."""
    gpus = np.bincount(world.pool, weights=world.gpus, minlength=len(world.pools))
    own = np.array([gpus[_first(pools)] for pools in asked[:, c.J_POOLS].tolist()])
    each = np.maximum(1, asked[:, c.J_GPUS] * asked[:, c.J_MILLI] / c.WHOLE)
    asked[:, c.J_WORKERS] = np.maximum(1, np.minimum(asked[:, c.J_WORKERS], share * own // each))
    return asked


def _first(pools: int) -> int:
    return (pools & -pools).bit_length() - 1


def _asi(seed: int) -> tuple[Trace, Longs]:
    """The large pools of the ASI-like fleet."""
    trace = asi_trace(nodes=ASI_NODES, days=WARM_DAYS + LENT_DAYS, seed=seed)
    world, asked = trace.world, trace.work.asked.copy()
    large = np.flatnonzero(np.bincount(world.pool) >= LEAST_POOL)
    nodes = np.flatnonzero(np.isin(world.pool, large))
    first = np.array([_first(pools) for pools in asked[:, c.J_POOLS].tolist()])
    inside = np.isin(first, large)
    asked[:, c.J_POOLS] = 1 << np.searchsorted(large, first)
    hp = inside & (asked[:, c.J_TIER] == c.HP)
    names = [name for name, keep in zip(trace.work.names, hp, strict=True) if keep]
    smaller = replace(
        world,
        pools=tuple(world.pools[pool] for pool in large.tolist()),
        names=tuple(world.names[node] for node in nodes.tolist()),
        pool=np.searchsorted(large, world.pool[nodes]).astype(np.int64),
        gpus=world.gpus[nodes],
        cpu_milli=world.cpu_milli[nodes],
        memory_mib=world.memory_mib[nodes],
        asw=world.asw[nodes],
    )
    work = work_of(names, trace.work.tenants, asked[hp])
    return replace(trace, world=smaller, work=work), asked[inside & (asked[:, c.J_TIER] == c.LP)]


def _called_early(trace: Trace, seed: int) -> Trace:
    """One sleeper in four is called by its owner at some instant of one of its windows while LP is lent to."""
    rng, asked = np.random.default_rng([seed, 7]), trace.work.asked.copy()
    sleepers = np.flatnonzero(asked[:, c.J_SLEEP_S] > 0)
    chosen = sleepers[rng.random(len(sleepers)) < CALLED_EARLY]
    day = rng.integers(WARM_DAYS, WARM_DAYS + LENT_DAYS - 1, len(chosen))
    inside = (rng.random(len(chosen)) * asked[chosen, c.J_SLEEP_S]).astype(np.int64)
    asked[chosen, c.J_RECALL_AT] = day * c.DAY_S + asked[chosen, c.J_SLEEP_AT] + inside
    return replace(trace, work=replace(trace.work, asked=asked))


def _lp_work(base: Base, demand: float, rng: np.random.Generator) -> Longs:
    """Rows of LP jobs, pool by pool, until they ask for ``demand`` times what is lendable there."""
    world, rows = base.trace.world, []
    gpus = np.bincount(world.pool, weights=world.gpus, minlength=len(world.pools))
    first = np.array([_first(pools) for pools in base.kinds[:, c.J_POOLS].tolist()])
    milli = base.kinds[:, c.J_WORKERS] * base.kinds[:, c.J_GPUS] * base.kinds[:, c.J_MILLI]
    fits = (milli > 0) & (milli <= np.maximum(1, LARGEST_LP * gpus[first]) * c.WHOLE)
    for pool in range(len(world.pools)):
        mine, wanted = base.kinds[fits & (first == pool)], demand * float(base.lendable[:, pool].sum())
        if len(mine):
            rows.append(_drawn(base, mine, wanted, rng))
    return np.concatenate(rows) if rows else np.zeros((0, c.J_LANE), np.int64)


def _drawn(base: Base, kinds: Longs, wanted: float, rng: np.random.Generator) -> Longs:
    time = np.minimum(kinds[:, c.J_DURATION], LONGEST_LP_S) * kinds[:, c.J_WORKERS] * kinds[:, c.J_GPUS]
    each = float((time * kinds[:, c.J_MILLI]).mean())
    rows = kinds[rng.integers(0, len(kinds), int(3 * wanted / max(1.0, each)) + 20)].copy()
    rows[:, c.J_DURATION] = np.minimum(rows[:, c.J_DURATION], LONGEST_LP_S)
    summed = np.cumsum(rows[:, c.J_DURATION] * rows[:, c.J_WORKERS] * rows[:, c.J_GPUS] * rows[:, c.J_MILLI])
    rows = rows[: int(np.searchsorted(summed, wanted)) + 1]
    hours = np.arange(LENT_DAYS * 24)
    weight = base.hourly[hours % 24]
    hour = rng.choice(hours, len(rows), p=weight / weight.sum())
    rows[:, c.J_ARRIVAL] = base.warm_s + hour * HOUR_S + rng.integers(0, HOUR_S, len(rows))
    rows[:, c.J_POOLS] &= -rows[:, c.J_POOLS]
    rows[:, c.J_CHECKPOINT] = rng.choice(base.checkpoints_s, len(rows))
    rows[:, c.J_NOTICE], rows[:, c.J_SILENT] = rng.random((2, len(rows))) < np.array([[ON_NOTICE], [SILENT]])
    rows[:, c.J_TOPOLOGY], rows[:, c.J_FIXED], rows[:, [c.J_SLEEP_AT, c.J_SLEEP_S]] = c.ANYWHERE, 0, 0
    return rows


def hp_alone(base: Base) -> SpotWorld:
    return SpotWorld(base, 0.0, base.trace)


def storm(world: SpotWorld, share: float, *, announced: bool) -> tuple[SpotWorld, int]:
    """A share of all sleepers is called at one instant near the peak of the second night, and when that is.

    Announced: their windows end then, as everybody knew; else their owners call them all of a sudden.
    """
    at_s = world.base.warm_s + c.DAY_S + STORM_AT_S
    asked = world.trace.work.asked.copy()
    sleepers = np.flatnonzero(asked[:, c.J_SLEEP_S] > 0)
    rng = np.random.default_rng([world.base.seed, 11])
    chosen = sleepers[rng.permutation(len(sleepers))[: max(1, round(share * len(sleepers)))]]
    asked[:, c.J_RECALL_AT] = 0
    if announced:
        since = (at_s - asked[chosen, c.J_SLEEP_AT]) % c.DAY_S
        inside = since < asked[chosen, c.J_SLEEP_S]
        asked[chosen[inside], c.J_SLEEP_S] = np.maximum(1, since[inside])
    else:
        asked[chosen, c.J_RECALL_AT] = at_s
    return replace(world, trace=replace(world.trace, work=replace(world.trace.work, asked=asked))), at_s
