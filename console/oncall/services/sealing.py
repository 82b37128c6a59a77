"""Addresses that are secrets, kept as the credentials of clusters are: under the keys of the settings."""

import json

from console.connectors.kubernetes import credentials
from console.connectors.protocol import ConnectorError


def sealed(url: str, secret: str) -> str:
    """The name under which both are kept.  Raises ``NoKeyError``."""
    return credentials.keep(json.dumps({"url": url, "secret": secret}).encode())


def opened(name: str) -> tuple[str, str]:
    """(address, secret) of a webhook.  Raises ``ConnectorError``."""
    try:
        kept = json.loads(credentials.fetch(name))
        return str(kept["url"]), str(kept["secret"])
    except (ConnectorError, ValueError, KeyError):
        raise ConnectorError("the address that is kept cannot be opened here: its owner must give it again") from None


def forget(name: str) -> None:
    credentials.forget(name)
