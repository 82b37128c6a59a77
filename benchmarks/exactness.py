"""Consolidation against the proven optimum: without the solver (chains, and new places), with it, and a plain ILP.

    python -m benchmarks.exactness [--worlds 20] [--nodes 25 50 100] [--large-worlds 1] [--world NAME ...]
        [--plain-up-to 25] [--shapes CSV] [--openb NODES PODS]

Worlds with the seeds 0, 1, ...; plan seed 0.  For each planner: worlds whose plan its own bound proves; then, against
the bound of the exact stage, net emptied of all worlds, the furthest that any is below, and worlds that reach it; moves
over the fewest that the solver proves for as many nodes, in proven worlds whose plan empties as many; CPU seconds of
the call without the proof of blockers: median, spread (largest less smallest) and worst.  Compilation is over before.

The plain ILP has one binary for each pod and node that may run it, and HiGHS; it knows CPU, memory, GPU milli, slots
and anti-affinity, no devices and no order of moves.  "ended" counts the worlds where it did within
``--plain-seconds``.
openb70c is drawn from the trace's pods: ``--shapes``, else from SLACKLINE_SHARED, else it is left out.
``--openb`` adds the trace itself, its own nodes with its own pods in order of creation to 70 % of the GPUs, 40 % of
them locked: every twelfth node, which the exact stage can take, and all of them, which is beyond it.

A second table holds the rows C2 to C5 of the performance sheet to their targets.  C2 compares with proven optima, C3
and C4 with bounds, which may lie above the optimum; "worlds from to" is the least and the most of single worlds.
"""

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from ortools.linear_solver.python import model_builder
from rich.console import Console
from rich.table import Table

from benchmarks import _targets
from benchmarks._targets import FRACTIONAL, LARGE, Result, Row
from scheduler.cluster.build import build
from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.arena import compile_arena
from scheduler.consolidation.bound import net_upper
from scheduler.consolidation.columns import NONE
from scheduler.consolidation.exact import Model, Part
from scheduler.consolidation.kinds import GPU_MILLI, Kinds, kinds_of
from scheduler.consolidation.params import MAX_EXACT
from scheduler.consolidation.planner import Params, unproven
from scheduler.consolidation.polish import polish
from scheduler.consolidation.relaxation import as_linear
from scheduler.consolidation.rounds import Search, switches
from scheduler.plan.plan import Plan
from scheduler.worlds.generate import generate
from scheduler.worlds.openb import read_openb, read_shapes
from scheduler.worlds.shapes import Shape

WORLDS = ("llm78", "small78", FRACTIONAL)
SHAPES = Path("data", "openb", "openb_pod_list_default.csv")
SILENT = "output_flag=false"  # else HiGHS writes between the lines of the tables
HEADINGS = (
    "world",
    "nodes",
    "planner",
    "proven",
    "net / bound",
    "below",
    "at bound",
    "moves",
    "CPU s",
    "spread",
    "worst",
)


def main() -> None:
    options = _options()
    shapes = read_shapes(options.shapes.read_bytes()) if options.shapes else None
    _result(_world("small78", 30, 0, None), 30)
    table = Table(*HEADINGS, title="Against the bound of the exact stage")
    targets = Table(*_targets.HEADINGS, title="Rows of the performance sheet")
    for world in options.world or [name for name in WORLDS if shapes or name != FRACTIONAL]:
        for nodes, worlds in _sizes(options, world):
            limit = options.plain_seconds if nodes <= options.plain_up_to else None
            rows = [_row(_world(world, nodes, seed, shapes), limit) for seed in range(worlds)]
            for cells in _cells(rows, asked=limit is not None):
                table.add_row(world, str(nodes), *cells)
            for cells in _targets.lines(world, nodes, rows):
                targets.add_row(*cells)
    for every in (12, 1) if options.openb else ():
        snapshots = [_trace(options.openb, every, seed) for seed in range(options.large_worlds)]
        rows = [_row(snapshot, None) for snapshot in snapshots]
        for cells in _cells(rows, asked=False):
            table.add_row("OpenB itself", str(len(snapshots[0].node_name)), *cells)
    console = Console(width=150)
    console.print(table)
    console.print(targets)


def _sizes(options: argparse.Namespace, world: str) -> Iterator[tuple[int, int]]:
    """Nodes, and how many worlds of that size."""
    yield from ((nodes, options.worlds) for nodes in options.nodes)
    if world != FRACTIONAL and options.large_worlds:
        yield LARGE, options.large_worlds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--nodes", type=int, nargs="*", default=[25, 50, 100])
    parser.add_argument("--large-worlds", type=int, default=1)
    parser.add_argument("--world", action="append")
    parser.add_argument("--plain-up-to", type=int, default=25)
    parser.add_argument("--plain-seconds", type=float, default=60.0)
    parser.add_argument("--shapes", type=Path, default=shared_shapes())
    parser.add_argument("--openb", type=Path, nargs=2, metavar=("NODES", "PODS"))
    return parser.parse_args()


def _trace(lists: Sequence[Path], every: int, seed: int) -> Snapshot:
    """Every so many nodes of the trace's list, loaded with the first of its pods; the seed draws the locks."""
    nodes, pods = lists
    heading, *lines = nodes.read_bytes().splitlines(keepends=True)
    chosen = b"".join([heading, *lines[::every]])
    return build(read_openb(chosen, pods.read_bytes(), load=0.7, seed=seed, lock=0.4))


def shared_shapes() -> Path | None:
    """The trace's pod list in SLACKLINE_SHARED, if it is there."""
    path = Path(os.environ.get("SLACKLINE_SHARED", ""), SHAPES)
    return path if path.is_file() else None


def _world(world: str, nodes: int, seed: int, shapes: Sequence[Shape] | None) -> Snapshot:
    return build(generate(world, nodes=nodes, seed=seed, shapes=shapes if world == FRACTIONAL else None))


def _row(snapshot: Snapshot, plain_seconds: float | None) -> Row:
    chains, _ = _result(snapshot, 0)
    exact, plan = _result(snapshot, MAX_EXACT)
    plain = None if plain_seconds is None else _plain(snapshot, plain_seconds)
    return Row(plan.bound.net_upper, _fewest(snapshot) if exact.proven else 0, chains, exact, plain)


def _result(snapshot: Snapshot, exact_up_to: int) -> tuple[Result, Plan]:
    begun = time.process_time()
    plan = unproven(snapshot, Params(exact_up_to=exact_up_to), 0, None, None)
    took = time.process_time() - begun
    return Result(plan.net_emptied, len(plan.moves), plan.bound.proven, took), plan


def _fewest(snapshot: Snapshot) -> int:
    """What the exact stage proves of the moves, which plans do not say."""
    compiled = compile_arena(snapshot, np.ones(len(snapshot.node_name), np.bool_))
    search = Search(compiled, Params(), 0, switches(snapshot), net_upper(snapshot, compiled))
    search.run()
    return polish(search, snapshot).fewest


def _plain(snapshot: Snapshot, limit: float) -> Result | None:
    compiled = compile_arena(snapshot, np.ones(len(snapshot.node_name), np.bool_))
    pods = _each_alone(kinds_of(compiled.arena, borrowers(snapshot)))
    everywhere = Part(frozenset(range(len(pods.first))), np.ones(len(snapshot.node_name), np.bool_))
    model = Model(compiled, pods, snapshot.node_usable, everywhere)
    weight = len(pods.first) + 1
    model.rules.minimize(model.moves - weight * model.net)
    begun = time.process_time()
    solver = model_builder.Solver("highs")
    solver.set_time_limit_in_seconds(limit)
    solver.set_solver_specific_parameters(SILENT)
    if solver.solve(as_linear(model.rules, whole=True)) != model_builder.SolveStatus.OPTIMAL:
        return None
    value, took = round(solver.objective_value), time.process_time() - begun
    return Result(-(value // weight), value % weight, True, took)


def _each_alone(kinds: Kinds) -> Kinds:
    """Every pod a kind of its own, and no other resources than those that are asked for."""
    rows = np.flatnonzero(kinds.of != NONE)
    of = kinds.of.copy()
    of[rows] = np.arange(len(rows))
    plain = slice(0, GPU_MILLI + 1)
    return replace(kinds, of=of, first=rows, asks=kinds.asks[kinds.of[rows], plain], free=kinds.free[:, plain])


def _cells(rows: Sequence[Row], *, asked: bool) -> Iterator[list[str]]:
    """One line for each planner; ``asked``: the plain ILP, too."""
    yield ["chains", *_line([(row, row.chains) for row in rows], len(rows))]
    yield ["exact", *_line([(row, row.exact) for row in rows], len(rows))]
    if asked:
        ended = [(row, row.plain) for row in rows if row.plain is not None]
        yield [f"plain ILP, ended {len(ended)}", *(_line(ended, len(rows)) if ended else [])]


def _line(pairs: Sequence[tuple[Row, Result]], worlds: int) -> list[str]:
    upper, net = sum(row.upper for row, _ in pairs), sum(result.net for _, result in pairs)
    known = [(row.fewest, result.moves) for row, result in pairs if row.fewest and result.net == row.upper]
    took = [result.seconds for _, result in pairs]
    return [
        f"{sum(result.proven for _, result in pairs)} of {worlds}",
        f"{net / upper:.1%}" if upper else "-",
        str(max(row.upper - result.net for row, result in pairs)),
        f"{sum(result.net == row.upper for row, result in pairs)} of {worlds}",
        f"{sum(moves for _, moves in known) / sum(least for least, _ in known):.3f} ({len(known)})" if known else "-",
        f"{statistics.median(took):.2f}",
        f"{max(took) - min(took):.2f}",
        f"{max(took):.2f}",
    ]


if __name__ == "__main__":
    main()
