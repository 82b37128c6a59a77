"""Nodes and pods for the command palette."""

from collections.abc import Iterator
from typing import Any

from console.inventory import selectors
from console.inventory.addresses import node_address, pod_address
from console.inventory.selectors import Filters
from console.ui.shell import Hit


def search(viewer: Any, words: str, limit: int) -> Iterator[Hit]:
    """Up to ``limit`` of each kind, by name."""
    filters = Filters(text=words)
    for node in selectors.node_rows(viewer, filters, size=limit).rows:
        where = node_address(node.cluster, node.name, node.source)
        yield Hit("node", node.name, where, "server", f"{node.cluster}, {node.gpu_model or 'no GPUs'}")
    for pod in selectors.pod_rows(viewer, filters, sort="namespace", size=limit).rows:
        where = pod_address(pod.cluster, pod.key, pod.source)
        yield Hit("pod", pod.key, where, "box", f"{pod.cluster}, {pod.node or 'waiting'}")
