"""``slackline``: the core on files.  The one door of the core that reads files, looks at the clock and prints.

Exit 0 good, 1 the answer is no, 2 bad input.  With ``--json`` stdout holds exactly one JSON document; people's text and
progress bars then have stderr alone.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Never

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from scheduler.cluster.build import build, only_cluster, restrict
from scheduler.cluster.codec import read
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.params import ParamError, Params
from scheduler.consolidation.params import Progress as Reached
from scheduler.consolidation.planner import consolidate as plan_moves
from scheduler.consolidation.worth import at_rates
from scheduler.fragmentation.demand import parse_mix
from scheduler.fragmentation.report import Report, as_json, report
from scheduler.kubernetes.dump import read_dump
from scheduler.kubernetes.options import AUTO, Options, levels_of
from scheduler.kubernetes.unheld import Unheld, summary
from scheduler.plan.ask import one_goal
from scheduler.plan.plan import Plan
from scheduler.plan.told import goal_lines, plan_json
from scheduler.pricing.rates import stated
from scheduler.pricing.told import price_lines
from scheduler.worlds.generate import WORLDS
from scheduler.worlds.generate import generate as generate_world
from scheduler.worlds.openb import read_openb, read_shapes
from scheduler.worlds.tables import read_tables

NO, BAD_INPUT = 1, 2
SHOWN_ROWS = 40  # rows of a table for people; --json has them all
STREAM = Path("-")
OPTIONS = {"nodes": "--drain or --spare", "name": "--empty-domain, --make-room or --seat", "models": "--model"}

main = typer.Typer(
    name="slackline",
    help="See where the GPUs of a cluster are stuck, and plan how to free whole nodes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = Console(highlight=False, markup=False, emoji=False)
_err = Console(stderr=True, highlight=False, markup=False, emoji=False)

SnapshotFile = Annotated[
    Path, typer.Argument(metavar="SNAPSHOT", help="Snapshot file, slackline/snapshot/v1; - stdin.")
]
ClusterName = Annotated[str | None, typer.Option("--cluster", help="The cluster meant, where there are several.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
OutFile = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where the snapshot goes; - is stdout.")]
Seed = Annotated[int, typer.Option("--seed", help="Equal input and seed give the equal result.")]


@main.command()
def measure(
    snapshot: SnapshotFile,
    mix: Annotated[Path | None, typer.Option("--mix", help="JSON list of request classes; default: all pods.")] = None,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Say where the GPUs are and why the free ones cannot be used."""
    with _bad_input():
        found = report(_snapshot(snapshot, cluster), parse_mix(_bytes(mix)) if mix else None)
    if json:
        _print_json(as_json(found))
    else:
        _show_report(found)


@main.command()
def consolidate(
    snapshot: SnapshotFile,
    seed: Seed = 0,
    depth: Annotated[int, typer.Option(help="Longest chain of moves that make room for one another.")] = 3,
    rounds: Annotated[int, typer.Option(help="Rounds, each with partitions drawn anew.")] = 3,
    partition: Annotated[int, typer.Option(help="Nodes per partition.")] = 500,
    exact: Annotated[int, typer.Option("--exact-up-to", help="Nodes: larger clusters get no solver; 0: none.")] = 40,
    max_moves: Annotated[int | None, typer.Option(help="At most this many moves.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after this long with the plan so far.")] = None,
    drain: Annotated[list[str] | None, typer.Option(metavar="NODE", help="Move all pods off it; repeatable.")] = None,
    empty_domain: Annotated[str | None, typer.Option(metavar="NAME", help="Clear an ASW or other domain.")] = None,
    level: Annotated[str, typer.Option(help="Level of the domain; of what a spare shares, or cluster.")] = "",
    make_room: Annotated[str | None, typer.Option(metavar="SHAPE", help="Make room for it, such as 8G128C.")] = None,
    slots: Annotated[int, typer.Option(help="How often the shape is to fit.")] = 1,
    model: Annotated[list[str] | None, typer.Option(help="GPU model in scope; repeatable; default: all.")] = None,
    seat: Annotated[str | None, typer.Option(metavar="NS/NAME", help="Make a pending gang or pod fit.")] = None,
    spare: Annotated[str | None, typer.Option(metavar="NODE", help="Move a gang off it to a spare.")] = None,
    whole: Annotated[bool | None, typer.Option("--whole/--partly", help="All of the goal or nothing.")] = None,
    rate: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A rate of the price.")] = None,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Plan the moves that empty the most nodes, or reach another goal.  Ctrl-C stops with the valid plan so far."""
    with _bad_input():
        goal = one_goal(drain, empty_domain, level, make_room, slots, seat, spare, whole)
        params = Params(
            depth=depth, rounds=rounds, partition=partition, exact_up_to=exact, max_moves=max_moves, seconds=seconds,
            models=tuple(model or ()), goal=goal,
        )  # fmt: skip
        _check_seed(seed)
        said = stated(rate or ())
        world = _snapshot(snapshot, cluster)
        started = time.monotonic()
        with _progress() as tell:
            plan = plan_moves(world, params, seed=seed, progress=tell, clock=time.monotonic)
        plan, price = at_rates(plan, world, said)
        took = time.monotonic() - started
    if json:
        _print_json({**plan_json(plan, took), "price": price})
    else:
        _show_plan(plan, took, price)
    if plan.aim is not None and plan.aim.reached < plan.aim.wanted:
        raise typer.Exit(NO)


@main.command()
def convert(
    out: OutFile,
    openb: Annotated[
        tuple[Path, Path] | None, typer.Option("--openb", metavar="NODES PODS", help="Node and pod list of OpenB.")
    ] = None,
    tables: Annotated[
        tuple[Path, Path] | None, typer.Option("--csv", metavar="NODES PODS", help="nodes.csv and pods.csv.")
    ] = None,
    kubernetes: Annotated[
        Path | None, typer.Option(metavar="DUMP", help="Output of kubectl get nodes,pods,... -A -o json.")
    ] = None,
    load: Annotated[float, typer.Option(help="OpenB: GPUs asked for by the loaded pods, as a share of all.")] = 0.9,
    lock: Annotated[float, typer.Option(help="OpenB: share of the placed pods that are locked.")] = 0.4,
    seed: Seed = 0,
    taken_at: Annotated[str | None, typer.Option(help="CSV, Kubernetes: instant of the observation, RFC 3339.")] = None,
    cluster: Annotated[str, typer.Option(help="Kubernetes: what the cluster is called.")] = "default",
    levels: Annotated[str, typer.Option(help="Kubernetes: preset of network labels.")] = AUTO,
    skip_bad: Annotated[bool, typer.Option(help="Kubernetes: go on without objects that cannot be read.")] = False,
    json: AsJson = False,
) -> None:
    """Turn other files into a snapshot."""
    with _bad_input():
        _check_streams(out, json)
        _check_seed(seed)
        if [openb, tables, kubernetes].count(None) != 2:
            raise InputError("--openb, --csv, --kubernetes", None, "give one of them")
        unheld: tuple[Unheld, ...] = ()
        if kubernetes is not None:
            document, unheld = _from_kubernetes(kubernetes, cluster, taken_at, levels, skip_bad)
        elif openb is not None:
            files = [str(path) for path in openb]
            document = read_openb(
                *map(_bytes, openb), load=load, seed=seed, lock=lock, nodes_file=files[0], pods_file=files[1]
            )
        else:
            document = _from_tables(tables, taken_at)
        build(document)
        _write(out, document, json, unheld)


@main.command()
def generate(
    out: OutFile,
    world: Annotated[str, typer.Option(help=", ".join(WORLDS))],
    nodes: Annotated[int | None, typer.Option(help="Number of nodes; default: the world's own.")] = None,
    seed: Seed = 0,
    hour: Annotated[int, typer.Option(help="Hour of the day, 0 to 23; services sleep most at midnight.")] = 0,
    shapes: Annotated[Path | None, typer.Option(help="OpenB pod list to draw pods from.")] = None,
    json: AsJson = False,
) -> None:
    """Make a named world."""
    with _bad_input():
        _check_streams(out, json)
        drawn = read_shapes(_bytes(shapes), str(shapes)) if shapes else None
        _write(out, generate_world(world, nodes=nodes, seed=seed, hour=hour, shapes=drawn), json)


# Reading, writing, refusing


@contextmanager
def _bad_input() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        _refuse(error.path, error.value, error.reason)
    except ParamError as error:
        _refuse(OPTIONS.get(error.field, f"--{error.field.replace('_', '-')}"), error.value, error.reason)
    except OSError as error:
        _refuse(str(error.filename or "file"), None, error.strerror or str(error))


def _refuse(path: str, value: object, reason: str) -> Never:
    got = "" if value is None else f" (got {value!r})"
    sys.stderr.write(f"error: {_plain(path)}: {_plain(reason)}{_plain(got)}\n")
    raise typer.Exit(BAD_INPUT)


def _plain(text: str) -> str:
    """Text from a file without anything that would steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _bytes(path: Path) -> bytes:
    return sys.stdin.buffer.read() if path == STREAM else path.read_bytes()


def _snapshot(path: Path, cluster: str | None) -> Snapshot:
    whole = read(_bytes(path))
    return restrict(whole, only_cluster(whole, cluster))


def _from_tables(tables: tuple[Path, Path] | None, taken_at: str | None) -> Document:
    assert tables is not None
    if taken_at is None:
        raise InputError("--taken-at", None, "CSV files do not say when they were taken")
    nodes, pods = tables
    document, warnings = read_tables(
        _bytes(nodes), _bytes(pods), taken_at=taken_at, nodes_file=str(nodes), pods_file=str(pods)
    )
    for warning in warnings:
        sys.stderr.write(f"warning: {_plain(warning)}\n")
    return document


def _from_kubernetes(
    dump: Path, cluster: str, taken_at: str | None, levels: str, skip_bad: bool
) -> tuple[Document, tuple[Unheld, ...]]:
    """Without an instant the file's own is meant: kubectl wrote it when it had looked."""
    if taken_at is None:
        seconds = time.time() if dump == STREAM else dump.stat().st_mtime
        taken_at = datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
    options = Options(levels=levels_of(levels))
    reading = read_dump(_bytes(dump), cluster=cluster, taken_at=taken_at, options=options)
    if reading.bad and not skip_bad:
        more = f" and {len(reading.bad) - 1} more; --skip-bad goes on without them" if len(reading.bad) > 1 else ""
        raise InputError(str(dump), None, f"{reading.bad[0]}{more}")
    for bad in reading.bad:
        sys.stderr.write(f"warning: {_plain(str(bad))}\n")
    return reading.document, reading.unheld


def _check_streams(out: Path, json: bool) -> None:
    if json and out == STREAM:
        raise InputError("--json", None, "stdout already holds the snapshot")


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError("--seed", seed, "must be 0 or more")


def _write(out: Path, document: Document, json: bool, unheld: tuple[Unheld, ...] = ()) -> None:
    """Write a snapshot file and say what is in it, and what the format could not hold."""
    encoded = msgspec.json.encode(document)
    if out == STREAM:
        sys.stdout.buffer.write(encoded + b"\n")
        for what, done, count in summary(unheld):
            sys.stderr.write(f"warning: the format does not hold {what}: {count} {done}\n")
        return
    out.write_bytes(encoded)
    sizes: dict[str, Any] = {
        "file": str(out),
        "nodes": len(document.nodes),
        "gpus": sum(node.gpus for node in document.nodes),
        "pods": len(document.pods),
        "pending": sum(pod.node is None for pod in document.pods),
    }
    if json:
        _print_json(sizes | ({"unheld": unheld} if unheld else {}))
    else:
        _say(["{file}: {nodes} nodes, {gpus} GPUs, {pods} pods, {pending} pending".format(**sizes)])
        _show_table("Not held by the format", ("what", "done", "objects"), summary(unheld))


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.buffer.flush()


@contextmanager
def _progress() -> Iterator[Callable[[Reached], bool]]:
    """A bar on stderr if that is a terminal; the first Ctrl-C asks the planner to stop, the second one kills."""
    stopped: list[bool] = []

    def stop(*_: object) -> None:
        stopped.append(True)
        signal.signal(signal.SIGINT, before)

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[found]}")
    with Progress(*columns, console=_err, disable=not _err.is_terminal, transient=True) as bar:
        task = bar.add_task("planning", total=None, found="")

        def tell(at: Reached) -> bool:
            done = (at.round - 1) * at.partitions + at.partition
            found = f"round {at.round}, {at.emptied} nodes emptied, {at.moves} moves"
            bar.update(task, completed=done, total=at.rounds * at.partitions, found=found)
            return not stopped

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield tell
        finally:
            signal.signal(signal.SIGINT, before)


# Plans and reports for machines and for people


def _show_plan(plan: Plan, seconds: float, price: dict[str, Any] | None) -> None:
    before, after = plan.before, plan.after
    waves = plan.wave_of[-1] + 1 if plan.wave_of else 0
    lines = [
        f"plan {plan.digest()}",
        *goal_lines(plan),
        f"{_count(plan.net_emptied, 'node')} net emptied by {_count(len(plan.moves), 'move')}"
        f" in {_count(waves, 'wave')} ({seconds:.1f} s)",
        f"empty nodes {before.empty_nodes} -> {after.empty_nodes}, slack {before.slack_nodes} -> {after.slack_nodes}",
        f"no plan can {'net' if plan.aim is None else 'reach'} more than {plan.bound.net_upper}"
        f" (gap {plan.bound.gap:.1%})" + (", proven the best" if plan.bound.proven else ""),
        *(["no move is worth making"] if price is None else price_lines(price)),
        *plan.notes,
    ]
    _say(lines)
    moves = zip(plan.wave_of, plan.moves, strict=True)
    _show_table(
        "Moves", ("wave", "pod", "from", "to", "mode"), [(w + 1, m.pod, m.source, m.target, m.mode) for w, m in moves]
    )
    seats = () if plan.aim is None else plan.aim.seats
    _show_table("Seats", ("who", "node"), [(one.who, one.node) for one in seats])
    reasons: dict[str, int] = {}
    for kept in plan.kept:
        reasons[kept.reason] = reasons.get(kept.reason, 0) + 1
    _show_table("Nodes that stay", ("reason", "nodes"), sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


def _show_report(found: Report) -> None:
    document = as_json(found)
    _say([f"{name.replace('_', ' ')}: {value}" for name, value in document["totals"].items()])
    f_milli = document["fragmentation_milli"]
    _say([f"fragmentation F(M): {'unknown, nothing is asked' if f_milli is None else f'{f_milli / 1000:.1f} GPUs'}"])
    for pool in document["pools"]:
        causes = [c for c in pool["shapes"][0]["causes"] if any(s["causes"][c] for s in pool["shapes"])]
        rows = [
            (shape["shape"], _gpus(shape["usable"]), *(_gpus(shape["causes"][cause]) for cause in causes))
            for shape in pool["shapes"]
        ]
        title = "{gpu_model} in {cluster}: {nodes} nodes, {gpus} GPUs, {slack_nodes} slack, {empty_nodes} empty"
        _show_table(title.format(**pool), ("shape", "usable", *causes), rows)
    fits = [(fit["gpus"], fit["level"], fit["count"]) for fit in document["fits"]]
    _show_table("What fits now", ("GPUs", "level", "count"), fits)
    _say([f"warning: {warning}" for warning in document["warnings"]])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _gpus(milli: int) -> str:
    return f"{milli / 1000:g}" if milli % 1000 else f"{milli // 1000}"


def _say(lines: list[str]) -> None:
    for line in lines:
        _out.print(_plain(line), soft_wrap=True)


def _show_table(title: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        return
    table = Table(title=Text(_plain(title)), title_justify="left")
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows[:SHOWN_ROWS]:
        table.add_row(*(Text("–" if cell is None else _plain(str(cell))) for cell in row))
    _out.print(table)
    if len(rows) > SHOWN_ROWS:
        _say([f"... and {len(rows) - SHOWN_ROWS} more; --json has all"])
