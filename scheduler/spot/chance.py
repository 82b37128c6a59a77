"""The chance that an ask starts within a time, from what was seen of its GPU model and who stands in the line.

What there will be is drawn from the past (``supply``), how long others run from how much of their stated time runs
used before, and newcomers from those of late; the line is then run through (``line``).  Raw chances are shares of the
drawn runs; ``calibration`` turns them into chances that held.  What too little is known of is None, with why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.snapshot import Bools, Longs
from scheduler.spot.calibration import SAME, Curve
from scheduler.spot.line import ANY, NEVER, Others, Probe, first_starts
from scheduler.spot.supply import Floats, Past, paths

HORIZONS_S = (900, 3600, 21_600)
DRAWS = 200
MOST_AHEAD = 500  # of those who wait; nobody further behind is before an ask within hours
LEAST_NEWCOMERS_S = 3600  # newcomers are drawn from at least so long a past
ASSUMES = (
    "what is free or lent goes on as on days that were seen, from today's level",
    "others ask as often as of late, and stand behind those who wait",
    "others run for as much of their stated time as runs did before",
)


@dataclass(frozen=True, slots=True)
class Job:
    """Spot work of others on one GPU model.  ``done_s`` of its stated ``run_s``; ``ago_s``: asked so long ago."""

    gpus: int
    gpus_per_pod: int
    run_s: int
    done_s: int = 0
    ago_s: int = 0
    looked_at: bool = True  # of one that waits: no seats were found for it


@dataclass(frozen=True, slots=True)
class Standing:
    """One GPU model now.  ``used``: of past runs, the part of the stated time that they took; none: all of it.

    ``newcomers`` were asked within the last ``looked_s``.  ``fit``: by GPUs per pod, the part of what is free on which
    such pods find room.
    """

    supply: int  # GPUs: free, lent, and held by spot work
    running: tuple[Job, ...] = ()
    ahead: tuple[Job, ...] = ()
    newcomers: tuple[Job, ...] = ()
    looked_s: int = 0
    used: tuple[float, ...] = ()
    fit: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """``raw`` and ``held``: by horizon in seconds, as drawn and as calibrated; None where ``why`` says so.

    ``late`` [k, t]: runs in which one who asks at step t would start at once; steps of ``step_s``.
    """

    raw: Mapping[int, float | None]
    held: Mapping[int, float | None]
    why: str = ""
    late: Bools | None = None
    step_s: int = 0

    def asked_in(self, wait_s: int, horizon_s: int) -> float | None:
        """Of one who asks so much later, within the horizon from then on; raw."""
        if self.late is None:
            return None
        first, last = wait_s // self.step_s, (wait_s + horizon_s) // self.step_s
        if last >= self.late.shape[1]:
            return None
        return _share(int(self.late[:, first : last + 1].any(axis=1).sum()), len(self.late))


def chances(
    past: Past,
    standing: Standing,
    probe: Probe,
    *,
    seed: int,
    horizons_s: Sequence[int] = HORIZONS_S,
    reach_s: int = 0,
    curves: Mapping[int, Curve] | None = None,
    ahead: Longs | None = None,
    draws: int = DRAWS,
) -> Chances:
    """``reach_s``: how far ``asked_in`` is to reach, as far as the past allows; ``ahead`` as ``supply.paths``.

    A horizon for which too little was seen is None, the shorter ones are known; what would start at once is told
    without any past.  Equal input, equal answer.
    """
    rng = np.random.default_rng(seed)
    wanted = sorted({*horizons_s, reach_s} - {0}, reverse=True)
    for reach in wanted:
        steps = -(-reach // past.step_s)
        drawn = paths(past, standing.supply, steps, draws, rng, None if ahead is None else ahead[: steps + 1])
        if drawn is not None:
            break
    else:
        # What comes is not known; whether it starts at once needs no past
        drawn, reach = np.full((1, 1), standing.supply, np.int64), 0
    found, late = first_starts(drawn, _others(standing, past.step_s, drawn.shape, rng), np.array(probe, np.float64))
    raw: dict[int, float | None] = {}
    for horizon in horizons_s:
        started = int(((found != NEVER) & (found * past.step_s <= horizon)).sum())
        known = horizon <= reach or (not reach and started)
        raw[horizon] = _share(started * draws // len(found), draws) if known else None
    held = {h: None if p is None else (curves or {}).get(h, SAME).apply(p) for h, p in raw.items()}
    return Chances(raw, _rising(held), "" if None not in raw.values() else _unseen(past), late, past.step_s)


def _share(count: int, draws: int) -> float:
    """Laplace's rule: no number of draws makes a thing certain."""
    return (count + 1) / (draws + 2)


def _rising(held: Mapping[int, float | None]) -> dict[int, float | None]:
    """A longer time never has the smaller chance, whatever each curve says."""
    best, found = 0.0, {}
    for horizon in sorted(held):
        value = held[horizon]
        if value is not None:
            best = max(best, value)
        found[horizon] = None if value is None else best
    return found


def _unseen(past: Past) -> str:
    hours = past.seen_s / 3600
    return f"what spot work could hold of {past.model} was seen for {hours:.1f} h, which is too short"


def _others(standing: Standing, step_s: int, shape: tuple[int, ...], rng: np.random.Generator) -> Others:
    jobs, used = [*standing.running, *standing.ahead[:MOST_AHEAD]], np.sort(np.array(standing.used or (1.0,)))
    draws, steps = shape
    new, first, arrives = _newcomers(standing, step_s, draws, steps, rng)
    fit = [standing.fit.get(job.gpus_per_pod, 1.0) for job in standing.newcomers]
    return Others(
        gpus=np.array([job.gpus for job in jobs], np.int64),
        fit=np.array([standing.fit.get(job.gpus_per_pod, 1.0) for job in jobs], np.float64),
        now=_now(standing, jobs),
        running=np.arange(len(jobs)) < len(standing.running),
        lasts=_lasts(jobs, used, step_s, draws, rng),
        first=first,
        new_gpus=np.array([job.gpus for job in standing.newcomers], np.int64)[new],
        new_fit=np.array(fit, np.float64)[new],
        new_lasts=_lasts(standing.newcomers, used, step_s, 1, rng)[0][new],
        arrives=arrives,
    )


def _now(standing: Standing, jobs: Sequence[Job]) -> Floats:
    """[j] GPUs that those ahead find now: by their part of what is free, and a pod too few, or they would not wait."""
    free = max(0, standing.supply - sum(job.gpus for job in standing.running))
    found = np.full(len(jobs), ANY)
    for at in range(len(standing.running), len(jobs)):
        job = jobs[at]
        if job.looked_at:
            found[at] = max(0.0, min(standing.fit.get(job.gpus_per_pod, 1.0) * free, job.gpus - job.gpus_per_pod))
    return found


def _lasts(jobs: Sequence[Job], used: Floats, step_s: int, draws: int, rng: np.random.Generator) -> Longs:
    """[k, j] Steps that each still runs: for a part of its stated time that is longer than what it has done.

    Who has run longer than any part that was seen runs until its stated time is over.
    """
    stated = np.array([job.run_s for job in jobs], np.float64)
    done = np.array([job.done_s for job in jobs], np.float64)
    least = np.searchsorted(used, done / np.maximum(stated, 1), side="right")
    at = least + (rng.random((draws, len(jobs))) * (len(used) - least)).astype(np.int64)
    part = np.append(used, 1.0)[np.minimum(at, len(used))]
    return np.asarray(np.maximum(np.ceil((part * stated - done) / step_s), 1), np.int64)


def _newcomers(
    standing: Standing, step_s: int, draws: int, steps: int, rng: np.random.Generator
) -> tuple[Longs, Longs, Longs]:
    """([m] like which newcomer of late, [k + 1] the first of each run, [m] step): Poisson in number, at any step."""
    mean = 0.0
    if standing.looked_s:
        mean = len(standing.newcomers) * steps * step_s / max(standing.looked_s, LEAST_NEWCOMERS_S)
    counts = rng.poisson(mean, draws)
    run = np.repeat(np.arange(draws), counts)
    arrives = rng.integers(1, max(2, steps), len(run))
    like = rng.integers(0, max(1, len(standing.newcomers)), len(run))
    order = np.lexsort((arrives, run))
    return like[order], np.append(0, np.cumsum(counts)).astype(np.int64), arrives[order].astype(np.int64)
