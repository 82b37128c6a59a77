"""Who may listen, asked again for every message."""

import pytest
from channels.db import database_sync_to_async as on_thread
from django.contrib.sessions.models import Session

from console.live import consumers
from console.live.services import publish
from console.tenancy.choices import Role
from console.tenancy.models import User
from tests.builders.people import approver, viewer
from tests.live.sockets import Socket, open_socket, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


async def _say(topic: str) -> None:
    await on_thread(publish)(topic, "thing.happened")


async def test_a_visitor_is_turned_away() -> None:
    socket = Socket(None)
    assert (await socket.connect())[0]
    assert await socket.code() == 4401


async def test_other_sites_may_not_use_our_sessions() -> None:
    cookie, _ = await on_thread(signed_in)(await on_thread(viewer)())
    connected, _ = await Socket(cookie, origin="https://example.org").connect()
    assert not connected


@pytest.mark.parametrize("topic", ["staff", "own:somebody", "nowhere", "open:../x", "", "Open"])
async def test_a_topic_without_right_closes(topic: str) -> None:
    socket = await open_socket(await on_thread(viewer)())
    await socket.ask(subscribe=[topic])
    assert await socket.code() == 4403


async def test_ones_own_topic_is_open() -> None:
    socket = await open_socket(await on_thread(viewer)(), "own:viewer")
    await _say("own:viewer")
    assert (await socket.hear())["kind"] == "thing.happened"
    await socket.disconnect()


async def test_a_right_taken_away_ends_the_flow_with_the_next_message() -> None:
    socket = await open_socket(await on_thread(approver)(), "staff")
    await _say("staff")
    assert (await socket.hear())["topic"] == "staff"
    await User.objects.filter(username="approver").aupdate(role=Role.OPERATOR)
    await _say("staff")
    assert await socket.code() == 4403


@pytest.mark.parametrize("end", ["session", "account", "password"])
async def test_an_ended_session_hears_nothing_more(end: str) -> None:
    user = await on_thread(viewer)()
    socket = await open_socket(user, "open")
    if end == "session":
        await Session.objects.all().adelete()
    elif end == "account":
        await User.objects.filter(pk=user.pk).aupdate(is_active=False)
    else:
        await User.objects.filter(pk=user.pk).aupdate(password="another")
    await _say("open")
    assert await socket.code() == 4401


async def test_an_idle_socket_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "SESSION_SECONDS", 0.1)
    socket = await open_socket(await on_thread(viewer)(), "open")
    await Session.objects.all().adelete()
    assert await socket.code() == 4401


NONSENSE = ["no JSON", "[]", '{"subscribe": "open"}', '{"subscribe": [1]}', '{"seen": []}', "x" * 20_000]


@pytest.mark.parametrize("text", NONSENSE)
async def test_nonsense_closes(text: str) -> None:
    socket = await open_socket(await on_thread(viewer)())
    await socket.send_to(text_data=text)
    assert await socket.code() == 4400


async def test_topics_per_socket_are_limited() -> None:
    socket = await open_socket(await on_thread(viewer)())
    await socket.ask(subscribe=[f"open:{number}" for number in range(consumers.MAX_TOPICS + 1)])
    assert await socket.code() == 4400
