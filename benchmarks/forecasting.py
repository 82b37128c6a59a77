"""Forecasts of HP demand (row S4's half): the library against GFS's rule and last week's peak, on the same hours.

    python -m benchmarks.forecasting [--seeds 10] [--days 7] [--only twin|asi]

Worlds: the twin of the spot trace from day 60 on, and the ASI-like fleet whose services sleep around midnight.  HP
demand is what HP jobs ask for, from arrival to the end of their run time; a sleeping service asks for nothing.  36 days
are there to learn from, the last 7 are forecast hour by hour, 1 to 4 hours ahead, and all learn anew every day.
"over GFS": pinball loss of a model's pool over that of GFS's rule, mean over models; below 1 is better.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.asi import asi_trace
from scheduler.replay.sources import with_standby
from scheduler.replay.standby import PEAK
from scheduler.replay.trace import Trace
from scheduler.spot.backtest import Backtest, BacktestParams, Score, backtest, interval
from scheduler.spot.forecast import FORECASTERS, GFS
from scheduler.spot.peaks import Peaks, Series, peaks_in
from scheduler.worlds.spot_trace import twin_jobs

LEARNT_DAYS = 36
TWIN_FROM_DAY, ASI_FROM_DAY, ASI_NODES = 60, 8, 400
DAY_H, DAY_S, WHOLE = 24, 86_400, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--only", choices=("twin", "asi"))
    options = parser.parse_args()
    out = Console(width=180)
    for world, peaks in (("twin", twin_peaks), ("asi", asi_peaks)):
        if options.only in (None, world):
            begun = time.process_time()
            found = [
                backtest(peaks(seed, options.days), BacktestParams(days=options.days)) for seed in range(options.seeds)
            ]
            hours = f"{found[0].score(GFS).hours:,} hours judged a seed"
            title = f"{world}: seeds 0 to {options.seeds - 1}, {options.days} days, {hours}"
            out.print(totals(found, title))
            out.print(by_model(found, f"{world}: pinball, GPUs, and coverage per GPU model, means over seeds"))
            out.print(f"{time.process_time() - begun:,.0f} CPU s")


def totals(found: list[Backtest], title: str) -> Table:
    heads = (
        "forecaster",
        "pinball 0.9, GPUs",
        "less GFS, paired",
        "over GFS",
        "coverage %",
        "tenants' pinball, summed",
        "tenants <, <= %",
    )
    table = Table(*heads, title=title)
    for word in FORECASTERS:
        scores, ratios = [one.score(word) for one in found], [_ratio(one, word) for one in found]
        less = [(one.score(word).pinball or 0) - (one.score(GFS).pinball or 0) for one in found]
        tenants = [next(row for row in one.tenants if row.forecaster == word) for one in found]
        table.add_row(
            word,
            _spread([one.pinball for one in scores], 3),
            "" if word == GFS else _spread(less, 3),
            "" if word == GFS else _spread(ratios, 3),
            _spread([(one.coverage or 0) * 100 for one in scores], 1),
            _spread([one.pinball for one in tenants], 1),
            ", ".join(f"{np.mean(column) * 100:.1f}" for column in zip(*_bracket(tenants), strict=True)),
        )
    return table


def by_model(found: list[Backtest], title: str) -> Table:
    table = Table(
        "GPU model", *(f"{word} {what}" for word in FORECASTERS for what in ("pinball", "cover %")), title=title
    )
    for model in sorted({model for one in found for model in one.models}):
        cells = []
        for word in FORECASTERS:
            scores = [one.score(word, model) for one in found if model in one.models]
            known = [one for one in scores if one.pinball is not None]
            cells += [f"{np.mean([one.pinball for one in known]):.2f}" if known else "unknown"]
            cells += [f"{np.mean([one.coverage for one in known]) * 100:.1f}" if known else "unknown"]
        table.add_row(model, *cells)
    return table


def _bracket(tenants: list[Score]) -> list[tuple[float, float]]:
    """Where peaks often equal the quantile: the share truly below it, and the share at or below."""
    return [(one.below, one.coverage) for one in tenants if one.below is not None and one.coverage is not None]


def _ratio(found: Backtest, word: str) -> float:
    pairs = [(found.score(word, model).pinball, found.score(GFS, model).pinball) for model in found.models]
    return float(np.mean([ours / theirs for ours, theirs in pairs if ours is not None and theirs]))


def _spread(values: list[float | None] | list[float], digits: int) -> str:
    known = [one for one in values if one is not None]
    mean, low, high = interval(known)
    if mean is None or len(known) < len(values):
        return "unknown"
    half = "" if low is None or high is None else f" ± {(high - low) / 2:,.{digits}f}"
    return f"{mean:,.{digits}f}{half} ({min(known):,.{digits}f} to {max(known):,.{digits}f})"


def twin_peaks(seed: int, days: int) -> Peaks:
    jobs = twin_jobs(seed)
    hp = np.flatnonzero(~jobs.spot)
    names = [Series(jobs.model[at], jobs.organisation[at]) for at in hp]
    milli = np.rint(jobs.gpu[hp] * WHOLE).astype(np.int64) * jobs.workers[hp]
    begin, end = jobs.submit_s[hp], jobs.submit_s[hp] + jobs.duration_s[hp]
    return _peaks(names, begin, end, milli, TWIN_FROM_DAY, days)


def asi_peaks(seed: int, days: int) -> Peaks:
    trace = with_standby(asi_trace(nodes=ASI_NODES, days=ASI_FROM_DAY + LEARNT_DAYS + days + 1, seed=seed), PEAK)
    asked = trace.work.asked[trace.work.asked[:, c.J_TIER] == c.HP]
    names = _names(trace, asked)
    spans = [(at, begin, end) for at, row in enumerate(asked) for begin, end in _awake(row)]
    at, begin, end = (np.array(column, np.int64) for column in zip(*spans, strict=True))
    milli = (asked[:, c.J_WORKERS] * asked[:, c.J_GPUS] * asked[:, c.J_MILLI])[at]
    return _peaks([names[row] for row in at], begin, end, milli, ASI_FROM_DAY, days)


def _names(trace: Trace, asked: Longs) -> list[Series]:
    """By the first pool that the job may use; whole models would need one pool each."""
    pools = [(int(mask) & -int(mask)).bit_length() - 1 for mask in asked[:, c.J_POOLS]]
    return [
        Series(trace.world.pools[pool][1], trace.work.tenants[tenant])
        for pool, tenant in zip(pools, asked[:, c.J_TENANT].tolist(), strict=True)
    ]


def _awake(row: Longs) -> list[tuple[int, int]]:
    """What is left of a job's run beside its nightly windows."""
    begin, end = int(row[c.J_ARRIVAL]), int(row[c.J_ARRIVAL] + row[c.J_DURATION])
    length, at = int(row[c.J_SLEEP_S]), int(row[c.J_SLEEP_AT])
    if length <= 0:
        return [(begin, end)]
    spans, here = [], begin
    for day in range(begin // DAY_S - 1, end // DAY_S + 1):
        low, high = day * DAY_S + at, day * DAY_S + at + length
        if low > here and here < end:
            spans.append((here, min(low, end)))
        here = max(here, high)
    return [*spans, (here, end)] if here < end else spans


def _peaks(names: list[Series], begin: Longs, end: Longs, milli: Longs, from_day: int, days: int) -> Peaks:
    series = tuple(sorted(set(names)))
    place = {one: at for at, one in enumerate(series)}
    row = np.array([place[one] for one in names], np.int64)
    hours = (LEARNT_DAYS + days) * DAY_H
    return peaks_in(series, row, begin, end, milli, begin_s=from_day * DAY_S, hours=hours)


if __name__ == "__main__":
    main()
