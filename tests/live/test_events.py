"""Numbers, gaps, floods and restarts: the old state and the events give the fresh state, or the client is told."""

import asyncio
import time
from typing import Any

import pytest
from channels.db import database_sync_to_async as on_thread
from django.core.cache import cache
from django.db import transaction
from structlog.testing import capture_logs

from console.live import consumers, hub, rights, services
from console.live.outbox import LIMIT, Outbox
from console.live.services import last_seq, publish
from tests.builders.people import viewer
from tests.live.sockets import Socket, open_socket

pytestmark = pytest.mark.django_db(transaction=True)
say = on_thread(publish)


async def test_events_are_numbered_without_gaps_per_topic() -> None:
    socket = await open_socket(await on_thread(viewer)(), "open:1", "open:2")
    for _ in range(3):
        await say("open:1", "step.succeeded", revision=7, step=4)
        await say("open:2", "step.failed")
    heard = await socket.all_that_comes()
    first = [event for event in heard if event["topic"] == "open:1"]
    assert [event["seq"] - first[0]["seq"] for event in first] == [0, 1, 2]
    assert {key: first[0][key] for key in ("kind", "revision", "step")} == {
        "kind": "step.succeeded",
        "revision": 7,
        "step": 4,
    }
    assert first[0]["at"].endswith("+00:00")
    assert len(heard) == 6
    await socket.disconnect()


async def test_what_is_said_while_a_socket_joins_is_heard_after_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter is read, then something is said, and only then does the socket know what was said before."""

    def read_then_say(topic: str) -> int:
        seq = last_seq(topic)
        publish(topic, "between")
        time.sleep(0.3)  # the notice is at the socket before the number is
        return seq

    monkeypatch.setattr(services, "last_seq", read_then_say)
    socket = await open_socket(await on_thread(viewer)())
    await socket.ask(subscribe=["open"])
    answer, event = await socket.hear(), await socket.hear()
    assert answer["kind"] == "subscribed"
    assert (event["kind"], event["seq"]) == ("between", answer["seq"] + 1)
    await socket.disconnect()


async def test_the_ear_is_closed_with_the_last_socket_and_opened_with_the_next() -> None:
    user = await on_thread(viewer)()
    for _ in range(2):
        first, second = await open_socket(user, "open"), await open_socket(user, "open")
        await first.disconnect()
        await say("open", "changed")
        assert [event["kind"] for event in await second.all_that_comes()] == ["changed"]
        await second.disconnect()
        assert hub.present()._ear is None


async def test_nothing_is_said_of_what_was_rolled_back() -> None:
    class Surprise(Exception):
        pass

    def deed(fail: bool) -> None:
        with transaction.atomic():
            publish("open", "kept" if not fail else "undone")
            if fail:
                raise Surprise

    socket = await open_socket(await on_thread(viewer)(), "open")
    with pytest.raises(Surprise):
        await on_thread(deed)(True)
    await on_thread(deed)(False)
    assert [event["kind"] for event in await socket.all_that_comes()] == ["kept"]
    await socket.disconnect()


async def test_old_state_and_events_equal_a_fresh_fetch() -> None:
    """A client that counts along holds what a client that asks anew is told."""

    def change(to: int) -> None:
        cache.set("live-test", to)
        publish("open", "changed", value=to)

    await on_thread(change)(0)
    socket = await open_socket(await on_thread(viewer)(), "open")
    state = await on_thread(cache.get)("live-test")
    for value in range(1, 21):
        await on_thread(change)(value)
    for event in await socket.all_that_comes():
        state = event["value"]
    assert state == await on_thread(cache.get)("live-test") == 20
    await socket.disconnect()


async def test_a_client_that_comes_back_is_told_whether_it_missed_something() -> None:
    user = await on_thread(viewer)()
    socket = await open_socket(user, "open")
    await say("open", "changed")
    seen = (await socket.hear())["seq"]
    await socket.disconnect()

    back = await open_socket(user)
    await back.ask(subscribe=["open"], seen={"open": seen})
    assert await back.hear() == {"topic": "open", "kind": "subscribed", "seq": seen, "missed": False}
    await back.disconnect()

    await say("open", "changed")
    late = await open_socket(user)
    await late.ask(subscribe=["open"], seen={"open": seen})
    assert await late.hear() == {"topic": "open", "kind": "subscribed", "seq": seen + 1, "missed": True}
    await late.disconnect()


async def test_a_page_is_told_whether_something_came_between_its_drawing_and_its_listening() -> None:
    user = await on_thread(viewer)()
    await say("open:drawn", "changed")
    for since, missed in ((time.time() - 60, True), (time.time() + 60, False)):
        socket = await open_socket(user)
        await socket.ask(subscribe=["open:drawn", "open:silent"], seen={}, since=since)
        heard = {event["topic"]: event["missed"] for event in [await socket.hear(), await socket.hear()]}
        assert heard == {"open:drawn": missed, "open:silent": False}
        await socket.disconnect()


async def test_what_comes_late_or_twice_is_not_told_again() -> None:
    socket = await open_socket(await on_thread(viewer)(), "open")
    await say("open", "changed")
    event = await socket.hear()
    for seq in (event["seq"], event["seq"] - 1):
        await on_thread(services._deliver)("open", {**event, "seq": seq})
    assert await socket.receive_nothing(timeout=0.5)
    await socket.disconnect()


async def test_unsubscribed_is_silent() -> None:
    socket = await open_socket(await on_thread(viewer)(), "open")
    await socket.ask(unsubscribe=["open"])
    await asyncio.sleep(0.1)
    await say("open", "changed")
    assert await socket.receive_nothing(timeout=0.3)
    await socket.disconnect()


async def test_a_loss_on_a_quiet_topic_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number went up and no event came: it was lost between the server and us."""
    monkeypatch.setattr(consumers, "WATCH_SECONDS", 0.1)
    socket = await open_socket(await on_thread(viewer)(), "open")
    lost = await on_thread(services._next_seq)("open")
    assert await socket.hear() == {"topic": "open", "kind": "resync", "seq": lost}
    assert await socket.receive_nothing(timeout=0.5)
    await socket.disconnect()


def _restart_of_the_server() -> None:
    services._server().delete(services._counter("open"))


async def test_a_new_server_counts_on_from_beyond(django_user_model: Any) -> None:
    """Were it to start at one again, a number could fit by chance and hide that everything before was lost."""
    await say("open", "changed")
    before = await on_thread(last_seq)("open")
    await on_thread(_restart_of_the_server)()
    await say("open", "changed")
    assert await on_thread(last_seq)("open") > before + 1


async def test_a_server_that_is_away_does_not_stop_the_work(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    await on_thread(services.forget_connection)()
    with capture_logs() as logs:
        await say("open", "changed")
    assert [entry["event"] for entry in logs] == ["live.not_sent"]


class Stuck:
    """A socket whose reader has stopped reading; ``held`` says when it goes on."""

    def __init__(self) -> None:
        self.held = asyncio.Event()
        self.written: list[dict[str, Any]] = []

    async def write(self, event: dict[str, Any]) -> None:
        await self.held.wait()
        self.written.append(event)


async def test_c48_a_flood_costs_a_slow_reader_its_view_and_nothing_else() -> None:
    """C48: 1,000 events to one group, a client that does not read.  The outbox stays small and says "resync"."""
    stuck = Stuck()
    outbox = Outbox(stuck.write)
    task = asyncio.create_task(outbox.run())
    for seq in range(1, 1001):
        outbox.put({"topic": "open", "kind": "changed", "seq": seq})
        await asyncio.sleep(0)
        assert len(outbox._events) <= LIMIT
    stuck.held.set()
    await asyncio.sleep(0.05)
    task.cancel()
    kinds = [event["kind"] for event in stuck.written]
    assert kinds[-1] == "resync"
    assert stuck.written[-1]["seq"] == 1000
    assert kinds.count("resync") == 1


async def test_c48_the_sender_never_meets_a_full_channel_and_the_client_sees_the_gap() -> None:
    """C48 through the real layer: nobody reads for the whole burst, and the sender sends all of it."""
    user = await on_thread(viewer)()
    socket = await open_socket(user, "open")
    start = await on_thread(last_seq)("open")

    def burst() -> None:
        for number in range(1000):
            publish("open", "changed", number=number)

    await on_thread(burst)()
    heard = await socket.all_that_comes(quiet=1.0)
    assert await on_thread(last_seq)("open") == start + 1000
    assert _newest_known(heard) == start + 1000
    await socket.disconnect()


def _newest_known(heard: list[dict[str, Any]]) -> int:
    """What a client knows after ``heard``: its number only counts where there was no gap or a resync closed it."""
    known = heard[0]["seq"]
    for event in heard[1:]:
        if event["kind"] == "resync" or event["seq"] == known + 1:
            known = event["seq"]
        elif event["seq"] > known:  # an older one that stood in the queue before a resync is old news, as in live.js
            raise AssertionError(f"a gap between {known} and {event['seq']} that nobody said")
    return int(known)


async def test_many_sockets_of_one_session_ask_once_per_event(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    look = rights._look

    async def counted(session_key: str | None, topic: object) -> rights.Verdict:
        asked.append(topic)
        return await look(session_key, topic)

    user = await on_thread(viewer)()
    first = await open_socket(user, "open")
    sockets = [first]
    for _ in range(9):
        socket = Socket(dict(first.scope["headers"])[b"cookie"].decode())
        await socket.connect()
        await socket.ask(subscribe=["open"])
        await socket.hear()
        sockets.append(socket)
    monkeypatch.setattr(rights, "_look", counted)
    await say("open", "changed")
    for socket in sockets:
        assert (await socket.hear())["kind"] == "changed"
        await socket.disconnect()
    assert asked == ["open"]
