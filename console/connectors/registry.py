"""From a source's kind and configuration to its wire."""

from collections.abc import Callable
from typing import Any

from django.conf import settings

from console.connectors.choices import Kind
from console.connectors.filed import FileConnector
from console.connectors.kubernetes.connector import KubernetesConnector
from console.connectors.protocol import Connector, ConnectorError
from console.connectors.simulated import SimulatedConnector

_KINDS: dict[str, Callable[[dict[str, Any]], Connector]] = {
    Kind.FILE: lambda config: FileConnector(config["document"]),
    Kind.OPENB: lambda config: FileConnector(config["document"]),
    Kind.SIMULATED: lambda config: SimulatedConnector(config["cluster"]),
    Kind.KUBERNETES: lambda config: KubernetesConnector(config["cluster"]),
}


def connect(kind: str, config: dict[str, Any]) -> Connector:
    """The connector of a source.  Raises ``ConnectorError`` for kinds that this installation does not allow."""
    if kind not in _KINDS or kind not in settings.CONNECTORS:
        raise ConnectorError(f"connectors of kind {kind} are not enabled here")
    return _KINDS[kind](config)


def allowed(kind: str) -> bool:
    return kind in _KINDS and kind in settings.CONNECTORS
