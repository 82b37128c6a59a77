"""How much LP may hold, decided every five minutes from what has been seen so far.

``gfs``: the rule of Xu et al. (ASPLOS '26): of every tenant the hourly peak of HP GPUs is forecast, the 0.9 quantile
of the sum stays reserved, LP may hold eta times the rest; eta falls when more than 1.5 (1 - p) of LP runs of the last
four hours were told to leave, and rises when few were and somebody has waited for over an hour.

``forecast``: a quantile of the peak of HP work in the next hour, by the library's forecaster of ``scheduler.spot``,
is kept free of LP, less what HP holds already; and of whole nodes as many as HP work has asked for within ``BURST_S``,
in which LP that is told to leave is gone.  Jobs that end sooner may use a part of it (``withheld``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.columns import State
from scheduler.replay.rules import Rules
from scheduler.replay.world import Work, World
from scheduler.spot.ahead import Ahead, ForecastParams
from scheduler.spot.forecast import GFS, LIBRARY, Fitted, fit
from scheduler.spot.peaks import Peaks, Series
from scheduler.spot.quota import PAPER, QuotaParams, eviction_rate, next_eta

type Floats = NDArray[np.float64]
EVERY_S, HOUR_S = 300, 3600
TURNS = HOUR_S // EVERY_S
REFIT_H = 96  # forecasters learn anew so often
AS_PUBLISHED = QuotaParams(feedback=PAPER)
GFS_QUANTILE = AS_PUBLISHED.level
BURST_S = 120
BURST_QUANTILE = 0.9
BURST_LOOKS_BACK_S = 7 * c.DAY_S
MOST_READY = 0.02  # of a pool: what is kept for bursts alone


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What the rule has seen.  Axes: k five minutes, h hour, p pool, q row of the quota table."""

    held: Longs  # [k, p] HP thousandths
    peaks: Longs  # [h, q] HP thousandths at most in the hour that ended
    told: Longs  # [k, 2] LP jobs told to leave, and LP runs that have ended well, so far
    eta: Floats  # [k]
    reserved: Floats  # [h, p] thousandths, what was forecast last
    ready: Longs  # [h, 2, p] what is kept for bursts: thousandths on parts of nodes, whole nodes
    fits: dict[int, Fitted] = field(default_factory=dict)  # by hour; made anew where they are missing

    def arrays(self) -> dict[str, np.ndarray]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "fits"}

    def copied(self) -> "Memory":
        return memory_of({name: array.copy() for name, array in self.arrays().items()})


def memory_of(arrays: Mapping[str, Any]) -> Memory:
    """By the names of the fields, without what was learnt."""
    return Memory(**arrays)


def empty_memory(rules: Rules, until_s: int, pools: int, rows: int) -> Memory:
    turns = until_s // EVERY_S + 2 if rules.spot_quota != "none" else 0
    hours = until_s // HOUR_S + 2 if turns else 0
    return Memory(
        np.zeros((turns, pools), np.int64),
        np.zeros((hours, rows if rules.spot_quota == "gfs" else 0), np.int64),
        np.zeros((turns, 2), np.int64),
        np.ones(turns),
        np.zeros((hours, pools)),
        np.zeros((hours, 2, pools), np.int64),
    )


def next_turn(now_s: int) -> int:
    """The next instant at which the rule is asked."""
    return (now_s // EVERY_S + 1) * EVERY_S


def regulate(world: World, work: Work, rules: Rules, state: State, memory: Memory) -> None:
    """Write down what is seen at this turn, and set what LP may hold of every pool."""
    now = int(state.clock[c.C_NOW])
    hour, fresh = now // HOUR_S, not now % HOUR_S
    memory.held[now // EVERY_S] = state.pool[:, c.P_HP_HELD]
    gfs = rules.spot_quota == "gfs"
    if fresh and gfs:
        memory.peaks[hour - 1] = state.quota[:, c.Q_PEAK]
        state.quota[:, c.Q_PEAK] = state.quota[:, c.Q_HP]
    if hour and _lp_is_there(work, now):
        if fresh or not memory.reserved[hour].any():
            told = _by_model(world, state, memory, hour) if gfs else _by_pool(rules, memory, hour)
            memory.reserved[hour] = told
        if gfs:
            _gfs(state, memory, now)
        else:
            _forecast(work, rules, state, memory, now)
        state.clock[c.C_DIRTY] |= (1 << len(world.pools)) - 1


def _lp_is_there(work: Work, now: int) -> bool:
    tier = work.column(c.J_TIER)
    at = int(tier.argmax())
    return bool(tier[at]) and int(work.column(c.J_ARRIVAL)[at]) <= now


def _fitted(memory: Memory, word: str, peaks: Peaks, params: ForecastParams) -> Ahead:
    """Learnt from the hours until the last time that it learnt, told from the end of ``peaks``."""
    at = _learnt_at(peaks.hours)
    if at not in memory.fits:
        memory.fits[at] = _learnt(word, _Past(peaks.until(at)), params)
    return memory.fits[at].ahead(peaks)


class _Past:
    """Peaks that are told apart by what they hold: several runs over one past learn once."""

    def __init__(self, peaks: Peaks) -> None:
        self.peaks = peaks
        self.key = (peaks.begin_s, peaks.series, peaks.peak_milli.tobytes(), peaks.closing_milli.tobytes())

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Past) and self.key == other.key


@lru_cache(maxsize=8)
def _learnt(word: str, past: _Past, params: ForecastParams) -> Fitted:
    return fit(word, past.peaks, params)


def _learnt_at(hour: int) -> int:
    return hour // REFIT_H * REFIT_H or hour


# GFS's rule


def _by_model(world: World, state: State, memory: Memory, hour: int) -> Floats:
    """[p] Reserved thousandths: the quantile of the sum over tenants of the next hour's peaks, by model."""
    models = len(state.quota) // len(state.account)
    table = memory.peaks[:hour].reshape(hour, -1, models)[:, :, : models - 1]
    seen = np.argwhere(table[: _learnt_at(hour)].any(axis=0)).tolist()
    words = sorted({model for _, model in world.pools})
    series = tuple(Series(words[model], str(tenant)) for tenant, model in seen)
    rows = np.array([table[:, tenant, model] for tenant, model in seen], np.int64).reshape(len(series), hour)
    ahead = _fitted(memory, GFS, Peaks(0, series, rows, rows), ForecastParams(levels=(GFS_QUANTILE,)))
    up, found = state.pool[:, c.P_UP], np.zeros(len(world.pools))
    for model, word in enumerate(words):
        mine = state.pool[:, c.P_MODEL] == model
        if word in ahead.models:
            told = float(ahead.pool(word).at(GFS_QUANTILE)[0])
            known = told if np.isfinite(told) else float(table[-168:, :, model].sum(axis=1).max())
            found[mine] = known * up[mine] / max(1, up[mine].sum())
    return found


def _gfs(state: State, memory: Memory, now: int) -> None:
    lp = state.job[:, c.J_TIER] == c.LP
    turn = now // EVERY_S
    told, ended = int(state.job[lp, c.J_EVICTIONS].sum()), int((state.job[lp, c.J_STATUS] == c.DONE).sum())
    memory.told[turn] = told, ended
    eta = memory.eta[turn] = _eta(state, memory, now)
    free = np.clip(state.pool[:, c.P_UP] - memory.reserved[now // HOUR_S], 0, None)
    state.pool[:, c.P_CAP] = (eta * free).astype(np.int64)


def _eta(state: State, memory: Memory, now: int) -> float:
    turn = now // EVERY_S
    eta = float(memory.eta[max(0, turn - 1)])
    since = max(0, turn - AS_PUBLISHED.window_s // EVERY_S)
    told, ended = (memory.told[turn] - memory.told[since]).tolist()
    return next_eta(eta, eviction_rate(told, told + ended), _waited(state, now), AS_PUBLISHED).value


def _waited(state: State, now: int) -> int:
    """Seconds for which the LP job that has waited longest waits."""
    waits = (state.job[:, c.J_TIER] == c.LP) & (state.job[:, c.J_STATUS] == c.WAITING)
    return now - int(state.job[waits, c.J_QUEUED].min(initial=now))


# By the library's forecaster


def _by_pool(rules: Rules, memory: Memory, hour: int) -> Floats:
    """[p] The quantile of the next hour's peak of HP work, of which peaks are what was seen every five minutes."""
    past = memory.held[1 : hour * TURNS + 1].reshape(hour, TURNS, -1)
    series = tuple(Series(f"pool {p:02d}", "") for p in range(past.shape[2]))
    params = ForecastParams(levels=(rules.reserve_quantile,), hours=1)
    ahead = _fitted(memory, LIBRARY, Peaks(0, series, past.max(axis=1).T.copy(), past[:, -1].T.copy()), params)
    told = np.array([ahead.pool(one.gpu_model).at(rules.reserve_quantile)[0] for one in series])
    return np.asarray(np.where(np.isfinite(told), told, past[-168:].max(axis=(0, 1))))


def _forecast(work: Work, rules: Rules, state: State, memory: Memory, now: int) -> None:
    rows, hour = state.pool, now // HOUR_S
    wide = rows[:, c.P_WIDE]
    if not memory.ready[hour].any():
        memory.ready[hour] = bursts(work, wide, rows[:, c.P_UP], now)
    singles, whole = memory.ready[hour]
    ready = singles + whole * wide * c.WHOLE
    keep = np.maximum(memory.reserved[hour] - rows[:, c.P_HP_HELD], ready)
    rows[:, c.P_LEAST], rows[:, c.P_CLEAR] = (ready, whole) if rules.make_ready else (0, 0)
    rows[:, c.P_KEEP] = np.maximum(1, keep).astype(np.int64)
    rows[:, c.P_KEEP_NODES] = np.where(wide > 1, np.maximum(whole, keep // (wide * c.WHOLE)), 0)


def bursts(work: Work, wide: Longs, up_milli: Longs, now: int) -> Longs:
    """[2, p] Thousandths of GPUs on parts of nodes, and whole nodes, that HP jobs asked for within ``BURST_S``.

    So much that nine jobs of ten that arrived in the last week would have found room; no more than a part of the pool.
    """
    until = int(np.searchsorted(work.column(c.J_ARRIVAL), now, side="right"))
    since = int(np.searchsorted(work.column(c.J_ARRIVAL), now - BURST_LOOKS_BACK_S))
    rows = work.asked[since:until]
    rows = rows[(rows[:, c.J_TIER] == c.HP) & (rows[:, c.J_GPUS] > 0) & (rows[:, c.J_ARRIVAL] > 0)]
    found = np.zeros((2, len(wide)), np.int64)
    for pool in range(len(wide)):
        mine = rows[(rows[:, c.J_POOLS] >> pool & 1).astype(bool)]
        if not len(mine):
            continue
        large = (mine[:, c.J_GPUS] >= wide[pool]) & (mine[:, c.J_MILLI] == c.WHOLE) & (wide[pool] > 1)
        milli = mine[:, c.J_WORKERS] * mine[:, c.J_GPUS] * mine[:, c.J_MILLI]
        most = int(MOST_READY * up_milli[pool])
        singles = _burst(mine[:, c.J_ARRIVAL], np.where(large, 0, milli))
        nodes = _burst(mine[:, c.J_ARRIVAL], np.where(large, mine[:, c.J_WORKERS], 0))
        found[0, pool] = min(singles, max(c.WHOLE, most))
        found[1, pool] = min(nodes, max(1, most // (int(wide[pool]) * c.WHOLE)))
    return found


def _burst(arrival: Longs, amount: Longs) -> int:
    """What all who arrived within ``BURST_S`` before a job asked for with it: enough for nine of ten."""
    summed = np.concatenate([[0], np.cumsum(amount)])
    since = np.searchsorted(arrival, arrival - BURST_S, side="left")
    return int(np.quantile(summed[1:] - summed[since], BURST_QUANTILE))
