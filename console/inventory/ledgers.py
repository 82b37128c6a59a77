"""What changed between two readings, as it is kept: JSON for words and sums, one byte a node for the map."""

import hashlib
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from console.inventory.cells import Cells
from console.inventory.packed import pack_json, unpack_json

ZERO = 128  # the byte of a node on which nothing changed
MOST = 126  # GPUs won or lost that a byte can tell; 255 says no data
CHANGES = ("schedulable", "free")  # the columns of a comparison, in order

KEPT = 64  # unpacked ledgers; a page asks for the same ones often

type Holders = dict[tuple[str, str], set[str]]  # (cluster, node) -> tenants


class Found(Protocol):
    """A ``scheduler.fragmentation.difference.Difference``, which only workers may import."""

    @property
    def capacity(self) -> tuple[Any, ...]: ...

    @property
    def clusters(self) -> dict[str, tuple[Any, ...]]: ...

    @property
    def pools(self) -> tuple[Any, ...]: ...


def comparison_key(then_digest: str, now_digest: str) -> str:
    return hashlib.sha256(f"{then_digest} {now_digest}".encode()).hexdigest()


def pack_ledger(ledger: dict[str, Any]) -> bytes:
    return pack_json(ledger)


@lru_cache(maxsize=KEPT)
def unpack_ledger(packed: bytes) -> dict[str, Any]:
    """Read only: whoever asks again gets the same one."""
    return dict(unpack_json(packed))


def change_bytes(change: NDArray[np.int64]) -> Cells:
    """[n] GPUs won or lost by each node, around ZERO."""
    return (np.clip(change, -MOST, MOST) + ZERO).astype(np.uint8)


def as_json(found: Found, holders: tuple[Holders, Holders]) -> dict[str, Any]:
    """The ledgers; beside each node stand the tenants that had live pods on it then or now."""
    return {
        "capacity": [_capacity(row, holders) for row in found.capacity],
        "clusters": {cluster: [asdict(row) for row in rows] for cluster, rows in found.clusters.items()},
        "pools": [asdict(pool) for pool in found.pools],
    }


def _capacity(row: Any, holders: tuple[Holders, Holders]) -> dict[str, Any]:
    cluster = row.place.cluster
    return {
        "cause": row.cause,
        "cluster": cluster,
        "model": row.place.model,
        "asw": row.place.asw,
        "gpus": row.gpus,
        "of_nodes": row.of_nodes,
        "nodes": [
            [name, amount, sorted(set().union(*(held.get((cluster, name), ()) for held in holders)))]
            for name, amount in zip(row.nodes, row.amounts, strict=True)
        ],
    }
