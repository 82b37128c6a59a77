"""A browser's WebSocket, as the tests see it."""

import asyncio
import json
from typing import Any

from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from console.asgi import application

ORIGIN = "http://127.0.0.1:8000"


def signed_in(user: Any) -> tuple[str, str]:
    """(cookie header, session key) of a fresh session."""
    client = Client()
    client.force_login(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    return f"{settings.SESSION_COOKIE_NAME}={cookie.value}", str(cookie.value)


class Socket(WebsocketCommunicator):
    """Connects with a session's cookie; ``ask`` sends, ``hear`` waits for one message, ``code`` for the close."""

    def __init__(self, cookie: str | None, origin: str = ORIGIN) -> None:
        headers = [(b"origin", origin.encode()), (b"host", b"127.0.0.1:8000")]
        if cookie:
            headers.append((b"cookie", cookie.encode()))
        super().__init__(application, "/live/", headers=headers)

    async def ask(self, **wish: Any) -> None:
        await self.send_json_to(wish)

    async def hear(self, timeout: float = 5) -> dict[str, Any]:
        message: dict[str, Any] = await self.receive_json_from(timeout=timeout)
        return message

    async def code(self, timeout: float = 5) -> int:
        """Close code, whatever is said before."""
        while True:
            message = await self.receive_output(timeout=timeout)
            if message["type"] == "websocket.close":
                return int(message["code"])

    async def all_that_comes(self, quiet: float = 0.5) -> list[dict[str, Any]]:
        """Messages until none has come for ``quiet`` seconds."""
        heard = []
        while not await self.receive_nothing(timeout=quiet):
            heard.append(json.loads((await self.receive_output())["text"]))
        return heard


async def open_socket(user: Any, *topics: str) -> Socket:
    """Signed in, connected and subscribed; the answers to the subscriptions are consumed."""
    cookie, _ = await database_sync_to_async(signed_in)(user)
    socket = Socket(cookie)
    connected, _ = await socket.connect()
    assert connected
    if topics:
        await socket.ask(subscribe=list(topics))
        for topic in topics:
            assert (await socket.hear())["topic"] == topic
    await asyncio.sleep(0)
    return socket
