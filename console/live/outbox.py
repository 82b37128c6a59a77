"""A bounded queue between the channel layer and one socket, so that a slow reader costs its own view and no memory."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

LIMIT = 200
Event = dict[str, Any]


class Outbox:
    """When full, drops what waits and says "resync" for each topic that lost something."""

    def __init__(self, write: Callable[[Event], Awaitable[None]], limit: int = LIMIT) -> None:
        self._write = write
        self._limit = limit
        self._events: deque[Event] = deque()
        self._lost: dict[str, int] = {}
        self._filled = asyncio.Event()

    def put(self, event: Event) -> None:
        if event["topic"] in self._lost:
            self._lost[event["topic"]] = event["seq"]
            return
        self._events.append(event)
        if len(self._events) > self._limit:
            for dropped in self._events:
                self._lost[dropped["topic"]] = dropped["seq"]
            self._events.clear()
        self._filled.set()

    def resync(self, topic: str, seq: int) -> None:
        self._lost[topic] = seq
        self._filled.set()

    async def run(self) -> None:
        """Writes for ever; ends when cancelled."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._events or self._lost:
                await self._write(self._next())

    def _next(self) -> Event:
        if self._events:
            return self._events.popleft()
        topic, seq = self._lost.popitem()
        return {"topic": topic, "kind": "resync", "seq": seq}
