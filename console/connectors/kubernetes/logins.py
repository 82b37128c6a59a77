"""From what a person gives to what is kept, and from what is kept to a way into the cluster."""

from typing import Any

from django.conf import settings

from console.connectors.kubernetes import credentials
from console.connectors.kubernetes.access import Access, AccessError, Login, in_cluster, log_in, read_kubeconfig
from console.connectors.kubernetes.kubeconfig import alone
from console.connectors.protocol import ConnectorError

__all__ = ["IN_CLUSTER", "KUBECONFIG", "alone", "login_of", "way_in"]

KUBECONFIG, IN_CLUSTER = "kubeconfig", "in-cluster"


def login_of(kubeconfig: bytes, context: str) -> Login:
    """The chosen context, by the rules of this installation.  Raises ``AccessError``, ``SeveralContexts``."""
    return read_kubeconfig(kubeconfig, context, settings.KUBECONFIG_ALLOW)


def way_in(config: dict[str, Any]) -> Access:
    """Into the cluster of a source.  Raises ``ConnectorError``."""
    try:
        if config["way"] == IN_CLUSTER:
            return in_cluster()
        kept = credentials.fetch(config["credential"])
        return log_in(login_of(kept, config["context"]))
    except AccessError as error:
        raise ConnectorError(str(error)) from None
