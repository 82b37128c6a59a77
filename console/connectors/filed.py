"""Files that stand for a cluster.  They can be looked at; nothing can be done to them."""

import msgspec

from console.connectors import documents
from console.connectors.protocol import Outcome, the_cluster
from scheduler.cluster.codec import parse, read
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.operations import Operation


class FileConnector:
    """A snapshot file under its digest.  An OpenB pair was turned into one when it was loaded, and is read the same."""

    acts = False
    holds = False
    launches = False
    recalls = False

    def __init__(self, document: str) -> None:
        self._digest = document

    def version(self) -> str:
        return self._digest

    def observe(self) -> Snapshot:
        return read(documents.fetch(self._digest))

    def _document(self) -> Document:
        return parse(documents.fetch(self._digest)).document

    def read_pod(self, key: str, cluster: str | None = None) -> PodRecord | None:
        document = self._document()
        name = the_cluster(cluster, _clusters(document))
        return next((p for p in document.pods if (p.cluster, f"{p.namespace}/{p.name}") == (name, key)), None)

    def read_node(self, name: str, cluster: str | None = None) -> NodeRecord | None:
        document = self._document()
        where = the_cluster(cluster, _clusters(document))
        return next((node for node in document.nodes if (node.cluster, node.name) == (where, name)), None)

    def execute(self, operation: Operation, key: str, *, released: bool = False) -> Outcome:
        wish = msgspec.to_builtins(operation)["type"]
        return Outcome("failed", f"a file cannot {wish} anything: it can only be looked at")


def _clusters(document: Document) -> tuple[str, ...]:
    return tuple(sorted({node.cluster for node in document.nodes}))
