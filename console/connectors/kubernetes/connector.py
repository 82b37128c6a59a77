"""A Kubernetes cluster as a source.  It is looked at and never acted on.

What is read lives in the process that watches (``manage.py watch``): there a connector has a feed.  Everywhere else it
has none and says so.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from console.connectors.kubernetes import logins
from console.connectors.kubernetes.feed import ClusterFeed
from console.connectors.kubernetes.wire import Api
from console.connectors.protocol import Aside, ConnectorError, Layer, Outcome, Told, the_cluster
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import NodeRecord, PodRecord
from scheduler.kubernetes.objects import Bad
from scheduler.kubernetes.options import LowPriority, Options, levels_of
from scheduler.kubernetes.unheld import Unheld
from scheduler.plan.operations import Operation


class KubernetesConnector:
    """One cluster, through the feed of this process if it has one."""

    acts = False
    holds = False
    launches = False
    recalls = False

    def __init__(self, cluster: str, feed: ClusterFeed | None = None, sampler: Layer | None = None) -> None:
        self._cluster, self._feed, self._sampler = cluster, feed, sampler

    def version(self) -> str:
        version = self._followed().version()
        return f"{version} {self._sampler.version(version)}" if self._sampler is not None else version

    def observe(self) -> Told:
        """The cluster now with what was measured of it, what the format could not hold, what could not be read."""
        reading = self._followed().document()
        aside = [_aside(one) for one in reading.unheld] + [_unread(one) for one in reading.bad]
        document = reading.document if self._sampler is None else self._sampler.laid_over(reading.document)
        return Told(document, tuple(aside))

    def read_pod(self, key: str, cluster: str | None = None) -> PodRecord | None:
        the_cluster(cluster, (self._cluster,))
        pods = self._followed().document().document.pods
        return next((pod for pod in pods if f"{pod.namespace}/{pod.name}" == key), None)

    def read_node(self, name: str, cluster: str | None = None) -> NodeRecord | None:
        the_cluster(cluster, (self._cluster,))
        nodes = self._followed().document().document.nodes
        return next((node for node in nodes if node.name == name), None)

    def execute(self, operation: Operation, key: str, *, released: bool = False) -> Outcome:
        wish = msgspec.to_builtins(operation)["type"]
        return Outcome("failed", f"this connector only observes Kubernetes: it cannot {wish} anything")

    def _followed(self) -> ClusterFeed:
        if self._feed is None:
            raise ConnectorError("a Kubernetes cluster is read by the process `manage.py watch`, which is not this one")
        return self._feed


def open_feed(config: dict[str, Any], expected: Mapping[str, int] | None = None) -> ClusterFeed:
    """A feed of a source's cluster, not started yet.  Raises ``ConnectorError`` or ``InputError``.

    ``expected``: how many objects of a kind were there when somebody last looked, so that an empty answer to the first
    list is not believed at once.
    """
    options = options_of(config.get("options") or {})
    return ClusterFeed(config["cluster"], Api(logins.way_in(config)), options=options, expected=expected)


def options_of(given: Mapping[str, Any]) -> Options:
    """From the plain fields that a source keeps; raises ``InputError`` that names the field."""
    low = given.get("low_priority") or {}
    try:
        return Options(
            levels=levels_of(msgspec.convert(given.get("levels", "auto"), str | list[tuple[str, str]])),
            tenant_labels=msgspec.convert(given.get("tenant_labels", ()), tuple[str, ...]),
            namespace_tenants=msgspec.convert(given.get("namespace_tenants", True), bool),
            low_priority=LowPriority(
                classes=msgspec.convert(low.get("classes", ()), frozenset[str]),
                below=msgspec.convert(low.get("below"), int | None),
                labels=msgspec.convert(low.get("labels", ()), tuple[tuple[str, str], ...]),
            ),
        )
    except msgspec.ValidationError as error:
        raise InputError("options", None, str(error)) from None


def _aside(one: Unheld) -> Aside:
    return Aside(one.what, one.done, one.kind, one.namespace, one.name, one.field, one.detail)


def _unread(one: Bad) -> Aside:
    return Aside("unreadable", "left out", one.kind, one.namespace, one.name, one.path, one.reason)
