"""Addresses of nodes, pods and workloads.

Names from outside may hold slashes and dots, which a path would not survive.
"""

import re
from urllib.parse import urlencode

from django.urls import reverse

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._:-]*")


def node_address(cluster: str, node: str, source: str = "") -> str:
    """With ``source`` where several sources may have such a node."""
    return _address("node", cluster, node, source)


def pod_address(cluster: str, key: str, source: str = "") -> str:
    """``key`` is namespace/name."""
    return _address("pod", cluster, key, source)


def workload_address(cluster: str, key: str, source: str = "") -> str:
    """``key`` is namespace/name of what made the pods."""
    return _address("workload", cluster, key, source)


def _address(kind: str, cluster: str, name: str, source: str) -> str:
    query = {"source": source} if source else {}
    pieces = [cluster, *(name.split("/", 1) if kind != "node" else [name])]
    if all(_SAFE.fullmatch(piece) for piece in pieces):
        path = reverse(f"inventory:{kind}", args=[cluster, name])
    else:
        path = reverse(f"inventory:{kind}-named")
        query |= {"cluster": cluster, "name": name}
    return f"{path}?{urlencode(query)}" if query else path
