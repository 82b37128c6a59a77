"""Kubernetes objects in, records of the snapshot format out: a table that follows the cluster's events.

``put`` and ``drop`` as events come, ``keep`` after a full list, ``document`` for the records of now.  Whatever the
order of events, equal objects give the equal document.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.kubernetes import builtin
from scheduler.kubernetes.objects import KINDS, Bad, Key, Thing, kind_of, of_plain
from scheduler.kubernetes.quantities import count, cpu_milli, memory_mib
from scheduler.kubernetes.unheld import Unheld


@dataclass(frozen=True, slots=True)
class Options:
    """What an installation may choose; the defaults suit a cluster of which nothing is known."""

    prefix: str = "slackline.io/"


@dataclass(frozen=True, slots=True)
class Reading:
    """The records of one instant, what the format could not hold of them, and what could not be read at all."""

    document: Document
    unheld: tuple[Unheld, ...]
    bad: tuple[Bad, ...]


class Reader:
    """The objects of one cluster; not safe to be used by two threads at once."""

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()
        self._things: dict[str, dict[Key, Thing]] = {kind: {} for kind in KINDS}
        self._bad: dict[tuple[str, Key], Bad] = {}

    def put(self, kind: str, thing: Thing) -> None:
        """An object as it is now, new or changed."""
        self._bad.pop((kind, thing.key), None)
        self._things[kind][thing.key] = thing

    def put_bad(self, bad: Bad) -> None:
        """An object that could not be decoded: what was known of it is no longer so."""
        key = (bad.namespace, bad.name)
        self.drop(bad.kind, key)
        self._bad[bad.kind, key] = bad

    def drop(self, kind: str, key: Key) -> None:
        """An object that is gone; nothing happens if it was not there."""
        self._bad.pop((kind, key), None)
        self._things[kind].pop(key, None)

    def keep(self, kind: str, keys: Container[Key]) -> None:
        """After a full list: drop what the list did not have."""
        for key in [key for key in self._things[kind] if key not in keys]:
            self.drop(kind, key)

    def replace(self, kind: str, things: Iterable[Thing]) -> None:
        """A full list in one go; ``put`` each object of a page and then ``keep`` all keys costs less memory."""
        keys = set()
        for thing in things:
            self.put(kind, thing)
            keys.add(thing.key)
        self.keep(kind, keys)

    def document(self, cluster: str, taken_at: str, now_s: int) -> Reading:
        """The records of now: ``taken_at`` RFC 3339, ``now_s`` the same instant in seconds since 1970."""
        bad = dict(self._bad)
        nodes, pods = [], []
        for key, thing in sorted(self._things["nodes"].items()):
            try:
                nodes.append(_node(thing, cluster))  # type: ignore[arg-type]
            except InputError as error:
                bad["nodes", key] = Bad(kind="nodes", name=key[1], path=error.path, reason=error.reason)
        for key, thing in sorted(self._things["pods"].items()):
            try:
                pods.append(_pod(thing, cluster))  # type: ignore[arg-type]
            except InputError as error:
                bad["pods", key] = Bad(kind="pods", namespace=key[0], name=key[1], path=error.path, reason=error.reason)
        document = Document(taken_at=taken_at, now_s=now_s, nodes=nodes, pods=pods)
        return Reading(document, (), tuple(bad[key] for key in sorted(bad)))


def _node(node: builtin.Node, cluster: str) -> NodeRecord:
    status = node.status
    return NodeRecord(
        name=node.metadata.name,
        cluster=cluster,
        gpus=count(status.capacity.get("nvidia.com/gpu", 0), "$.status.capacity"),
        cpu_milli=cpu_milli(status.allocatable.get("cpu", 0), "$.status.allocatable.cpu", down=True),
        memory_mib=memory_mib(status.allocatable.get("memory", 0), "$.status.allocatable.memory", down=True),
        cordoned=node.spec.unschedulable,
        labels=node.metadata.labels,
    )


def _pod(pod: builtin.Pod, cluster: str) -> PodRecord:
    requests = [container.resources.requests for container in pod.spec.containers]
    return PodRecord(
        name=pod.metadata.name,
        namespace=pod.metadata.namespace,
        cluster=cluster,
        uid=pod.metadata.uid or None,
        node=pod.spec.node_name or None,
        gpus=sum(count(one.get("nvidia.com/gpu", 0), "$.spec.containers") for one in requests),
        cpu_milli=sum(cpu_milli(one.get("cpu", 0), "$.spec.containers") for one in requests),
        memory_mib=sum(memory_mib(one.get("memory", 0), "$.spec.containers") for one in requests),
        phase=pod.status.phase or None,
        labels=pod.metadata.labels,
    )


def read_dump(data: bytes, cluster: str, taken_at: str, now_s: int, options: Options | None = None) -> Reading:
    """The output of ``kubectl get nodes,pods,... -A -o json``: one List of several kinds; raises ``InputError``."""
    try:
        whole: Any = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise InputError("$", None, f"not valid JSON: {error}") from None
    items = whole.get("items") if isinstance(whole, dict) else None
    if not isinstance(items, list):
        raise InputError("$.items", None, "expected a List of Kubernetes objects")
    reader = Reader(options)
    for item in items:
        kind = kind_of(str(item.get("apiVersion")), str(item.get("kind"))) if isinstance(item, dict) else None
        if kind is not None:
            found = of_plain(kind.name, item)
            if isinstance(found, Bad):
                reader.put_bad(found)
            else:
                reader.put(kind.name, found)
    return reader.document(cluster, taken_at, now_s)
