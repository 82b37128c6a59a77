"""Replays on the virtual clock: the twin of the spot trace (row R1), and an ASI-like fleet with consolidation (C7).

    python -m benchmarks.replaying [--share 1.0] [--nodes 400] [--days 60] [--seeds 1] [--only r1|c7]

Seconds are CPU seconds of the loop with its samples and of nothing else; kernels are compiled before.  C7 compares the
paper's rule (its placement order, IPC of depth 3, 5 rounds, partitions of 500 once a day) with ours: slack nodes, and
the GPU-hours for which two copies of a pod ran.
"""

import argparse
import resource
import time

from rich.console import Console
from rich.table import Table

from scheduler.replay.asi import asi_trace
from scheduler.replay.loop import Outcome, replay
from scheduler.replay.report import report
from scheduler.replay.rules import C7_OURS, NAMED, Rules
from scheduler.replay.sources import SPOT_TWIN, drawn_trace
from scheduler.replay.trace import Trace
from scheduler.replay.warm import warm_up

R1_POLICIES = ("ours", "greedy")
SLACK = "slack nodes %"


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
    table = Table("policy", "seed", SLACK, "moved GPU-h", "moves", "HP+LP %", "CPU s", title=f"C7: asi, {nodes} nodes")
    for seed in range(seeds):
        trace = asi_trace(nodes=nodes, days=days, seed=seed)
        for rules in (NAMED["paper"], C7_OURS):
            outcome, took = _timed(trace, rules, seed)
            found = report(outcome)
            table.add_row(
                rules.name,
                str(seed),
                f"{found.slack_nodes * 100:.2f}",
                f"{found.moved_gpu_hours:,.0f}",
                f"{found.moves:,}",
                f"{found.allocation * 100:.1f}",
                f"{took:.1f}",
            )
    return table


def _timed(trace: Trace, rules: Rules, seed: int) -> tuple[Outcome, float]:
    begun = time.process_time()
    outcome = replay(trace.world, trace.work, rules, seed=seed, until_s=trace.until_s)
    return outcome, time.process_time() - begun


if __name__ == "__main__":
    main()
