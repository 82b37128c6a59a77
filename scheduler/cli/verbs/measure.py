"""``slackline measure``."""

from pathlib import Path
from typing import Annotated

import typer

from scheduler.cli.files import read_bytes, read_snapshot
from scheduler.cli.options import AsJson, ClusterName, SnapshotFile
from scheduler.cli.refusing import bad_input
from scheduler.cli.screen import gpus_of, print_json, say, show_table
from scheduler.fragmentation.demand import parse_mix
from scheduler.fragmentation.report import Report, as_json, report


def measure(
    snapshot: SnapshotFile,
    mix: Annotated[Path | None, typer.Option("--mix", help="JSON list of request classes; default: all pods.")] = None,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Say where the GPUs are and why the free ones cannot be used."""
    with bad_input():
        found = report(read_snapshot(snapshot, cluster), parse_mix(read_bytes(mix)) if mix else None)
    if json:
        print_json(as_json(found))
    else:
        _show_report(found)


def _show_report(found: Report) -> None:
    document = as_json(found)
    say([f"{name.replace('_', ' ')}: {value}" for name, value in document["totals"].items()])
    f_milli = document["fragmentation_milli"]
    say([f"fragmentation F(M): {'unknown, nothing is asked' if f_milli is None else f'{f_milli / 1000:.1f} GPUs'}"])
    for pool in document["pools"]:
        causes = [c for c in pool["shapes"][0]["causes"] if any(s["causes"][c] for s in pool["shapes"])]
        rows = [
            (shape["shape"], gpus_of(shape["usable"]), *(gpus_of(shape["causes"][cause]) for cause in causes))
            for shape in pool["shapes"]
        ]
        title = "{gpu_model} in {cluster}: {nodes} nodes, {gpus} GPUs, {slack_nodes} slack, {empty_nodes} empty"
        show_table(title.format(**pool), ("shape", "usable", *causes), rows)
    fits = [(fit["gpus"], fit["level"], fit["count"]) for fit in document["fits"]]
    show_table("What fits now", ("GPUs", "level", "count"), fits)
    say([f"warning: {warning}" for warning in document["warnings"]])
