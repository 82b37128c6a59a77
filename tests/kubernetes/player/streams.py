"""Answers to watches, right or spoilt."""

import asyncio
import json
from typing import Any

from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.http import Exchange, Request, status
from tests.kubernetes.player.store import Gone, Store, Told, dump

REFUSALS = {
    "watch 410": (410, "Expired", "too old resource version"),
    "watch 429": (429, "TooManyRequests", "too many requests, please try again later"),
    "watch 500": (500, "InternalError", "etcdserver: leader changed"),
    "watch 401": (401, "Unauthorized", "Unauthorized"),
    "watch 403": (403, "Forbidden", "forbidden for a while"),
}
HELD_S = 0.05  # how long an event waits for one that may overtake it


class _Over(Exception):
    """The stream has ended."""


class Streams:
    """One watch.  It follows the history from the version that was asked for."""

    def __init__(self, cluster: Cluster, path: str) -> None:
        self._cluster, self._path = cluster, path
        self._resource = cluster.store.resources[path]
        self._held: list[bytes] = []

    async def answer(self, exchange: Exchange, request: Request) -> None:
        store, version = self._cluster.store, request.query.get("resourceVersion", "")
        fault = self._cluster.faults.take("open", self._path)
        if fault in REFUSALS:
            code, reason, message = REFUSALS[fault]
            headers = {"Retry-After": str(self._cluster.retry_after_s)} if code == 429 else {}
            await exchange.answer(code, status(code, reason, message), headers=headers)
        elif fault == "watch closed without an answer":
            exchange.hang_up()
        elif not version.isdigit() or version == "0":
            await exchange.answer(400, status(400, "BadRequest", "the player wants to know from where"))
        elif int(version) > store.version:
            text = f"Too large resource version: {version}, current: {store.version}"
            await exchange.answer(504, status(504, "Timeout", text, 1))
        elif fault == "watch ends at once":
            await exchange.begin()
            await exchange.end()
        elif fault == "watch 410 in the stream":
            await exchange.begin()
            await self._error(exchange, 410, "Expired", "too old resource version")
        else:
            await self._follow(exchange, int(version), float(request.query.get("timeoutSeconds", "1800")))

    async def _follow(self, exchange: Exchange, version: int, timeout_s: float) -> None:
        clock, store = asyncio.get_running_loop().time, self._cluster.store
        await exchange.begin()
        end, mark = clock() + timeout_s, clock() + self._cluster.bookmark_s
        try:
            while clock() < end:
                heard = self._resource.heard
                for told in store.since(self._path, version):
                    version = told.version
                    await self._tell(exchange, told)
                patience = HELD_S if self._held else max(min(end, mark) - clock(), 0)
                if not await _happened(heard, patience):
                    await self._release(exchange)
                if clock() >= mark:
                    await self._mark(exchange, version := store.version)
                    mark = clock() + self._cluster.bookmark_s
            await exchange.end()
        except Gone as error:
            await self._error(exchange, 410, "Expired", str(error))
        except _Over:
            pass

    async def _tell(self, exchange: Exchange, told: Told) -> None:
        fault = self._cluster.faults.take("stream", self._path)
        line = b'{"type":"%s","object":%s}\n' % (told.what.encode(), self._resource.typed(told.body))
        if fault == "events in another order":
            self._held.append(line)
            return
        if fault:
            await self._spoil(exchange, told, line, fault)
        else:
            await exchange.chunk(line)
        await self._release(exchange)

    async def _release(self, exchange: Exchange) -> None:
        """Sends what was held back, the newest first."""
        while self._held:
            await exchange.chunk(self._held.pop())

    async def _spoil(self, exchange: Exchange, told: Told, line: bytes, fault: str) -> None:
        match fault:
            case "cut in the middle of a line":
                await exchange.chunk(line[: len(line) // 2])
                self._hang_up(exchange)
            case "cut between lines":
                await exchange.chunk(line)
                self._hang_up(exchange)
            case "event twice":
                await exchange.chunk(line + line)
            case "old event again":
                old = self._cluster.faults.rng.choice(self._resource.history)
                again = b'{"type":"%s","object":%s}\n' % (old.what.encode(), self._resource.typed(old.body))
                await exchange.chunk(line + again)
            case "gap, then 410":
                await self._error(exchange, 410, "Expired", "too old resource version")
                raise _Over
            case "ERROR 500":
                await self._error(exchange, 500, "InternalError", "watch chan error")
                raise _Over
            case "silence":
                await asyncio.sleep(self._cluster.stuck_s)
                self._hang_up(exchange)
            case "slow line":
                await self._drip(exchange, line)
            case "clock jumps":
                self._cluster.faults.skew_s = self._cluster.faults.rng.choice([-7200, -45, 0, 45, 7200])
                await exchange.chunk(line)
            case "deleted while the watch was down" | "same name, another uid, while the watch was down":
                exchange.hang_up()
                behind_the_back(self._cluster.store, self._path, self._cluster.faults.rng.random(), fault)
                raise _Over
            case _:
                await exchange.chunk(self._lie(told, line, fault))
                if fault == "bookmark too early":
                    self._hang_up(exchange)

    def _lie(self, told: Told, line: bytes, fault: str) -> bytes:
        """What is sent instead of, or besides, an event."""
        event: dict[str, Any] = json.loads(line)
        meta = event["object"]["metadata"]
        match fault:
            case "version goes back":
                meta["resourceVersion"] = str(max(told.version - 50, 1))
            case "event without version":
                meta["resourceVersion"] = ""
            case "event of another kind":
                event["object"]["kind"], event["object"]["apiVersion"] = "Banana", "fruit/v1"
            case "event that cannot be read":
                event["object"]["spec"] = "unreadable"
            case "line is not JSON":
                return b"<html>nonsense</html>\n"
            case "bookmark goes back":
                return line + self._bookmark(max(told.version - 100, 1))
            case "bookmark too early":
                return self._bookmark(told.version)
            case _:
                raise AssertionError(f"{fault} is not a fault of a stream")
        return dump(event) + b"\n"

    async def _drip(self, exchange: Exchange, line: bytes) -> None:
        for at in range(min(len(line) - 1, int(self._cluster.stuck_s / self._cluster.drip_s))):
            await exchange.chunk(line[at : at + 1])
            await asyncio.sleep(self._cluster.drip_s)
        self._hang_up(exchange)

    def _hang_up(self, exchange: Exchange) -> None:
        exchange.hang_up()
        raise _Over

    async def _mark(self, exchange: Exchange, version: int) -> None:
        await exchange.chunk(self._bookmark(version))

    def _bookmark(self, version: int) -> bytes:
        thing = self._resource.typed(b'{"metadata":{"resourceVersion":"%d"}}' % version)
        return b'{"type":"BOOKMARK","object":%s}\n' % thing

    async def _error(self, exchange: Exchange, code: int, reason: str, message: str) -> None:
        await exchange.chunk(b'{"type":"ERROR","object":%s}\n' % status(code, reason, message))
        await exchange.end()


def behind_the_back(store: Store, path: str, draw: float, fault: str) -> None:
    """Ends an object, and in the second case creates another one of its name."""
    keys = list(store.resources[path].objects)
    if not keys:
        return
    key = keys[int(draw * len(keys))]
    thing = json.loads(store.resources[path].objects[key][1])
    store.delete(path, key)
    if fault.startswith("same name"):
        thing["metadata"]["uid"] = ""
        store.put(path, thing)


async def _happened(event: asyncio.Event, patience_s: float) -> bool:
    try:
        async with asyncio.timeout(patience_s):
            await event.wait()
    except TimeoutError:
        return False
    return True
