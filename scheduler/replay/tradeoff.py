"""Policies beside one another: five figures with intervals over seeds, who is beaten on all, why jobs differ."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.replay import columns as c
from scheduler.replay.loop import Outcome
from scheduler.replay.report import LARGE_GPUS, Report

FIGURES = ("utilisation", "fairness", "large_start_s", "serving_s", "disturbance")
MEANINGS = {
    "utilisation": "share of GPU time that did work which counted: held less lost",
    "fairness": "Jain's index over what each tenant was served of what it asked for",
    "large_start_s": f"P90 of seconds until a job of {LARGE_GPUS} GPUs or more starts, those still waiting included",
    "serving_s": "P99 of seconds until an HP job of fewer GPUs starts, or a sleeper serves again",
    "disturbance": "jobs told to leave, killed or moved, per 1,000 starts",
}
UPWARD = frozenset({"utilisation", "fairness"})  # more is better; of the others less
# Figures of the trade-off and of reports that are at most 1; none of them is below 0.
SHARES = frozenset(
    {
        *("utilisation", "fairness", "allocation", "allocation_hp", "slack_nodes", "empty_nodes"),
        *("gangs_under_one_asw", "under_one_asw", "share_of_time"),
    }
)
# Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond, the next lower one listed is used.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 14: 2.145, 19: 2.093}
BEYOND_T_95 = (29, 2.045)
SHOWN_JOBS = 20


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean over seeds with Student's t interval of 95 % for that mean, inside what is possible; none from one seed."""

    mean: float | None
    low: float | None
    high: float | None
    runs: int


@dataclass(frozen=True, slots=True)
class Standing:
    policy: str
    figures: dict[str, Interval]
    efficient: bool  # nobody is as good on all five and better on one


@dataclass(frozen=True, slots=True)
class Difference:
    """One job under two policies, seconds; cause: of what it waited longer (or less) for, the largest part."""

    job: str
    tier: str
    gpus: float
    first: float | None
    second: float | None
    cause: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of jobs that started under both.  Hours are of waiting, second less first, by cause and tier."""

    first: str
    second: str
    jobs: int
    sooner: int
    later: int
    hours: dict[str, dict[str, float]]
    largest: tuple[Difference, ...]


def figures_of(outcome: Outcome, found: Report) -> dict[str, float | None]:
    """The five figures of one run; None where the trace has nothing to say it of."""
    job, pool = outcome.state.job, outcome.state.pool
    size = job[:, c.J_WORKERS] * job[:, c.J_GPUS] * job[:, c.J_MILLI]
    came = (job[:, c.J_STATUS] != c.NEVER) & (job[:, c.J_ARRIVAL] <= outcome.until_s)
    delay = np.where(job[:, c.J_FIRST] != c.NONE, job[:, c.J_FIRST], outcome.until_s) - job[:, c.J_ARRIVAL]
    large, hp = size >= LARGE_GPUS * c.WHOLE, job[:, c.J_TIER] == c.HP
    serving = np.concatenate([delay[came & hp & ~large], job[job[:, c.J_WAKE] > 0, c.J_SLOWEST]])
    held = float(pool[:, c.P_HP_TIME].sum() + pool[:, c.P_LP_TIME].sum() - job[:, c.J_LOST].sum())
    starts = max(1, int(outcome.state.clock[c.C_STARTS]))
    disturbed = int(job[:, c.J_EVICTIONS].sum() + job[:, c.J_FAILURES].sum() + job[:, c.J_MOVES].sum())
    return {
        "utilisation": held / max(1.0, float(pool[:, c.P_UP_TIME].sum())),
        "fairness": found.fairness,
        "large_start_s": float(np.quantile(delay[came & large], 0.9)) if (came & large).any() else None,
        "serving_s": float(np.quantile(serving, 0.99)) if len(serving) else None,
        "disturbance": disturbed * 1000 / starts,
    }


def interval_of(figure: str, values: Sequence[float]) -> Interval:
    """Of a figure of a run (no difference of two): it is never below 0, and a share at most 1."""
    return interval(sorted(values), 0.0, 1.0 if figure in SHARES else math.inf)


def interval(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Interval:
    """``least`` and ``most`` are the ends of what the figure can be: few seeds that differ say nothing beyond."""
    count = len(values)
    if not count:
        return Interval(None, None, None, 0)
    mean = math.fsum(values) / count
    if count == 1:
        return Interval(mean, None, None, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    known = [degrees for degrees in T_95 if degrees <= count - 1]
    half = (BEYOND_T_95[1] if count - 1 >= BEYOND_T_95[0] else T_95[known[-1]]) * deviation / math.sqrt(count)
    return Interval(mean, min(mean, max(least, mean - half)), max(mean, min(most, mean + half)), count)


def standings(runs: Sequence[tuple[str, dict[str, float | None]]]) -> tuple[Standing, ...]:
    """One per policy, in order of first mention; the order of runs does not matter to the figures."""
    names = tuple(dict.fromkeys(name for name, _ in runs))
    table = {}
    for name in names:
        mine = [figures for policy, figures in runs if policy == name]
        table[name] = {
            figure: interval_of(figure, [value for one in mine if (value := one[figure]) is not None])
            for figure in FIGURES
        }
    return tuple(
        Standing(name, table[name], not any(_beats(table[other], table[name]) for other in names)) for name in names
    )


def _beats(one: dict[str, Interval], other: dict[str, Interval]) -> bool:
    better = False
    for figure in FIGURES:
        ours, theirs = one[figure].mean, other[figure].mean
        if ours is None or theirs is None:
            continue
        if (ours < theirs) if figure in UPWARD else (ours > theirs):
            return False
        better = better or ours != theirs
    return better


def compare(first: Outcome, second: Outcome) -> Comparison:
    """Job by job.  Raises InputError where the two did not have the same work."""
    if first.work.names != second.work.names:
        raise InputError("runs", None, "the two runs have different jobs: there is nothing to compare")
    one, other = first.state.job, second.state.job
    both = (one[:, c.J_FIRST] != c.NONE) & (other[:, c.J_FIRST] != c.NONE)
    change = other[:, c.J_WAITED] - one[:, c.J_WAITED]
    parts = other[:, c.J_CAUSE : c.J_MARK] - one[:, c.J_CAUSE : c.J_MARK]
    rows = np.flatnonzero(both & (change != 0))
    order = rows[np.lexsort((rows, -np.abs(change[rows])))][:SHOWN_JOBS]
    return Comparison(
        first=first.rules.name,
        second=second.rules.name,
        jobs=int(both.sum()),
        sooner=int((change[both] < 0).sum()),
        later=int((change[both] > 0).sum()),
        hours={
            tier: {
                cause: float(parts[both & (one[:, c.J_TIER] == at), k].sum() / 3600) for k, cause in enumerate(c.CAUSES)
            }
            for at, tier in ((c.HP, "HP"), (c.LP, "LP"))
        },
        largest=tuple(_difference(first, second, row, parts[row]) for row in order.tolist()),
    )


def _difference(first: Outcome, second: Outcome, row: int, parts: np.ndarray) -> Difference:
    one, other = first.state.job[row], second.state.job[row]
    later = other[c.J_WAITED] >= one[c.J_WAITED]
    return Difference(
        job=first.work.names[row],
        tier=("HP", "LP")[int(one[c.J_TIER])],
        gpus=float(one[c.J_WORKERS] * one[c.J_GPUS] * one[c.J_MILLI]) / c.WHOLE,
        first=float(one[c.J_WAITED]),
        second=float(other[c.J_WAITED]),
        cause=c.CAUSES[int(np.argmax(parts if later else -parts))],
    )


def as_json(found: Standing | Comparison) -> dict[str, object]:
    return asdict(found)
