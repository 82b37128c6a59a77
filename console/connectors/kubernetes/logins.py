"""From what a person gives to what is kept, and from what is kept to a way into the cluster."""

from typing import Any

import yaml
from django.conf import settings

from console.connectors.kubernetes import credentials
from console.connectors.kubernetes.access import Access, AccessError, Login, in_cluster, log_in, read_kubeconfig
from console.connectors.protocol import ConnectorError

KUBECONFIG, IN_CLUSTER = "kubeconfig", "in-cluster"


def login_of(kubeconfig: bytes, context: str) -> Login:
    """The chosen context, by the rules of this installation.  Raises ``AccessError``, ``SeveralContexts``."""
    return read_kubeconfig(kubeconfig, context, settings.KUBECONFIG_ALLOW)


def alone(kubeconfig: bytes, context: str) -> bytes:
    """The kubeconfig with nothing but one context: the keys of other clusters are not ours to keep."""
    whole = yaml.safe_load(kubeconfig)
    chosen = next(one for one in whole["contexts"] if str(one.get("name")) == context)
    names = {"contexts": context, **{f"{key}s": str(chosen["context"][key]) for key in ("cluster", "user")}}
    kept: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": context}
    for key, name in names.items():
        kept[key] = [one for one in whole.get(key) or [] if isinstance(one, dict) and str(one.get("name")) == name]
    return yaml.safe_dump(kept).encode()


def way_in(config: dict[str, Any]) -> Access:
    """Into the cluster of a source.  Raises ``ConnectorError``."""
    try:
        if config["way"] == IN_CLUSTER:
            return in_cluster()
        kept = credentials.fetch(config["credential"])
        return log_in(login_of(kept, config["context"]))
    except AccessError as error:
        raise ConnectorError(str(error)) from None
