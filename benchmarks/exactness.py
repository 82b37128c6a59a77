"""Consolidation against the proven optimum: the exact stage beside the chains alone, on small named worlds.

    python -m benchmarks.exactness [--worlds 20] [--nodes 25 50 100] [--world NAME ...] [--shapes PODS.csv]

For each size: worlds whose plan is proven by its own bound; then, against the bound of the exact stage, net emptied of
all worlds, the furthest that any is below, and worlds that reach it; moves over those of the exact stage, where both
empty as many nodes; CPU seconds of the call without the proof of blockers, median and worst.  Compilation is over
before the first call.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scheduler.cluster.build import build
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.params import MAX_EXACT
from scheduler.consolidation.planner import Params, unproven
from scheduler.plan.plan import Plan
from scheduler.worlds.generate import generate
from scheduler.worlds.openb import read_shapes
from scheduler.worlds.shapes import Shape

WORLDS = ("llm78", "small78")
HEADINGS = (
    "world",
    "nodes",
    "planner",
    "proven",
    "net / bound",
    "furthest",
    "at the bound",
    "moves / exact",
    "CPU s",
    "worst",
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One world planned twice."""

    chains: Plan
    exact: Plan
    seconds: tuple[float, float]  # chains alone, with the exact stage


def main() -> None:
    options = _options()
    shapes = read_shapes(options.shapes.read_bytes()) if options.shapes else None
    _pair(_world("small78", 30, 0, None))
    table = Table(*HEADINGS, title=f"{options.worlds} worlds of each size")
    for world in options.world or WORLDS:
        for nodes in options.nodes:
            pairs = [_pair(_world(world, nodes, seed, shapes)) for seed in range(options.worlds)]
            for row in _rows(pairs):
                table.add_row(world, str(nodes), *row)
    Console(width=140).print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--nodes", type=int, nargs="+", default=[25, 50, 100])
    parser.add_argument("--world", action="append")
    parser.add_argument("--shapes", type=Path)
    return parser.parse_args()


def _world(world: str, nodes: int, seed: int, shapes: Sequence[Shape] | None) -> Snapshot:
    return build(generate(world, nodes=nodes, seed=seed, shapes=shapes if world == "openb70c" else None))


def _pair(snapshot: Snapshot) -> Pair:
    chains, alone = _timed(snapshot, 0)
    exact, both = _timed(snapshot, MAX_EXACT)
    return Pair(chains, exact, (alone, both))


def _timed(snapshot: Snapshot, exact_up_to: int) -> tuple[Plan, float]:
    begun = time.process_time()
    plan = unproven(snapshot, Params(exact_up_to=exact_up_to), 0, None, None)
    return plan, time.process_time() - begun


def _rows(pairs: Sequence[Pair]) -> Iterator[list[str]]:
    """One row for the chains, one for the exact stage."""
    bounds = [pair.exact.bound.net_upper for pair in pairs]
    for position, name in enumerate(("chains", "exact")):
        plans = [(pair.chains, pair.exact)[position] for pair in pairs]
        net = [plan.net_emptied for plan in plans]
        equal = [pair for pair in pairs if pair.chains.net_emptied == pair.exact.net_emptied]
        moves = sum(len((pair.chains, pair.exact)[position].moves) for pair in equal)
        took = [pair.seconds[position] for pair in pairs]
        yield [
            name,
            f"{sum(plan.bound.proven for plan in plans)} of {len(pairs)}",
            f"{sum(net) / max(1, sum(bounds)):.1%}",
            str(max(bound - one for bound, one in zip(bounds, net, strict=True))),
            f"{sum(bound == one for bound, one in zip(bounds, net, strict=True))} of {len(pairs)}",
            f"{moves / max(1, sum(len(pair.exact.moves) for pair in equal)):.3f}",
            f"{statistics.median(took):.2f}",
            f"{max(took):.2f}",
        ]


if __name__ == "__main__":
    main()
