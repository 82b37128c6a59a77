"""A player on a port of its own, so that it can be ended and begun again, and the kubeconfig that leads to it."""

import asyncio
import json

from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.server import Player


class PlayerOnPort(Player):
    """``port`` 0: any that is free; the next one may be begun on the same."""

    def __init__(self, clusters: dict[str, Cluster], port: int = 0) -> None:
        super().__init__(clusters)
        self._wanted = port

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", self._wanted, limit=1 << 20)


def kubeconfig(server: str, token: str, *contexts: str) -> bytes:
    """A kubeconfig whose contexts all lead to one server."""
    names = contexts or ("only",)
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": names[0],
        "clusters": [{"name": "there", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": "there", "user": "me"}} for name in names],
    }
    return json.dumps(whole).encode()
