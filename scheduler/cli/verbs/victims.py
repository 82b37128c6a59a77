"""``slackline victims``."""

from typing import Annotated, Any

import typer

from scheduler.admission.claims import claimed
from scheduler.admission.jobs import pending_jobs
from scheduler.admission.quota import book_of
from scheduler.admission.told import victims_json
from scheduler.cli.files import read_snapshot
from scheduler.cli.options import NO, AsJson, ClusterName, SnapshotFile
from scheduler.cli.refusing import bad_input
from scheduler.cli.screen import print_json, say, show_table
from scheduler.cluster.errors import InputError, within
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.exit_times import LAWS, law_named
from scheduler.performance.stopping import TERMS, StopCosts
from scheduler.placement.victims import VictimRules

LATEST_S = 1 << 40  # later, and earlier, than any clock


def victims(
    snapshot: SnapshotFile,
    pod: Annotated[str, typer.Option(metavar="NS/NAME", help="The pending pod or gang that needs room.")],
    now: Annotated[
        int | None, typer.Option(metavar="S", help="Instant on the snapshot's clock; default: its own.")
    ] = None,
    assumed_age: Annotated[
        int,
        typer.Option(
            "--assumed-age",
            help="Seconds of work lost by a job that reports no checkpoint; less where those that report lose less.",
        ),
    ] = 1_800,
    law: Annotated[
        str, typer.Option(metavar="LAW", help=f"How long hooks take of which nothing is known: {', '.join(LAWS)}.")
    ] = "paper",
    lost_only: Annotated[
        bool, typer.Option("--lost-only", help="Choose by lost work alone, not by all that stopping costs.")
    ] = False,
    guaranteed: Annotated[
        bool, typer.Option("--guaranteed", help="Where nobody else is enough, also within guaranteed run times.")
    ] = False,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Say whose end would let a pod or gang start, and what that loses.  Nobody is stopped."""
    with bad_input({"assumed_age_s": "--assumed-age", "now_s": "--now", "law": "--law"}):
        if now is not None:
            within("now_s", now, -LATEST_S, LATEST_S)
        rules = VictimRules(
            assumed_age_s=assumed_age,
            whole_cost=not lost_only,
            guaranteed_last=guaranteed,
            costs=StopCosts(law=law_named(law)),
        )
        document = _found(read_snapshot(snapshot, cluster), pod, now, rules)
    if json:
        print_json(document)
    else:
        _show(document)
    if not document["ok"]:
        raise typer.Exit(NO)


def _found(snapshot: Snapshot, key: str, now_s: int | None, rules: VictimRules) -> dict[str, Any]:
    for job in pending_jobs(snapshot, eligibility(snapshot).pod_class):
        if job.key == key or any(snapshot.pod_key(p) == key for p in job.pods):
            return victims_json(snapshot, claimed(snapshot, job, book_of(snapshot), now_s=now_s, rules=rules))
    raise InputError("--pod", key, "no pending pod or gang of this name")


def _show(document: dict[str, Any]) -> None:
    say([document["detail"]])
    rows = [
        (one["pod"], one["node"], one["gpu_seconds"], one["terms"]["gpus"], one["terms"]["lost_s"],
         one["terms"]["ground"], one["terms"]["part"], one["total_gpu_seconds"])
        for one in document["victims"]
    ]  # fmt: skip
    columns = ("pod", "node", "GPU-seconds lost", "GPUs", "seconds lost", "ground", "part", "GPU-seconds in all")
    show_table("Victims", columns, rows)
    parts = [(one["pod"], *(round(one["terms"][name]) for name in TERMS)) for one in document["victims"]]
    show_table("What it costs in all, GPU-seconds", ("pod", *TERMS), parts)
    if document["waiting_for"]:
        until = document["held_until_s"]
        say([f"leaving already: {', '.join(document['waiting_for'])} (until {'unknown' if until is None else until})"])
