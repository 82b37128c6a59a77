"""One ear per process: what the channel layer says of a topic is heard once and handed to all sockets of the process.

With a channel per socket each notice would be unpacked and looked into once a socket, with a hop to a thread for each.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import structlog
from channels.layers import get_channel_layer

from console.live import rights, services

log = structlog.get_logger(__name__)
Event = dict[str, Any]


class Listener(Protocol):
    """A socket, as the hub sees it."""

    @property
    def session_key(self) -> str | None: ...

    def hear(self, event: Event) -> None: ...

    async def refuse(self, verdict: rights.Verdict | None) -> None:
        """It may not listen any more; None: whether it may could not be found out."""


class Hub:
    """Of one event loop and one channel layer."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self._listeners: dict[str, set[Listener]] = {}
        self._channel = ""
        self._ear: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def join(self, topic: str, listener: Listener) -> None:
        """Returns when nothing that is said from now on is missed."""
        async with self._lock:
            if self._ear is None:
                self._channel = await self.layer.new_channel()
                self._ear = asyncio.create_task(self._listen(self._channel))
            if topic not in self._listeners:
                await self.layer.group_add(services.group_of(topic), self._channel)
            self._listeners.setdefault(topic, set()).add(listener)

    async def leave(self, topic: str, listener: Listener) -> None:
        async with self._lock:
            left = self._listeners.get(topic, set())
            left.discard(listener)
            if left or self._listeners.pop(topic, None) is None:
                return
            if self._listeners:
                await self.layer.group_discard(services.group_of(topic), self._channel)
            else:
                await self._close(topic)

    async def _close(self, topic: str) -> None:
        """Nobody listens to anything: the next who does opens a channel of its own."""
        ear, self._ear = self._ear, None
        try:
            await self.layer.group_discard(services.group_of(topic), self._channel)
        finally:
            if ear is not None:
                ear.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await ear

    async def _listen(self, channel: str) -> None:
        while True:
            message = await self.layer.receive(channel)
            await self._hand_on(message["event"])

    async def _hand_on(self, event: Event) -> None:
        """To everybody whose right holds at this moment; it is asked once a session."""
        topic, seq = event["topic"], event["seq"]
        of_session: dict[str | None, list[Listener]] = {}
        for listener in self._listeners.get(topic, ()):
            of_session.setdefault(listener.session_key, []).append(listener)
        found = await asyncio.gather(
            *(rights.check(session, topic, seq) for session in of_session), return_exceptions=True
        )
        for listeners, verdict in zip(of_session.values(), found, strict=True):
            if verdict is rights.Verdict.YES:
                for listener in listeners:
                    listener.hear(event)
            else:
                await _refuse(listeners, verdict)


async def _refuse(listeners: Iterable[Listener], verdict: rights.Verdict | BaseException) -> None:
    if isinstance(verdict, BaseException):
        log.error("live.right_unknown", error=repr(verdict))
    known = None if isinstance(verdict, BaseException) else verdict
    await asyncio.gather(*(listener.refuse(known) for listener in listeners), return_exceptions=True)


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def present() -> Hub:
    """The hub of the running loop."""
    loop, layer = asyncio.get_running_loop(), get_channel_layer()
    found = _hubs.get(loop)
    if found is None or found.layer is not layer:
        found = _hubs[loop] = Hub(layer)
    return found
