"""Replays on the virtual clock: the twin of the spot trace (row R1), and an ASI-like fleet with consolidation (C7).

    python -m benchmarks.replaying [--share 1.0] [--nodes 400] [--days 60] [--seeds 1] [--only r1|c7]

Seconds are CPU seconds of the loop with its samples and of nothing else; kernels are compiled before.  C7 compares the
paper's rule (its placement order, IPC of depth 3, 5 rounds, partitions of 500 once a day) with ours: slack nodes, and
the GPU-hours for which two copies of a pod ran; beside them no moves at all, every move that helps, and what no rule
could undercut.
"""

import argparse
import resource
import time
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.replay.asi import asi_trace
from scheduler.replay.loop import Outcome, replay
from scheduler.replay.report import report
from scheduler.replay.rules import C7_ALWAYS, C7_OURS, C7_TWICE, NAMED, Rules
from scheduler.replay.sampling import S_FREE, S_UP
from scheduler.replay.sources import SPOT_TWIN, drawn_trace
from scheduler.replay.trace import Trace
from scheduler.replay.tradeoff import interval
from scheduler.replay.warm import warm_up

R1_POLICIES = ("ours", "greedy")
SLACK = "slack nodes %"
C7_NEVER = replace(NAMED["paper"], name="the paper's order alone", consolidate_every_s=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", choices=("r1", "c7"))
    options = parser.parse_args()
    warm_up()
    out = Console(width=160)
    if options.only != "c7":
        out.print(_speed(options.share))
        out.print(f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")
    if options.only != "r1":
        out.print(_slack(options.nodes, options.days, options.seeds))


def _speed(share: float) -> Table:
    table = Table("policy", "jobs", "events", "CPU s", "HP %", "HP+LP %", "evictions", title="R1: the twin, 184 days")
    trace = drawn_trace(SPOT_TWIN, seed=0, share=share)
    for name in R1_POLICIES:
        outcome, took = _timed(trace, NAMED[name], 0)
        found = report(outcome)
        cells = f"{found.allocation_hp * 100:.1f}", f"{found.allocation * 100:.1f}"
        evicted = sum(one.evictions for one in found.classes)
        events = int(outcome.state.clock[4])
        table.add_row(name, f"{len(trace.work):,}", f"{events:,}", f"{took:.1f}", *cells, f"{evicted:,}")
    return table


def _slack(nodes: int, days: int, seeds: int) -> Table:
    """Means over seeds with the half of Student's 95 % interval; "below" is against the paper's rule, seed by seed."""
    heads = ("policy", SLACK, "below the paper's rule", "moved GPU-h", "moves", "HP+LP %", "CPU s")
    table = Table(*heads, title=f"C7: asi, {nodes} nodes, {days} days, {seeds} seeds")
    rows: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(seeds):
        trace = asi_trace(nodes=nodes, days=days, seed=seed)
        for rules in (C7_NEVER, NAMED["paper"], C7_OURS, C7_TWICE, C7_ALWAYS):
            outcome, took = _timed(trace, rules, seed)
            found = report(outcome)
            moved = (found.moved_gpu_hours, float(found.moves), found.allocation * 100, took)
            rows.setdefault(rules.name, []).append((found.slack_nodes * 100, *moved))
        rows.setdefault("no fewer by any rule", []).append((_fewest(outcome) * 100, 0.0, 0.0, 0.0, 0.0))
    paper = [row[0] for row in rows["paper"]]
    for name, runs in rows.items():
        below = [theirs - row[0] for theirs, row in zip(paper, runs, strict=True)]
        cells = [
            _with_spread([row[at] for row in runs], digits) for at, digits in ((0, 2), (1, 1), (2, 0), (3, 1), (4, 1))
        ]
        table.add_row(name, cells[0], _with_spread(below, 2), *cells[1:])
    return table


def _fewest(outcome: Outcome) -> float:
    """Share of nodes: where what a pool holds does not fill whole nodes, one is slack, wherever things stand."""
    held = outcome.series.pools[:, :, S_UP] - outcome.series.pools[:, :, S_FREE]
    pools = range(len(outcome.world.pools))
    step = np.array([np.gcd.reduce(outcome.world.gpus[outcome.world.pool == pool]) for pool in pools]) * WHOLE_GPU_MILLI
    return float((held % np.maximum(step, 1) > 0).sum(axis=1).mean() / len(outcome.world.names))


def _with_spread(values: list[float], digits: int) -> str:
    found = interval(values)
    spread = "" if found.low is None or found.high is None else f" ± {(found.high - found.low) / 2:,.{digits}f}"
    return f"{found.mean:,.{digits}f}{spread}"


def _timed(trace: Trace, rules: Rules, seed: int) -> tuple[Outcome, float]:
    begun = time.process_time()
    outcome = replay(trace.world, trace.work, rules, seed=seed, until_s=trace.until_s)
    return outcome, time.process_time() - begun


if __name__ == "__main__":
    main()
