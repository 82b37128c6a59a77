"""The server dies and comes back while sockets are open (C48, second half): nobody reloads, everybody is repaired."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from channels.db import database_sync_to_async as on_thread
from channels.layers import channel_layers
from channels_redis.pubsub import RedisPubSubChannelLayer

from console.demo.redis_server import RedisServer
from console.live import consumers, services
from console.live.services import publish
from tests.builders.people import viewer
from tests.live.sockets import open_socket

pytestmark = pytest.mark.django_db(transaction=True)
say = on_thread(publish)


@pytest.fixture
def server(tmp_path: Path, settings: Any) -> Iterator["Mortal"]:
    mortal = Mortal(RedisServer.plan(tmp_path))
    settings.REDIS_URL = mortal.plan.url
    before = channel_layers.set("default", RedisPubSubChannelLayer(hosts=[mortal.plan.url], prefix="mortal"))
    services.forget_connection()
    yield mortal
    channel_layers.set("default", before)
    mortal.kill()


class Mortal:
    """A Redis-compatible server that can be killed and started again on the same port."""

    def __init__(self, plan: RedisServer) -> None:
        self.plan = plan
        self.process: Any = plan.start()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def start(self) -> None:
        self.process = self.plan.start()


async def test_open_sockets_are_repaired(server: Mortal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "WATCH_SECONDS", 0.2)
    user = await on_thread(viewer)()
    sockets = [await open_socket(user, "open") for _ in range(5)]
    await say("open", "changed", value=1)
    seen = [(await socket.hear())["seq"] for socket in sockets]

    server.kill()
    await say("open", "changed", value=2)  # lost: nobody is there to carry it, and the work goes on
    await asyncio.sleep(0.5)
    server.start()
    await say("open", "changed", value=3)

    for socket, before in zip(sockets, seen, strict=True):
        first = await socket.hear(timeout=15)
        assert first["kind"] == "resync" or first["seq"] > before + 1  # either way the client knows
    await _hears_again(sockets)


async def _hears_again(sockets: list[Any]) -> None:
    """The layer has subscribed anew once an event arrives at every socket."""
    waiting = set(range(len(sockets)))
    for value in range(10, 300):
        await say("open", "changed", value=value)
        for number in sorted(waiting):
            heard = await sockets[number].all_that_comes(quiet=0.1)
            if any(event["kind"] == "changed" for event in heard):
                waiting.discard(number)
        if not waiting:
            break
    for socket in sockets:
        await socket.disconnect()
    assert not waiting
