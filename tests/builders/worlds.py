"""Fluent worlds: a few words make a document of ``slackline/snapshot/v1``.

    world().asw("asw-1").node("n1").node("n2").pod("a", "n1", gpus=2).pod("b", "n2", gpus=5, locked=True)

Every value that a test does not name has the default of the public case list: nodes of 8 H100, 128 cores and 1 TiB;
pods in namespace ``jobs``, tenant ``t1``, tier HP.
"""

import json
from typing import Any, Self

from scheduler.cluster import codec
from scheduler.cluster.snapshot import Snapshot

GPU_MODEL = "H100-SXM5-80GB"
TAKEN_AT = "2026-11-01T00:00:00Z"
Fields = dict[str, Any]


class World:
    """A document under construction; ``asw`` and ``within`` set the place of the nodes that follow."""

    def __init__(self, now_s: int = 1000) -> None:
        self.top: Fields = {"schema": "slackline/snapshot/v1", "taken_at": TAKEN_AT, "now_s": now_s}
        self.rows: dict[str, list[Fields]] = {
            kind: [] for kind in ("clusters", "domains", "nodes", "pods", "gangs", "pdbs", "tenants")
        }
        self._place: Fields = {}

    def asw(self, name: str | None) -> Self:
        """Nodes that follow stand under this access switch; None: nobody knows which."""
        self._place = {"asw": name} if name else {}
        return self

    def within(self, domain: str) -> Self:
        """Nodes that follow stand in this named domain."""
        self._place = {"domain": domain}
        return self

    def domain(self, name: str, level: str, parent: str | None = None, **fields: Any) -> Self:
        return self._add("domains", {"name": name, "level": level, "parent": parent, **fields})

    def node(self, name: str, gpus: int = 8, **fields: Any) -> Self:
        model = GPU_MODEL if gpus else ""
        row = {"name": name, "gpus": gpus, "gpu_model": model, "cpu_milli": 128_000, "memory_mib": 1 << 20}
        return self._add("nodes", {**row, **self._place, **fields})

    def nodes(self, *names: str, **fields: Any) -> Self:
        for name in names:
            self.node(name, **fields)
        return self

    def pod(self, name: str, node: str | None = None, gpus: int = 1, **fields: Any) -> Self:
        return self._add(
            "pods", {"name": name, "namespace": "jobs", "tenant": "t1", "node": node, "gpus": gpus, **fields}
        )

    def agent(self, name: str, node: str, owner: str = "DaemonSet", gpus: int = 0, **fields: Any) -> Self:
        return self.pod(name, node, gpus, namespace="sys", tenant=None, owner={"kind": owner}, **fields)

    def gang(self, name: str, min_members: int, **fields: Any) -> Self:
        return self._add("gangs", {"name": name, "namespace": "jobs", "min_members": min_members, **fields})

    def budget(self, selector: str, **fields: Any) -> Self:
        return self._add("pdbs", {"namespace": "jobs", "selector": selector, **fields})

    def tenant(self, name: str, **fields: Any) -> Self:
        return self._add("tenants", {"name": name, **fields})

    def without(self, *keys: str) -> "World":
        """The same world less the pods named ``namespace/name``."""
        other = World()
        other.top, other.rows = dict(self.top), {kind: list(rows) for kind, rows in self.rows.items()}
        other.rows["pods"] = [row for row in self.rows["pods"] if pod_key(row) not in keys]
        return other

    def document(self) -> Fields:
        return {**self.top, **{kind: rows for kind, rows in self.rows.items() if rows or kind in ("nodes", "pods")}}

    def json(self) -> bytes:
        return json.dumps(self.document()).encode()

    def snapshot(self) -> Snapshot:
        return codec.read(self.json())

    def _add(self, kind: str, row: Fields) -> Self:
        self.rows[kind].append({key: value for key, value in row.items() if value is not None})
        return self


def world(now_s: int = 1000) -> World:
    return World(now_s)


def pod_key(row: Fields) -> str:
    return f"{row.get('namespace', 'default')}/{row['name']}"
