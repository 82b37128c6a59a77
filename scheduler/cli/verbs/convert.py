"""``slackline convert``."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from scheduler.cli.files import read_bytes, write_document
from scheduler.cli.options import STREAM, AsJson, OutFile, Seed
from scheduler.cli.refusing import bad_input, check_seed, check_streams
from scheduler.cli.screen import plain
from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document
from scheduler.kubernetes.dump import read_dump
from scheduler.kubernetes.options import AUTO, Options, levels_of
from scheduler.kubernetes.unheld import Unheld
from scheduler.worlds.openb import read_openb
from scheduler.worlds.tables import read_tables


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
    with bad_input():
        check_streams(out, json)
        check_seed(seed)
        if [openb, tables, kubernetes].count(None) != 2:
            raise InputError("--openb, --csv, --kubernetes", None, "give one of them")
        unheld: tuple[Unheld, ...] = ()
        if kubernetes is not None:
            document, unheld = _from_kubernetes(kubernetes, cluster, taken_at, levels, skip_bad)
        elif openb is not None:
            files = [str(path) for path in openb]
            document = read_openb(
                *map(read_bytes, openb), load=load, seed=seed, lock=lock, nodes_file=files[0], pods_file=files[1]
            )
        else:
            document = _from_tables(tables, taken_at)
        build(document)
        write_document(out, document, json, unheld)


def _from_tables(tables: tuple[Path, Path] | None, taken_at: str | None) -> Document:
    assert tables is not None
    if taken_at is None:
        raise InputError("--taken-at", None, "CSV files do not say when they were taken")
    nodes, pods = tables
    document, warnings = read_tables(
        read_bytes(nodes), read_bytes(pods), taken_at=taken_at, nodes_file=str(nodes), pods_file=str(pods)
    )
    for warning in warnings:
        sys.stderr.write(f"warning: {plain(warning)}\n")
    return document


def _from_kubernetes(
    dump: Path, cluster: str, taken_at: str | None, levels: str, skip_bad: bool
) -> tuple[Document, tuple[Unheld, ...]]:
    """Without an instant the file's own is meant: kubectl wrote it when it had looked."""
    if taken_at is None:
        seconds = time.time() if dump == STREAM else dump.stat().st_mtime
        taken_at = datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
    options = Options(levels=levels_of(levels))
    reading = read_dump(read_bytes(dump), cluster=cluster, taken_at=taken_at, options=options)
    if reading.bad and not skip_bad:
        more = f" and {len(reading.bad) - 1} more; --skip-bad goes on without them" if len(reading.bad) > 1 else ""
        raise InputError(str(dump), None, f"{reading.bad[0]}{more}")
    for bad in reading.bad:
        sys.stderr.write(f"warning: {plain(str(bad))}\n")
    return reading.document, reading.unheld
