"""The player: answers lists and watches of one or more clusters, each under a path of its own (``/c/NAME``).

It writes down every verb that was used on every resource, as the audit of a real server would name it.
"""

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import unquote

from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.http import Exchange, Request, status
from tests.kubernetes.player.lists import Lists
from tests.kubernetes.player.store import Store
from tests.kubernetes.player.streams import Streams

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Player:
    """Runs in a thread of its own; ``apply`` changes the clusters from outside."""

    def __init__(self, clusters: dict[str, Cluster] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.clusters = clusters or {"one": Cluster()}
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="player", daemon=True)
        self.port = 0

    def __enter__(self) -> "Player":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def url(self, cluster: str = "one") -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/c/{cluster}"

    def apply[Found](self, change: Callable[[], Found]) -> Found:
        """Runs ``change`` in the server's thread and waits for it."""

        async def run() -> Found:
            return change()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Lets something run beside the answers, until the player ends."""
        asyncio.run_coroutine_threadsafe(self._keep(work), self._loop).result()

    async def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)

    def hang_up(self) -> None:
        """Ends all connections, as a server that restarts does."""
        self.apply(lambda: [task.cancel() for task in self._tasks])

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls, limit=1 << 20)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        exchange = Exchange(reader, writer)
        try:
            while (request := await exchange.request()) is not None and not writer.is_closing():
                await self._answer(exchange, request)
        except (ConnectionError, asyncio.CancelledError, TimeoutError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, exchange: Exchange, request: Request) -> None:
        _, mark, rest = request.path.partition("/c/")
        name, slash, path = unquote(rest).partition("/")
        cluster = self.clusters.get(name) if mark else None
        if cluster is None:
            await exchange.answer(404, b"404 page not found", "text/plain")
            return
        exchange.skew_s = cluster.faults.skew_s
        cluster.agents.add(request.headers.get("user-agent", ""))
        path = (slash + path).rstrip("/")
        verb = verb_of(request, path, cluster.store)
        cluster.used[verb, path] += 1
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if cluster.token and (scheme.lower(), shown) != ("bearer", cluster.token):
            await exchange.answer(401, status(401, "Unauthorized", "Unauthorized"))
        elif request.method != "GET":
            await exchange.answer(405, status(405, "MethodNotAllowed", "the player only reads"))
        elif path == "/version":
            await exchange.answer(200, json.dumps(cluster.version).encode())
        elif path in cluster.forbidden:
            text = f'{path} is forbidden: User "player" cannot {verb} it at the cluster scope'
            await exchange.answer(403, status(403, "Forbidden", text))
        elif path in cluster.store.resources:
            side = Streams(cluster, path) if verb == "watch" else Lists(cluster, path)
            await side.answer(exchange, request)
        elif (found := discovery(path, cluster.store)) is not None:
            await exchange.answer(200, json.dumps(found).encode())
        else:
            await exchange.answer(404, b"404 page not found", "text/plain")


def verb_of(request: Request, path: str, store: Store) -> str:
    """As a server's audit names it: a GET of a collection is a list or a watch."""
    if request.method != "GET":
        return VERBS.get(request.method, request.method.lower())
    if request.query.get("watch") in ("1", "true"):
        return "watch"
    return "list" if path in store.resources else "get"


def discovery(path: str, store: Store) -> dict[str, Any] | None:
    """The resources of a group and version that the store knows."""
    resources, version = [], ""
    for name, resource in store.resources.items():
        folder, _, plural = name.rpartition("/")
        if folder == path:
            version = resource.api_version
            verbs = ["get", "list", "watch"]
            entry = {"name": plural, "singularName": resource.kind.lower(), "kind": resource.kind, "verbs": verbs}
            resources.append(entry | {"namespaced": plural not in ("nodes", "namespaces")})
    whole = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}
    return whole if resources else None
