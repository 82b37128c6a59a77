"""The map as bytes: which node has which cell, and what a browser gets sent.

Cells follow the source, the cluster, the model, the ASW (labelled ones by name, then the unlabelled) and the node's
name; so a cell's place changes only when nodes come, go or are relabelled.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from console.inventory.archive import UNKNOWN, Snapshot
from console.inventory.choices import MEASURES, Measure

Cells = NDArray[np.uint8]
MAGIC_NODES, MAGIC_GPUS = b"SLM1", b"SLG1"
FULL, DELTA = 0, 1
_HEADER = struct.Struct("<4sIIBBH")  # magic, revision, cells, kind, columns, reserved: 16 bytes
ASW_LEVEL = "asw"
LAST = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class CellLayout:
    """``order[cell]`` is the node's index in its snapshot."""

    order: NDArray[np.intp]
    groups: list[dict[str, Any]]
    names: bytes
    digest: str


def asw_of_nodes(snapshot: Snapshot) -> NDArray[np.int32]:
    """[n] the domain that stands for the node's ASW: level ``asw``, else the level closest to the node; or UNKNOWN."""
    if not snapshot.levels:
        return np.full(len(snapshot.node_name), UNKNOWN, dtype=np.int32)
    level = snapshot.levels.index(ASW_LEVEL) if ASW_LEVEL in snapshot.levels else 0
    return np.asarray(snapshot.node_at_level[level])


def layout_of(snapshot: Snapshot) -> CellLayout:
    asw = asw_of_nodes(snapshot)
    asw_rank = np.where(asw == UNKNOWN, LAST, _ranks(snapshot.domain_name)[asw])
    model_rank = np.where(snapshot.node_model == UNKNOWN, LAST, snapshot.node_model)
    order = np.lexsort((asw_rank, model_rank, snapshot.node_cluster))
    groups = _groups(snapshot, order, asw)
    names = "\n".join(_one_line(snapshot.node_name[node]) for node in order).encode()
    digest = hashlib.sha256(json.dumps(groups).encode() + b"\0" + names).hexdigest()
    return CellLayout(order, groups, names, digest)


def _ranks(names: Sequence[str]) -> NDArray[np.int64]:
    """[d + 1] each name's place among all in order; one more for rows that have none."""
    ranks = np.zeros(len(names) + 1, dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def _one_line(name: str) -> str:
    """A name with a line break in it must not become two."""
    return name.replace("\r", " ").replace("\n", " ")


def _groups(snapshot: Snapshot, order: NDArray[np.intp], asw: NDArray[np.int32]) -> list[dict[str, Any]]:
    """Runs of cells: cluster -> models -> ASWs, each with its count and the GPUs of its nodes run by run."""

    def cluster(node: Any) -> str:
        return str(snapshot.clusters[snapshot.node_cluster[node]].name)

    def model(node: Any) -> str | None:
        known = snapshot.node_model[node]
        return None if known == UNKNOWN else snapshot.models[known]

    def switch(node: Any) -> str | None:
        return None if asw[node] == UNKNOWN else snapshot.domain_name[asw[node]]

    groups: list[dict[str, Any]] = []
    for cluster_name, in_cluster in groupby(order, cluster):
        models: list[dict[str, Any]] = []
        for model_name, in_model in groupby(in_cluster, model):
            asws: list[dict[str, Any]] = []
            for name, in_asw in groupby(in_model, switch):
                gpus = [[g, len(list(run))] for g, run in groupby(int(snapshot.node_gpus[node]) for node in in_asw)]
                asws.append({"asw": name, "count": sum(count for _, count in gpus), "gpus": gpus})
            models.append({"model": model_name, "count": sum(item["count"] for item in asws), "asws": asws})
        groups.append({"cluster": cluster_name, "count": sum(item["count"] for item in models), "models": models})
    return groups


def pack_columns(columns: Cells) -> bytes:
    return zlib.compress(np.ascontiguousarray(columns).tobytes(), 6)


def unpack_columns(content: bytes, rows: int) -> Cells:
    flat = np.frombuffer(zlib.decompress(content), dtype=np.uint8)
    return flat.reshape(rows, -1) if rows else flat


def pick(columns: Cells, measure: Measure) -> Cells:
    """[2, n] what the map shows: the measure and the health code of each cell."""
    return columns[[MEASURES.index(measure), MEASURES.index(Measure.HEALTH)]]


def encode_full(magic: bytes, revision: int, columns: Cells) -> bytes:
    return _HEADER.pack(magic, revision, columns.shape[1], FULL, columns.shape[0], 0) + columns.tobytes()


def encode_delta(magic: bytes, revision: int, before: Cells, now: Cells) -> bytes:
    """Only the cells that differ: their number, their places ascending, then each column's new bytes."""
    cells = np.flatnonzero((before != now).any(axis=0)).astype("<u4")
    head = _HEADER.pack(magic, revision, now.shape[1], DELTA, now.shape[0], 0)
    return head + struct.pack("<I", len(cells)) + cells.tobytes() + np.ascontiguousarray(now[:, cells]).tobytes()
