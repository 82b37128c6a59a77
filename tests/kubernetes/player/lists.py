"""Answers to lists, right or spoilt."""

import asyncio
import json

from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.http import Exchange, Request, status
from tests.kubernetes.player.store import Gone, Unknown, dump

REFUSALS = {
    "list 429": (429, "TooManyRequests", "too many requests, please try again later", 1),
    "list 500": (500, "InternalError", "etcdserver: request timed out", None),
    "list 401": (401, "Unauthorized", "Unauthorized", None),
    "list 403": (403, "Forbidden", "forbidden for a while", None),
    "list token expires": (410, "Expired", "The provided continue parameter is too old", None),
}
BACK = 500  # versions that an answer goes back in time


class Lists:
    def __init__(self, cluster: Cluster, path: str) -> None:
        self._cluster, self._path = cluster, path

    async def answer(self, exchange: Exchange, request: Request) -> None:
        limit, token = int(request.query.get("limit", "0")), request.query.get("continue", "")
        fault = self._cluster.faults.take("list", self._path)
        if fault in REFUSALS:
            await self._refuse(exchange, fault)
        elif fault == "list 404":
            await exchange.answer(404, b"404 page not found", "text/plain")
        elif fault == "list 503 with a page of HTML":
            await exchange.answer(503, b"<html><body>Service Unavailable</body></html>", "text/html")
        elif fault == "list closed without an answer":
            exchange.hang_up()
        elif fault == "list silent":
            await asyncio.sleep(self._cluster.stuck_s)
            exchange.hang_up()
        elif fault == "list slow":
            await self._drip(exchange)
        else:
            await self._page(exchange, limit, token, fault)

    async def _refuse(self, exchange: Exchange, fault: str) -> None:
        code, reason, message, retry = REFUSALS[fault]
        headers = {} if retry is None else {"Retry-After": str(self._cluster.retry_after_s)}
        await exchange.answer(code, status(code, reason, message, retry), headers=headers)

    async def _drip(self, exchange: Exchange) -> None:
        await exchange.promise(100_000, b'{"kind":"')
        for _ in range(int(self._cluster.stuck_s / self._cluster.drip_s)):
            exchange.writer.write(b"x")
            await exchange.writer.drain()
            await asyncio.sleep(self._cluster.drip_s)
        exchange.hang_up()

    async def _page(self, exchange: Exchange, limit: int, token: str, fault: str) -> None:
        try:
            version, items, following, left = self._cluster.store.page(self._path, limit, token)
        except Gone as error:
            await exchange.answer(410, status(410, "Expired", str(error)))
            return
        except Unknown as error:
            await exchange.answer(400, status(400, "BadRequest", str(error)))
            return
        meta: dict[str, str | int] = {"resourceVersion": str(version)}
        if following:
            meta |= {"continue": following, "remainingItemCount": left}
        body = self._body(meta, self._spoil_items(items, fault), fault)
        if fault == "list cut in the middle":
            await exchange.promise(len(body), body[: len(body) // 2])
            exchange.hang_up()
        else:
            await exchange.answer(200, body)

    def _spoil_items(self, items: list[bytes], fault: str) -> list[bytes]:
        if fault == "list empty":
            return []
        if fault == "list lacks two thirds":
            return items[: len(items) // 3]
        if fault == "list with doubled objects":
            return [body for body in items for _ in range(2)]
        if fault == "list with an unreadable object" and items:
            thing = json.loads(items[0])
            thing["spec"] = "unreadable"
            return [dump(thing), *items[1:]]
        return items

    def _body(self, meta: dict[str, str | int], items: list[bytes], fault: str) -> bytes:
        resource = self._cluster.store.resources[self._path]
        kind, content = f"{resource.kind}List", b"[" + b",".join(items) + b"]"
        if fault == "list goes back in time":
            meta = {"resourceVersion": str(max(int(meta["resourceVersion"]) - BACK, 1))}
        elif fault == "list without version":
            meta = {}
        elif fault == "list pages disagree" and "continue" in meta:
            meta = meta | {"resourceVersion": str(int(meta["resourceVersion"]) + 1)}
        elif fault == "list pages never end":
            meta = meta | {"continue": "bm8tZW5k"}
            content = b"[" + b",".join(items[:1]) + b"]"
        elif fault in ("list empty", "list lacks two thirds"):
            meta = {"resourceVersion": meta["resourceVersion"]}
        elif fault == "list with null items":
            meta, content = {"resourceVersion": meta["resourceVersion"]}, b"null"
        elif fault == "list of another kind":
            kind = "BananaList"
        elif fault == "list is not JSON":
            return b"{" + content
        head = b'{"kind":"%s","apiVersion":"%s","metadata":%s' % (
            kind.encode(), resource.api_version.encode(), json.dumps(meta).encode()
        )  # fmt: skip
        return head + b"}" if fault == "list without items" else head + b',"items":' + content + b"}"
