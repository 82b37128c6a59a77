"""Do the chances to start hold?  Told from the past alone, scored on what then happened.

    python -m benchmarks.spot_chance [--seeds 10] [--demand 1.0 0.5] [--asks 400]

Worlds: the twin of the spot trace (all pools but A10, days 60 to 72) and ASI-like days (300 nodes, 12 days, services
that sleep around midnight).  Spot jobs are those of the trace, as many of them as ask for ``--demand`` times the
GPU-hours that high-priority work leaves.  They run under the study's order of nodes and its rule of victims; every
spot job that arrives in the second half is an ask, and its chance is told from the reading before it, five minutes old
at most.  Chances are recalibrated every hour by what was told before and is over since; the first half only teaches.
``one for all`` tells everybody the share of those who started so far.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.asi import asi_trace
from scheduler.replay.loop import Reached, begin_replay
from scheduler.replay.rules import PAPER_ORDER, Rules, Ways
from scheduler.replay.sources import with_standby
from scheduler.replay.standby import PEAK
from scheduler.replay.trace import Trace, spot_trace
from scheduler.replay.tradeoff import interval
from scheduler.replay.warm import warm_up
from scheduler.replay.world import work_of
from scheduler.spot.calibration import SAME, Told, recalibration, reliability
from scheduler.spot.chance import HORIZONS_S, MOST_AHEAD, Job, Standing, chances
from scheduler.spot.line import Probe
from scheduler.spot.supply import Past
from scheduler.worlds.spot_trace import twin_jobs, twin_nodes

DAY_S, HOUR_S, STEP_S = 86_400, 3600, 300
TWIN_DAYS, ASI_NODES, ASI_DAYS = (60, 72), 300, 12
LEFT_OUT = "A10"
TARGET_POINTS = 5.0
DRAWS = 100
MOST_DRAWN = 200_000  # jobs of a pool
LOOKED_S = 6 * 3600  # newcomers are counted over so long
COLUMNS = ("cpu", "gpu", "workers", "submit_s", "duration_s", "spot")
RULES = Rules(name="study", placement=PAPER_ORDER, preempt="paper", guarantee_s=1800)
WORLDS = ("spot twin", "asi")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--demand", type=float, nargs="+", default=[1.0, 0.5])
    parser.add_argument("--asks", type=int, default=400, help="at most so many a seed and world")
    options = parser.parse_args()
    warm_up()
    out = Console(width=160)
    for demand in options.demand:
        for world in WORLDS:
            out.print(_scored(world, options.seeds, demand, options.asks))


def _scored(world: str, seeds: int, demand: float, asks: int) -> Table:
    every = track(range(seeds), world, transient=True)
    trials = [_Trial(trace_of(world, seed, demand), seed, asks).run() for seed in every]
    return table_of(f"{world}: demand {demand:g} x what is left, {seeds} seeds", trials)


def table_of(title: str, trials: Sequence["_Trial"]) -> Table:
    """Means over seeds with half of Student's 95 % interval; ``pooled``: the error of all seeds' asks together."""
    heads = ("within", "asks a seed", "started %", "error, points", "raw", "Brier", "raw", "one for all")
    table = Table(*heads, "pooled error", "seeds within 5", title=title)
    for horizon in HORIZONS_S:
        told = [trial.told(horizon) for trial in trials]
        rows = [scores_of(one) for one in told]
        pooled = reliability([one for held, _, _ in told for one in held])
        table.add_row(
            f"{horizon // 60} min", f"{np.mean([row[0] for row in rows]):.0f}",
            *(_spread([row[at] for row in rows], digits) for at, digits in enumerate((1, 2, 2, 4, 4, 4), 1)),
            f"{pooled.error_points:.2f}", f"{sum(row[2] <= TARGET_POINTS for row in rows)} of {len(rows)}",
        )  # fmt: skip
    return table


def _spread(values: Sequence[float], digits: int) -> str:
    found = interval(list(values))
    half = "" if found.low is None or found.high is None else f" ± {(found.high - found.low) / 2:.{digits}f}"
    return f"{found.mean:.{digits}f}{half}"


# ---- worlds ---------------------------------------------------------------------------------------------------------
def trace_of(world: str, seed: int, demand: float) -> Trace:
    if world == WORLDS[0]:
        jobs, nodes = twin_jobs(seed), [node for node in twin_nodes() if node.gpu_model != LEFT_OUT]
        keep = np.array([model != LEFT_OUT for model in jobs.model])
        at = np.flatnonzero(keep).tolist()
        kept: dict[str, Any] = {name: getattr(jobs, name)[keep] for name in COLUMNS}
        kept |= {name: tuple(getattr(jobs, name)[i] for i in at) for name in ("name", "organisation", "model")}
        trace = cut(spot_trace(world, nodes, replace(jobs, **kept)), *(day * DAY_S for day in TWIN_DAYS))
    else:
        trace = with_standby(asi_trace(nodes=ASI_NODES, days=ASI_DAYS, seed=seed), PEAK)
    return demanding(trace, demand, seed)


def cut(trace: Trace, low: int, high: int) -> Trace:
    """The days from ``low`` to ``high``; who would run at ``low``, were there always room, is there at the start."""
    asked = trace.work.asked.copy()
    ends = asked[:, c.J_ARRIVAL] + asked[:, c.J_DURATION]
    keep = (ends > low) & (asked[:, c.J_ARRIVAL] < high)
    early = np.maximum(low - asked[:, c.J_ARRIVAL], 0)
    asked[:, c.J_DURATION] -= early
    asked[:, c.J_ESTIMATE] = np.maximum(asked[:, c.J_ESTIMATE] - early, 1)
    asked[:, c.J_ARRIVAL] = np.maximum(asked[:, c.J_ARRIVAL] - low, 0)
    names = [trace.work.names[i] for i in np.flatnonzero(keep).tolist()]
    return replace(trace, work=work_of(names, trace.work.tenants, asked[keep]), until_s=high - low)


def demanding(trace: Trace, demand: float, seed: int) -> Trace:
    """Spot jobs drawn again, pool by pool, until they ask for ``demand`` times what high-priority work leaves."""
    asked, rng = trace.work.asked, np.random.default_rng([seed, 77])
    hours = np.minimum(asked[:, c.J_DURATION], trace.until_s - asked[:, c.J_ARRIVAL]).astype(np.float64)
    hours *= asked[:, c.J_WORKERS] * asked[:, c.J_GPUS] * asked[:, c.J_MILLI] / c.WHOLE
    spot = (asked[:, c.J_TIER] == c.LP) & (asked[:, c.J_GPUS] > 0)
    rows = [asked[~spot]]
    names = [trace.work.names[i] for i in np.flatnonzero(~spot).tolist()]
    for pool in np.unique(asked[spot, c.J_POOLS]).tolist():
        here = asked[:, c.J_POOLS] == pool
        gpus = sum(int(trace.world.gpus[trace.world.pool == p].sum()) for p in range(62) if pool >> p & 1)
        wanted = demand * max(0.0, gpus * trace.until_s - hours[here & ~spot].sum())
        mine = np.flatnonzero(here & spot)
        if not len(mine) or not wanted:
            continue
        drawn = asked[rng.choice(mine, MOST_DRAWN)].copy()
        drawn[:, c.J_ARRIVAL] = (
            drawn[:, c.J_ARRIVAL] // DAY_S * DAY_S + rng.integers(0, DAY_S, MOST_DRAWN)
        ) % trace.until_s
        ends = np.minimum(drawn[:, c.J_ARRIVAL] + drawn[:, c.J_DURATION], trace.until_s)
        milli = drawn[:, c.J_WORKERS] * drawn[:, c.J_GPUS] * drawn[:, c.J_MILLI]
        often = int(np.searchsorted(np.cumsum((ends - drawn[:, c.J_ARRIVAL]) * milli / c.WHOLE), wanted)) + 1
        rows.append(drawn[:often])
        names += [f"spot-{pool}-{i:06d}" for i in range(len(rows[-1]))]
    windows = np.zeros((0, 3), np.int64)
    return replace(trace, work=work_of(names, trace.work.tenants, np.concatenate(rows), windows))


# ---- one seed -------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Ask:
    job: int
    at_s: int
    raw: dict[int, float | None]


@dataclass(slots=True)
class _Trial:
    trace: Trace
    seed: int
    most: int
    supply: list[list[int]] = field(default_factory=list)  # [pool][tick]
    asks: list[_Ask] = field(default_factory=list)
    waited: Longs = field(default_factory=lambda: np.zeros(0, np.int64))

    def run(self) -> "_Trial":
        work, world = self.trace.work, self.trace.world
        arrival = work.column(c.J_ARRIVAL)
        until = self.trace.until_s + HORIZONS_S[-1]
        replay = begin_replay(world, work, RULES, Ways(sample_s=STEP_S), seed=self.seed, until_s=until)
        spot = np.flatnonzero((work.column(c.J_TIER) == c.LP) & (work.column(c.J_GPUS) > 0) & (arrival > DAY_S))
        spot = spot[arrival[spot] < self.trace.until_s]
        chosen = np.random.default_rng([self.seed, 5]).permutation(spot)[: 2 * self.most]
        by_tick: dict[int, list[int]] = {}
        for job in np.sort(chosen).tolist():
            by_tick.setdefault(int(arrival[job] - 1) // STEP_S, []).append(job)
        self.supply = [[] for _ in world.pools]

        def tell(reached: Reached) -> bool:
            self._look(replay.state, reached.now_s, by_tick.get(reached.now_s // STEP_S, ()))
            return True

        outcome = replay.run(tell)
        first = outcome.state.job[:, c.J_FIRST]
        self.waited = np.where(first == c.NONE, np.int64(1 << 40), first - arrival)
        return self

    def _look(self, state: c.State, now_s: int, asked: Sequence[int]) -> None:
        for p, row in enumerate(state.pool):
            self.supply[p].append(int(row[c.P_FREE] + row[c.P_LP_HELD] + row[c.P_LENDABLE]) // c.WHOLE)
        for job in asked:
            pools = [p for p in range(len(self.supply)) if int(state.job[job, c.J_POOLS]) >> p & 1]
            best: dict[int, float | None] = dict.fromkeys(HORIZONS_S)
            for p in pools:
                past, standing, probe = self._told(state, now_s, p, job)
                found = chances(past, standing, probe, seed=job, draws=DRAWS).raw
                best = {h: _more(best[h], found[h]) for h in HORIZONS_S}
            self.asks.append(_Ask(job, int(state.job[job, c.J_ARRIVAL]), best))

    def _told(self, state: c.State, now_s: int, p: int, asked: int) -> tuple[Past, Standing, Probe]:
        """All that is known at ``now_s``: nothing of what arrives or ends later."""
        jobs, bit = state.job, 1 << p
        spot = (jobs[:, c.J_TIER] == c.LP) & (jobs[:, c.J_GPUS] > 0) & (jobs[:, c.J_POOLS] & bit > 0)
        waits = np.flatnonzero(spot & (jobs[:, c.J_STATUS] == c.WAITING))[:MOST_AHEAD]
        runs = np.flatnonzero(spot & np.isin(jobs[:, c.J_STATUS], (c.RUNNING, c.LEAVING)) & (jobs[:, c.J_POOL] == p))
        lately = np.flatnonzero(spot & (jobs[:, c.J_ARRIVAL] <= now_s) & (jobs[:, c.J_ARRIVAL] > now_s - LOOKED_S))
        ended = np.flatnonzero(spot & (jobs[:, c.J_STATUS] == c.DONE))[-400:]
        used = jobs[ended, c.J_DURATION] / np.maximum(jobs[ended, c.J_ESTIMATE], 1)
        supply = np.array(self.supply[p], np.int64)
        whole, lent = _rooms(state, p)
        sizes = np.unique(jobs[np.concatenate([waits, runs, lately, [asked]]), c.J_GPUS]).tolist()
        open_gpus = max(int(whole.sum()), int(lent.sum()), 1)
        fit = {g: max(int((whole // g * g).sum()), int((lent // g * g).sum())) / open_gpus for g in sizes}
        typical = {g: max(fit[g], 0.5 if g > 1 else 1.0) for g in sizes}  # what comes free comes free by jobs
        need, per_pod = _gpus(jobs[asked]), int(jobs[asked, c.J_GPUS])
        now = round(fit[per_pod] * open_gpus)
        standing = Standing(
            supply=int(supply[-1]),
            running=tuple(_job(jobs[j], now_s) for j in runs),
            ahead=tuple(_job(jobs[j], now_s) for j in waits),
            newcomers=tuple(_job(jobs[j], now_s) for j in lately),
            looked_s=min(now_s, LOOKED_S),
            used=tuple(np.minimum(used, 1.0).tolist()),
            fit=typical,
        )
        gpus = int(state.pool[p, c.P_UP]) // c.WHOLE
        past = Past(str(p), now_s - STEP_S * (len(supply) - 1), STEP_S, supply, gpus)
        return past, standing, Probe(need, now, typical[per_pod], gpus)

    def told(self, horizon: int) -> tuple[list[Told], list[Told], list[Told]]:
        """Of the second half: as it would have been told, raw, and one number for all.

        Each hour learns from the asks whose time was over by then, and from nothing later.
        """
        half, known = self.trace.until_s // 2, [ask for ask in self.asks if ask.raw[horizon] is not None]
        held, raw, same = [], [], []
        curve, learnt, mean = SAME, -1, 0.5
        for ask in sorted(known, key=lambda one: (one.at_s, one.job)):
            if ask.at_s < half:
                continue
            if ask.at_s // HOUR_S != learnt:
                learnt = ask.at_s // HOUR_S
                taught = self._came([one for one in known if one.at_s + horizon <= learnt * HOUR_S], horizon)
                curve = recalibration(taught)
                mean = float(np.mean([one.started for one in taught])) if taught else 0.5
            (one,) = self._came([ask], horizon)
            raw.append(one)
            held.append(Told(curve.apply(one.said), one.started))
            same.append(Told(mean, one.started))
        return held, raw, same

    def _came(self, asks: Sequence[_Ask], horizon: int) -> list[Told]:
        return [Told(one.raw[horizon] or 0.0, bool(self.waited[one.job] <= horizon)) for one in asks]


def scores_of(told: tuple[list[Told], list[Told], list[Told]]) -> tuple[float, ...]:
    """Asks, started %, error and raw error in points, Brier, raw Brier and that of one number for all."""
    held, before, flat = (reliability(one) for one in told)
    started = 100 * float(np.mean([one.started for one in told[0]]))
    return (held.asks, started, held.error_points or 0.0, before.error_points or 0.0,
            held.brier or 0.0, before.brier or 0.0, flat.brier or 0.0)  # fmt: skip


def _more(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)


def _rooms(state: c.State, p: int) -> tuple[Longs, Longs]:
    """[n] whole devices free, and lent, on the pool's nodes that are up."""
    part = slice(int(state.pool[p, c.P_LOW]), int(state.pool[p, c.P_HIGH]))
    up = state.node[part, c.N_UP] > 0
    return state.node[part, c.N_WHOLE] * up, (state.lent[part] == c.WHOLE).sum(axis=1) * up


def _gpus(row: Longs) -> int:
    return max(1, int(row[c.J_WORKERS] * row[c.J_GPUS] * row[c.J_MILLI]) // c.WHOLE)


def _job(row: Longs, now_s: int) -> Job:
    """A running job's work so far counts as done; nothing is known of its true length."""
    running = row[c.J_STATUS] in (c.RUNNING, c.LEAVING)
    done = int(row[c.J_SAVED]) + (max(0, now_s - int(row[c.J_STARTED])) if running else 0)
    return Job(_gpus(row), int(row[c.J_GPUS]), int(row[c.J_ESTIMATE]), done, max(0, now_s - int(row[c.J_ARRIVAL])))


if __name__ == "__main__":
    main()
