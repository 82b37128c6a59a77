"""``slackline replay``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from scheduler.cli.options import AsJson, Seed
from scheduler.cli.refusing import bad_input, check_seed
from scheduler.cli.screen import print_json, say, show_table
from scheduler.cluster.errors import InputError
from scheduler.replay.accounts import quota_rows
from scheduler.replay.columns import GROUNDS
from scheduler.replay.loop import replay as run_policy
from scheduler.replay.report import Report, Spread, report
from scheduler.replay.report import as_json as report_json
from scheduler.replay.rules import NAMED, Ways, named
from scheduler.replay.sources import DRAWN, drawn_trace, trace_of, with_standby
from scheduler.replay.trace import Trace
from scheduler.replay.tradeoff import FIGURES, UPWARD, Interval, Standing, as_json, compare, figures_of, standings

SUFFIXES = (".csv", ".json")


def replay(
    trace: Annotated[str, typer.Argument(help=f"Folder or files of a trace, or {', '.join(DRAWN)}.")],
    policy: Annotated[list[str], typer.Option("--policy", help=f"Repeatable: {', '.join(NAMED)}.")],
    seed: Seed = 0,
    runs: Annotated[int, typer.Option(help="Seeds per policy, from --seed on; intervals need two.")] = 1,
    share: Annotated[float, typer.Option(help="Drawn traces: share of their jobs.")] = 1.0,
    fail_days: Annotated[float, typer.Option(help="Mean days between failures of a node; 0: none.")] = 0.0,
    standby: Annotated[
        float | None, typer.Option(help="Share of all GPUs asleep at midnight, drawn; without it as the trace has it.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Let a trace arrive again under one policy or several, and compare what comes of it."""
    with bad_input():
        check_seed(seed)
        if runs < 1:
            raise InputError("--runs", runs, "must be 1 or more")
        rules = [named(name) for name in dict.fromkeys(policy)]
        ways = Ways(fail_mean_s=round(fail_days * 86_400))
        source = _trace(trace, seed, share, standby)
        quota = quota_rows(source.tenants, source.work.tenants, source.world.pools)
        done = [
            run_policy(source.world, source.work, rule, ways, seed=seed + turn, until_s=source.until_s, quota=quota)
            for rule in rules
            for turn in range(runs)
        ]
    reports = [report(outcome) for outcome in done]
    table = standings([(one.policy, figures_of(outcome, one)) for outcome, one in zip(done, reports, strict=True)])
    pairs = [compare(done[0], done[at]) for at in range(runs, len(done), runs)]
    if json:
        print_json(_document(source, reports, table, pairs))
    else:
        _show(source, reports, table, pairs)


def _trace(name: str, seed: int, share: float, standby: float | None) -> Trace:
    found = _read(name, seed, share)
    return found if standby is None else with_standby(found, standby)


def _read(name: str, seed: int, share: float) -> Trace:
    path = Path(name)
    if path.is_dir():
        files = {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.suffix in SUFFIXES}
        return trace_of(path.name, files)
    if path.is_file():
        return trace_of(path.name, {path.name: path.read_bytes()})
    return drawn_trace(name, seed=seed, share=share)


def _document(source: Trace, reports: list[Report], table: tuple[Standing, ...], pairs: list[Any]) -> dict[str, Any]:
    return {
        "trace": {
            "name": source.name,
            "jobs": len(source.work),
            "nodes": len(source.world.names),
            "gpus": int(source.world.gpus.sum()),
            "seconds": source.until_s,
            "notes": source.notes,
        },
        "runs": [report_json(one) for one in reports],
        "figures": [as_json(one) for one in table],
        "comparisons": [as_json(one) for one in pairs],
    }


def _show(source: Trace, reports: list[Report], table: tuple[Standing, ...], pairs: list[Any]) -> None:
    gpus = int(source.world.gpus.sum())
    say([f"{source.name}: {len(source.work):,} jobs, {len(source.world.names):,} nodes, {gpus:,} GPUs"])
    say([f"  {note}" for note in source.notes])
    rows = [
        (
            one.policy,
            one.seed,
            f"{one.allocation_hp:.1%}",
            f"{one.allocation:.1%}",
            f"{one.slack_nodes:.1%}",
            *(_delays(of_class.delay_s.p50, of_class.delay_s.p90, of_class.delay_s.p99) for of_class in one.classes),
            sum(of_class.evictions for of_class in one.classes),
            f"{sum(of_class.lost_gpu_hours for of_class in one.classes):,.0f}",
        )
        for one in reports
    ]
    columns = ("policy", "seed", "HP", "HP+LP", "slack nodes", "HP delay s", "LP delay s", "evictions", "lost GPU-h")
    show_table("Runs (delays are P50 / P90 / P99)", columns, rows)
    _show_gangs(reports)
    _show_left(reports)
    marks = tuple(f"{name} {'▲' if name in UPWARD else '▼'}" for name in FIGURES)
    show_table(
        "Trade-off: means over seeds ± half of Student's 95 % interval; * nobody is better on all five",
        ("policy", *marks),
        [(f"{one.policy}{' *' if one.efficient else ''}", *map(_told, one.figures.values())) for one in table],
    )
    for pair in pairs:
        say(
            [
                f"{pair.second} against {pair.first}: of {pair.jobs:,} jobs"
                f" {pair.sooner:,} wait less, {pair.later:,} more"
            ]
        )
        hours = [(tier, *(f"{value:+,.0f}" for value in parts.values())) for tier, parts in pair.hours.items()]
        show_table("Hours of waiting, by cause", ("tier", *next(iter(pair.hours.values()))), hours)


def _show_gangs(reports: list[Report]) -> None:
    """Mean, P50 and P90 of gangs as they were placed; those of whom it is not known are counted beside."""
    rows = [
        (
            one.policy,
            one.seed,
            of_size.gpus,
            of_size.gangs,
            of_size.unknown_topology,
            _spread(of_size.entropy, ".2f"),
            _spread(of_size.all_reduce_ms, ",.1f"),
            _spread(of_size.bus_gb_per_s, ",.0f"),
        )
        for one in reports
        for of_size in one.gangs
    ]
    columns = ("policy", "seed", "GPUs", "gangs", "no known switch", "entropy nats", "all-reduce 1 GiB ms", "bus GB/s")
    if rows:
        show_table("Gangs as they were placed (mean / P50 / P90 of those whose topology is known)", columns, rows)


def _spread(one: Spread, form: str) -> str | None:
    parts = (one.mean, one.p50, one.p90)
    return " / ".join(format(part, form) for part in parts if part is not None) or None


def _show_left(reports: list[Report]) -> None:
    """Who was told to leave on which ground; standby; who was refused."""
    rows = [
        (one.policy, one.seed, *(f"{ground.jobs:,} ({ground.lost_gpu_hours:,.0f})" for ground in one.grounds))
        for one in reports
    ]
    show_table("Jobs told to leave, or stopped by a failure (GPU-hours lost)", ("policy", "seed", *GROUNDS), rows)
    for one in reports:
        sleeps, sliced = one.standby, sum(of_class.sliced for of_class in one.classes)
        if sleeps.jobs:
            serving = _delays(sleeps.serving_p50_s, sleeps.serving_p95_s, sleeps.serving_p99_s) or "nobody called"
            say([f"{one.policy}: standby {sleeps.reserved_gpu_hours:,.0f} GPU-h, {sleeps.lent_gpu_hours:,.0f} of them"
                 f" lent; {sleeps.calls:,} calls, serving after {serving} s (P50 / P95 / P99)"])  # fmt: skip
        if sliced:
            say([f"{one.policy}: {sliced:,} jobs on MIG slices refused: slices are not replayed"])


def _delays(p50: float | None, p90: float | None, p99: float | None) -> str | None:
    return None if p50 is None else f"{p50:,.0f} / {p90:,.0f} / {p99:,.0f}"


def _told(one: Interval) -> str | None:
    if one.mean is None:
        return None
    if one.low is None or one.high is None:
        return f"{one.mean:,.4g}"
    half, above = one.mean - one.low, one.high - one.mean
    if abs(above - half) > 1e-6 * max(half, above):  # cut by what is possible
        return f"{one.mean:,.4g} ({one.low:,.3g} to {one.high:,.3g})"
    return f"{one.mean:,.4g} ± {half:,.3g}"
