"""Tables and rows S1 to S4 of what the runs of spot worlds showed; an interval is Student's, 95 %, over seeds."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from rich.table import Table

from benchmarks._spot_runs import Figures
from scheduler.replay.tradeoff import interval

type Runs = Sequence[Mapping[str, Figures]]  # one per seed, by policy
HEADS = (
    *("demand", "policy", "kept % of bound", "held % of bound", "HP %", "HP+LP %", "standby %", "LP done h", "waits h"),
    *("lost GPU-h", "told to leave %", "HP P90 s", "HP late %"),
)
RATE = 100.0
HOUR_S = 3600.0


def shown_table(world: str, runs: Mapping[float, Runs]) -> Table:
    table = Table(*HEADS, title=f"{world}: {_seeds(runs)} seeds")
    for demand, found in runs.items():
        for policy in found[0]:
            mine = [one[policy] for one in found]
            table.add_row(
                f"{demand:g}",
                policy,
                _of([RATE * one.kept_of_bound for one in mine], 1),
                _of([RATE * one.run_of_bound for one in mine], 1),
                _of([RATE * one.allocation_hp for one in mine], 1),
                _of([RATE * one.allocation for one in mine], 1),
                _of([RATE * one.standby for one in mine], 0),
                _of([one.completion_s / HOUR_S for one in mine], 2),
                _of([one.waited_s / HOUR_S for one in mine], 2),
                _of([one.lost for one in mine], 0),
                _of([RATE * one.eviction_rate for one in mine], 1),
                _of([one.hp_p90_s for one in mine], 0),
                _of([RATE * one.hp_late for one in mine], 1),
            )
    return table


def rows_table(world: str, runs: Mapping[float, Runs], alone: Sequence[Figures]) -> Table:
    table = Table("row", "demand", "what", "found", "target", "met", title=f"{world}: rows S1 to S4")
    for demand, found in runs.items():
        for row, what, values, digits, target, met in _rows(found, alone):
            table.add_row(row, f"{demand:g}", what, _of(values, digits), target, "yes" if met else "NO")
    return table


def _rows(found: Runs, alone: Sequence[Figures]) -> list[tuple[str, str, list[float], int, str, bool]]:
    ours = [one["ours"] for one in found]
    kept = [RATE * one.kept_of_bound for one in ours]
    later = [one.hp_p90_s - other.hp_p90_s for one, other in zip(ours, alone, strict=True)]
    errors = [RATE * one.error for one in ours if one.errors]
    rows = [
        ("S1", "LP GPU-hours that count, % of the clairvoyant bound", kept, 1, ">= 95", _mean(kept) >= 95),
        ("S2", "HP delay P90 with LP less without, s", later, 1, "<= 1, whole interval", _high(later) <= 1),
        ("S2", "foreseen against lost, median error %", errors, 1, "<= 20", bool(errors) and _mean(errors) <= 20),
    ]  # fmt: skip
    for what, other, of, target in (
        ("LP completion against the baseline, %", "baseline", _completion, -30.0),
        ("lost GPU-hours against the baseline, %", "baseline", _lost, -30.0),
        ("LP completion against the paper's rule, %", "paper", _completion, 0.0),
        ("lost GPU-hours against the paper's rule, %", "paper", _lost, 0.0),
    ):
        values = _against(found, other, of)
        rows.append(("S3", what, values, 1, f"<= {target:g}", _mean(values) <= target))
    for what, of in (("LP runs told to leave, less GFS's, points", _rate), ("LP waiting, less GFS's, hours", _waits)):
        less = [of(one["ours"]) - of(one["gfs"]) for one in found]
        rows.append(("S4", what, less, 2, "< 0, whole interval", _high(less) < 0))
    return rows


def _completion(one: Figures) -> float:
    return one.completion_s


def _lost(one: Figures) -> float:
    return one.lost


def _rate(one: Figures) -> float:
    return RATE * one.eviction_rate


def _waits(one: Figures) -> float:
    return one.waited_s / HOUR_S


def _against(found: Runs, other: str, of: Callable[[Figures], float]) -> list[float]:
    return [RATE * (of(one["ours"]) / max(1e-9, of(one[other])) - 1) for one in found]


def recall_table(found: Mapping[tuple[str, str], Sequence[int]]) -> Table:
    """By law of exit times and by who is called: seconds from notice to serving."""
    table = Table("exits", "called", "calls", "P50 s", "P95 s", "P99 s", "last s", "target", "met", title="S2: recall")
    for (law, called), seconds in found.items():
        if not len(seconds):
            table.add_row(law, called, "0", "-", "-", "-", "-", "", "")
            continue
        p50, p95, p99 = np.quantile(np.asarray(seconds), [0.5, 0.95, 0.99], method="higher")
        bound = called == "one" and law == "paper"
        met = ("yes" if p99 <= 75 else "NO") if bound else ""
        cells = (f"{p50:.0f}", f"{p95:.0f}", f"{p99:.0f}", f"{max(seconds):.0f}")
        table.add_row(law, called, f"{len(seconds):,}", *cells, "P99 <= 75" if bound else "", met)
    return table


def _seeds(runs: Mapping[float, Runs]) -> int:
    return len(next(iter(runs.values()), ()))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _high(values: Sequence[float]) -> float:
    """The upper end of the interval; of one seed its value."""
    found = interval(list(values))
    return float("nan") if found.mean is None else found.mean if found.high is None else found.high


def _of(values: Sequence[float], digits: int) -> str:
    found = interval(list(values))
    if found.mean is None:
        return "-"
    spread = "" if found.low is None or found.high is None else f" ± {(found.high - found.low) / 2:,.{digits}f}"
    return f"{found.mean:,.{digits}f}{spread}"
