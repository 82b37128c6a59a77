"""Consolidation on named worlds: CPU seconds, what it wins, and how far that is from the bound.

    python -m benchmarks.consolidation [--nodes 20000] [--runs 3] [--shapes PODS.csv] [--world NAME ...] [--growth]

CPU seconds are those of ``consolidate`` alone, judge and reasons included: the median over ``--runs`` seeds of the
planner, and their spread.  Compilation is over before the first of them.  "first" is the CPU time from the call until
the search holds a first node's moves, which is what a caller who stops it gets back; "MB" is the growth of the
process's resident memory at its peak; "process" is a whole ``slackline consolidate FILE --json``, start, reading and
printing included.  ``--growth`` plans 1/20, 1/10, 1/4, 1/2 and all of the nodes, and fits the exponent.  The world
openb70c needs ``--shapes``, the trace's pod list.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from scheduler.cluster.build import build
from scheduler.cluster.codec import write
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.planner import Params, Progress, consolidate
from scheduler.plan.plan import Plan
from scheduler.worlds.generate import generate
from scheduler.worlds.openb import read_shapes
from scheduler.worlds.shapes import Shape

WORLDS = ("small78", "llm78", "llm90", "uniform8", "openb70c")
MODES = {"default": Params(), "K 3 x 5": Params(rounds=5), "1 x 1": Params(depth=1, rounds=1)}
HEADINGS = ("world", "mode", "pods", "CPU s", "spread", "first", "MB", "process", "net", "moves", "bound", "gap")
PARTS = (20, 10, 4, 2, 1)
PROCESS = "from scheduler.cli import main; main()"


@dataclass(slots=True)
class Watch:
    """Notes when the search holds its first moves, and whether it ever went back."""

    started: float
    first: float | None = None
    best: int = 0
    worse: bool = False

    def __call__(self, now: Progress) -> bool:
        if self.first is None and now.moves:
            self.first = time.process_time() - self.started
        self.worse = self.worse or now.emptied < self.best
        self.best = max(self.best, now.emptied)
        return True


def main() -> None:
    options = _options()
    shapes = read_shapes(options.shapes.read_bytes()) if options.shapes else None
    _warm_up()
    console = Console(width=140)
    table = Table(*HEADINGS, title=f"{options.nodes:,} nodes, {options.runs} seeds of the planner")
    for world in options.world or [name for name in WORLDS if shapes or name != "openb70c"]:
        if options.growth:
            console.print(_growth(world, options.nodes, options.runs, shapes))
            continue
        snapshot = _world(world, options.nodes, shapes)
        process = _process(snapshot)
        for mode, params in MODES.items():
            table.add_row(world, mode, *_cells(snapshot, params, options.runs, process if mode == "default" else None))
    if not options.growth:
        console.print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shapes", type=Path)
    parser.add_argument("--world", action="append")
    parser.add_argument("--growth", action="store_true")
    return parser.parse_args()


def _warm_up() -> None:
    consolidate(_world("small78", 250, None), Params())


def _world(world: str, nodes: int, shapes: Sequence[Shape] | None) -> Snapshot:
    return build(generate(world, nodes=nodes, seed=0, shapes=shapes if world == "openb70c" else None))


def _plan(snapshot: Snapshot, params: Params, seed: int) -> tuple[float, Plan, Watch]:
    watch = Watch(time.process_time())
    plan = consolidate(snapshot, params, seed=seed, progress=watch)
    return time.process_time() - watch.started, plan, watch


def _cells(snapshot: Snapshot, params: Params, runs: int, process: float | None) -> list[str]:
    before = _memory(reset=True)
    found = [_plan(snapshot, params, seed) for seed in range(runs)]
    added = _memory(reset=False) - before
    seconds = [took for took, _, _ in found]
    firsts = [watch.first for _, _, watch in found if watch.first is not None]
    if any(watch.worse for _, _, watch in found):
        raise RuntimeError("a plan became worse with more time")
    plans = [plan for _, plan, _ in found]
    net = statistics.median(plan.net_emptied for plan in plans)
    bound = plans[0].bound.net_upper
    return [
        f"{int(snapshot.pod_live.sum()):,}",
        f"{statistics.median(seconds):.2f}",
        f"{max(seconds) - min(seconds):.2f}",
        f"{statistics.median(firsts):.2f}" if firsts else "-",
        f"{added:.0f}",
        "" if process is None else f"{process:.1f}",
        f"{net:,.0f}",
        f"{statistics.median(len(plan.moves) for plan in plans):,.0f}",
        f"{bound:,}",
        f"{(bound - net) / bound if bound else 0:.1%}",
    ]


def _memory(*, reset: bool) -> float:
    """Resident MB: the peak since the last reset, which a reset sets to what is there now."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise RuntimeError("no peak of memory in /proc/self/status")
    return int(found[1]) / 1024


def _process(snapshot: Snapshot) -> float:
    """CPU seconds of the whole command on a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snapshot.json")
        path.write_bytes(write(snapshot))
        before = os.times()
        command = [sys.executable, "-c", PROCESS, "consolidate", str(path), "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _growth(world: str, nodes: int, runs: int, shapes: Sequence[Shape] | None) -> str:
    """CPU seconds over the number of nodes, and the slope of their logarithms."""
    sizes = [nodes // part for part in PARTS]
    medians = []
    for size in sizes:
        snapshot = _world(world, size, shapes)
        medians.append(statistics.median(_plan(snapshot, Params(), seed)[0] for seed in range(runs)))
    exponent = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
    steps = ", ".join(f"{size:,}: {took:.2f}" for size, took in zip(sizes, medians, strict=True))
    return f"{world}: CPU s at {steps}; exponent {exponent:.2f}"


if __name__ == "__main__":
    main()
