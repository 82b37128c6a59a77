"""In front of Django: a map that has been sent once goes out again from memory.

With every reading all browsers ask for the same bytes within the same second.  Each must hold the right at that second;
what they are spared is a thread, a connection to the database and the walk through the middleware.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings

from console.live import rights

PREFIX = "/fleet/map/"
TOPIC = "fleet"  # who may hear of a reading may fetch its map: both ask for inventory.view_fleet
KEPT_BYTES = 32 << 20
OF_ONE_ANSWER = (b"set-cookie", b"x-request-id", b"x-correlation-id", b"date")

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Key = tuple[str, bytes, bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Repeats:
    """Remembers what ``application`` answered below PREFIX and called immutable; the rest passes through.

    Of those who ask for the same at the same time, one asks the application and the others wait for its answer.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._answers: OrderedDict[Key, Answer] = OrderedDict()
        self._bytes = 0
        self._asking: dict[Key, asyncio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope)
        if key is None:
            await self._application(scope, receive, send)
            return
        if key not in self._answers and key not in self._asking:
            await self._ask(key, scope, receive, send)
            return
        if key in self._asking:
            await self._asking[key].wait()
        answer = self._answers.get(key)
        if answer is None or not await _allowed(scope):
            await self._application(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _ask(self, key: Key, scope: Scope, receive: Receive, send: Send) -> None:
        said: list[Any] = []

        async def note(message: Any) -> None:
            said.append(message)
            await send(message)

        self._asking[key] = asyncio.Event()
        try:
            await self._application(scope, receive, note)
            self._keep(key, said)
        finally:
            self._asking.pop(key).set()

    def _keep(self, key: Key, said: list[Any]) -> None:
        if not said or said[0].get("status") != 200:
            return
        headers = [(name, value) for name, value in said[0]["headers"] if name.lower() not in OF_ONE_ANSWER]
        if b"immutable" not in dict(headers).get(b"Cache-Control", b""):
            return
        body = b"".join(message.get("body", b"") for message in said[1:])
        self._answers[key] = Answer(headers, body)
        self._bytes += len(body)
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._answers.popitem(last=False)[1].body)


def _key(scope: Scope) -> Key | None:
    """What decides the bytes of an answer; None for requests that are not for a map of one revision."""
    if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(PREFIX):
        return None
    heads = dict(scope["headers"])
    if b"if-none-match" in heads or b"cookie" not in heads or scope["path"].endswith("/latest"):
        return None
    return scope["path"], scope["query_string"], heads.get(b"accept-encoding", b"")


async def _allowed(scope: Scope) -> bool:
    """Asked anew every second; all tabs of one session share the answer, as they do for what is pushed."""
    session = _session_of(dict(scope["headers"])[b"cookie"])
    if session is None:
        return False
    # Negative: events are numbered from 1 up.
    return await rights.check(session, TOPIC, -int(time.monotonic()) - 1) is rights.Verdict.YES


@lru_cache(maxsize=4096)
def _session_of(cookie: bytes) -> str | None:
    try:
        found = SimpleCookie(cookie.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return None
    return None if found is None else found.value
