"""``slackline explain``."""

from typing import Annotated, Any

import typer

from scheduler.admission.planner import Explained, Explanation
from scheduler.admission.planner import explain as explain_all
from scheduler.admission.reasons import LABELS
from scheduler.admission.told import exact, rows_json
from scheduler.advice.told import remedies_json
from scheduler.advice.unblock import Limits, solved, unblock
from scheduler.cli.files import read_snapshot
from scheduler.cli.options import AsJson, ClusterName, Seed, SnapshotFile
from scheduler.cli.refusing import bad_input, check_seed
from scheduler.cli.screen import print_json, say, show_table
from scheduler.cluster.errors import InputError

PLANNED = 8  # jobs for which moves are planned where all are asked about; of one job they always are


def explain(
    snapshot: SnapshotFile,
    pod: Annotated[str | None, typer.Option(metavar="NS/NAME", help="One pending pod or gang; default: all.")] = None,
    moves: Annotated[
        bool | None, typer.Option("--moves/--no-moves", help="Plan moves for each; default: where few are asked about.")
    ] = None,
    seed: Seed = 0,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Say why each pending job waits, and what would make it start."""
    with bad_input():
        check_seed(seed)
        found = explain_all(read_snapshot(snapshot, cluster), seed=seed)
        rows = _asked(found, pod)
        document = {
            "pods": [one for i, row in enumerate(rows) for one in _told(found, row, _plans(moves, pod, i), seed)],
            "totals": dict(found.totals),
        }
    if json:
        print_json(document)
    else:
        _show(document)


def _asked(found: Explained, key: str | None) -> tuple[Explanation, ...]:
    if key is None:
        return found.rows
    row = found.row(key)
    if row is None:
        raise InputError("--pod", key, "no pending pod or gang of this name")
    return (row,)


def _plans(moves: bool | None, pod: str | None, position: int) -> bool:
    return moves if moves is not None else pod is not None or position < PLANNED


def _told(found: Explained, row: Explanation, moves: bool, seed: int) -> list[dict[str, Any]]:
    remedies = unblock(found, row, limits=Limits(moves=moves), seed=seed)
    advice = remedies_json(remedies)
    solution = solved(row, remedies) or None  # None: nothing is in its way
    return [{**one, "unblock": advice, "solution": solution} for one in rows_json(found, row)]


def _show(document: dict[str, Any]) -> None:
    say([f"{LABELS[word]}: {count}" for word, count in document["totals"].items()])
    rows = [
        (one["pod"], exact(one["gpu_milli"]), LABELS[one["reason"]], one["sentence"],
         "\n".join(remedy["detail"] for remedy in one["unblock"]))
        for one in document["pods"]
    ]  # fmt: skip
    show_table("Pending", ("pod", "GPUs of the job", "reason", "why", "what would help"), rows)
