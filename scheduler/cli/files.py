"""Files in and out: snapshots are read, checked and cut to one cluster; documents are written and counted."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from scheduler.cli.options import STREAM
from scheduler.cli.screen import print_json, say, show_table
from scheduler.cluster.build import only_cluster, restrict
from scheduler.cluster.codec import read
from scheduler.cluster.records import Document
from scheduler.cluster.snapshot import Snapshot
from scheduler.kubernetes.unheld import Unheld, summary


def read_bytes(path: Path) -> bytes:
    return sys.stdin.buffer.read() if path == STREAM else path.read_bytes()


def read_snapshot(path: Path, cluster: str | None) -> Snapshot:
    whole = read(read_bytes(path))
    return restrict(whole, only_cluster(whole, cluster))


def write_document(out: Path, document: Document, json: bool, unheld: tuple[Unheld, ...] = ()) -> None:
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
        print_json(sizes | ({"unheld": unheld} if unheld else {}))
    else:
        say(["{file}: {nodes} nodes, {gpus} GPUs, {pods} pods, {pending} pending".format(**sizes)])
        show_table("Not held by the format", ("what", "done", "objects"), summary(unheld))
