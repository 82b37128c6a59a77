"""The one WebSocket of a tab: it carries small notices and nothing that could not be fetched again."""

import asyncio
import contextlib
import json
from typing import Any

import redis
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from console.live import hub, rights, services
from console.live.outbox import Outbox

NOT_SIGNED_IN, NOT_ALLOWED, NOT_UNDERSTOOD, TRY_AGAIN = 4401, 4403, 4400, 1013
CODES = {rights.Verdict.NOBODY: NOT_SIGNED_IN, rights.Verdict.NO: NOT_ALLOWED, None: TRY_AGAIN}
MAX_TOPICS, MAX_TEXT = 50, 16_384
WATCH_SECONDS = 15.0  # how soon a loss is found on a topic that has gone quiet
SESSION_SECONDS = 300.0


class LiveConsumer(AsyncWebsocketConsumer):
    """Client: {"subscribe": [topic], "seen": {topic: seq}, "since": seconds, "unsubscribe": [topic]}.

    ``since`` is when the page was drawn; of topics that it has seen nothing of, it may have missed what came after.
    Server: {"topic", "kind": "subscribed", "seq", "missed"} per topic, then that topic's events; {"topic", "kind":
    "resync", "seq"} where notices were lost and the client must fetch anew.  Closes with 4401 without a valid session,
    4403 where a right is missing, 4400 for what it cannot read.
    """

    channel_layer_alias = None  # the hub listens for all sockets of this process

    async def connect(self) -> None:
        self.hub = hub.present()
        self.outbox = Outbox(self._write)
        self.last: dict[str, int] = {}
        self.joining: dict[str, list[dict[str, Any]]] = {}  # heard before it is known what was said before
        self.tasks: list[asyncio.Task[None]] = []
        await self.accept()  # a browser sees the close code only of a socket that was open
        if await rights.person(self.session_key) is None:
            await self.close(code=NOT_SIGNED_IN)
            return
        self.tasks = [asyncio.create_task(self.outbox.run()), asyncio.create_task(self._watch())]

    async def disconnect(self, code: int) -> None:
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for topic in {*self.last, *self.joining}:
            await self._leave(topic)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        wish = _read(text_data)
        if wish is None:
            await self.close(code=NOT_UNDERSTOOD)
            return
        subscribe, unsubscribe, seen, since = wish
        for topic in unsubscribe:
            await self._leave(topic)
        for topic in subscribe:
            if not await self._may(topic):
                return
            await self._join(topic, seen.get(topic), since)

    def hear(self, event: dict[str, Any]) -> None:
        """One event from the hub, which has asked whether this person may hear it."""
        topic, seq = event["topic"], event["seq"]
        if topic in self.joining:
            self.joining[topic].append(event)
            return
        # One that comes late or twice tells nothing new: what it announces was committed before a later one was sent.
        if seq > self.last.get(topic, seq):
            self.last[topic] = seq
            self.outbox.put(event)

    async def refuse(self, verdict: rights.Verdict | None) -> None:
        await self.close(code=CODES[verdict])

    async def _join(self, topic: str, seen: int | None, since: float | None) -> None:
        if topic not in self.last and len(self.last) >= MAX_TOPICS:
            await self.close(code=NOT_UNDERSTOOD)
            return
        self.joining[topic] = []
        # The counter is read after joining: an event in between is then delivered, not lost.
        await self.hub.join(topic, self)
        seq = await database_sync_to_async(services.last_seq)(topic)
        self.last[topic] = seq
        missed = seen is not None and seen != seq
        if seen is None and since is not None:
            missed = await database_sync_to_async(services.news_since)(topic, since)
        self.outbox.put({"topic": topic, "kind": "subscribed", "seq": seq, "missed": missed})
        for event in self.joining.pop(topic):
            self.hear(event)

    async def _leave(self, topic: str) -> None:
        known = self.last.pop(topic, None), self.joining.pop(topic, None)
        if known != (None, None):
            await self.hub.leave(topic, self)

    async def _may(self, topic: object) -> bool:
        """Whether the person behind the session may listen now; closes the socket if not."""
        verdict = await rights.check(self.session_key, topic)
        if verdict is not rights.Verdict.YES:
            await self.refuse(verdict)
        return verdict is rights.Verdict.YES

    async def _watch(self) -> None:
        """Finds what the other checks cannot: losses on a quiet topic, sessions that have ended, rights taken away."""
        rounds = 0
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            rounds += 1
            if rounds * WATCH_SECONDS >= SESSION_SECONDS:
                rounds = 0
                if not await self._still_allowed():
                    return
            await self._find_losses()

    async def _still_allowed(self) -> bool:
        if await rights.person(self.session_key) is None:
            await self.close(code=NOT_SIGNED_IN)
            return False
        for topic in list(self.last):
            if not await self._may(topic):
                return False
        return True

    async def _find_losses(self) -> None:
        before = dict(self.last)
        try:
            newest = await database_sync_to_async(services.last_seqs)(list(before))
        except (redis.RedisError, OSError):
            return  # the server is away; what was lost meanwhile is found when it is back
        for topic, seq in newest.items():
            # Only where nothing came in meanwhile: an event on its way is not a lost one.
            if self.last.get(topic) == before[topic] and seq > before[topic]:
                self.last[topic] = seq
                self.outbox.resync(topic, seq)

    async def _write(self, event: dict[str, Any]) -> None:
        await self.send(text_data=json.dumps(event))

    @property
    def session_key(self) -> str | None:
        session = self.scope.get("session")
        return session.session_key if session is not None else None


def _read(text: str | None) -> tuple[list[Any], list[Any], dict[Any, Any], float | None] | None:
    """The client's wish, or None where it is none."""
    if text is None or len(text) > MAX_TEXT:
        return None
    try:
        wish = json.loads(text)
    except ValueError:
        return None
    if not isinstance(wish, dict):
        return None
    subscribe, unsubscribe, seen = wish.get("subscribe", []), wish.get("unsubscribe", []), wish.get("seen", {})
    since = wish.get("since")
    if not (isinstance(subscribe, list) and isinstance(unsubscribe, list) and isinstance(seen, dict)):
        return None
    if not isinstance(since, int | float | None):
        return None
    if not all(isinstance(topic, str) for topic in [*subscribe, *unsubscribe]):
        return None
    return subscribe, unsubscribe, seen, since
