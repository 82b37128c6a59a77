"""Consolidation on named worlds: CPU seconds, what it wins, and how far that is from the bound.

    python -m benchmarks.consolidation [--nodes 20000] [--runs 3] [--shapes PODS.csv] [--world NAME ...]

CPU seconds are those of ``consolidate`` alone, judge included: the median of the runs and their spread.  Compilation
is over before the first of them.  The world openb70c needs ``--shapes``, the trace's pod list.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scheduler.cluster.build import build
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.planner import Params, consolidate
from scheduler.plan.plan import Plan
from scheduler.worlds.generate import generate
from scheduler.worlds.openb import read_shapes
from scheduler.worlds.shapes import Shape

WORLDS = ("llm78", "small78", "openb70c")
MODES = {"K 3 x 5": Params(), "1 x 1": Params(depth=1, rounds=1)}
HEADINGS = ("world", "mode", "seed", "nodes", "pods", "CPU s", "spread", "emptied", "net", "moves", "bound", "gap")


def main() -> None:
    options = _options()
    shapes = read_shapes(options.shapes.read_bytes()) if options.shapes else None
    _warm_up()
    table = Table(*HEADINGS)
    for world in options.world or [name for name in WORLDS if shapes or name != "openb70c"]:
        snapshot = _world(world, options.nodes, options.seed, shapes)
        for mode, params in MODES.items():
            seconds, plan = _measure(snapshot, params, options.seed, options.runs)
            table.add_row(world, mode, str(options.seed), *_cells(snapshot, seconds, plan))
    Console(width=130).print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shapes", type=Path)
    parser.add_argument("--world", action="append")
    return parser.parse_args()


def _warm_up() -> None:
    consolidate(_world("small78", 50, 0, None), Params())


def _world(world: str, nodes: int, seed: int, shapes: Sequence[Shape] | None) -> Snapshot:
    return build(generate(world, nodes=nodes, seed=seed, shapes=shapes))


def _measure(snapshot: Snapshot, params: Params, seed: int, runs: int) -> tuple[list[float], Plan]:
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        plan = consolidate(snapshot, params, seed=seed)
        seconds.append(time.process_time() - start)
    return seconds, plan


def _cells(snapshot: Snapshot, seconds: list[float], plan: Plan) -> list[str]:
    pods = int(snapshot.pod_live.sum())
    numbers = len(plan.emptied_nodes), plan.net_emptied, len(plan.moves), plan.bound.net_upper
    return [
        f"{len(snapshot.node_name):,}",
        f"{pods:,}",
        f"{statistics.median(seconds):.2f}",
        f"{max(seconds) - min(seconds):.2f}",
        *(f"{number:,}" for number in numbers),
        f"{plan.bound.gap:.1%}",
    ]


if __name__ == "__main__":
    main()
