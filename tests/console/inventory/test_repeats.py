"""Maps from memory: asked of the application once, and only for those who may see them at that moment."""

import asyncio
from typing import Any

import pytest

from console.inventory import repeats
from console.inventory.repeats import Repeats
from console.live.rights import Verdict

PATH = "/fleet/map/nodes/7"
FIXED = [(b"Cache-Control", b"private, max-age=31536000, immutable"), (b"ETag", b'"x"')]


class Django:
    """Answers everything with its count of calls."""

    def __init__(self, headers: list[tuple[bytes, bytes]] | None = None, status: int = 200) -> None:
        self.asked = 0
        self.headers = FIXED if headers is None else headers
        self.status = status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        mine = b"%d" % self.asked
        await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": mine})


@pytest.fixture(autouse=True)
def verdicts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Verdict]:
    known = {"may": Verdict.YES, "may-not": Verdict.NO}

    async def check(session: str, topic: str, seq: int) -> Verdict:
        assert topic == "fleet" and seq < 0
        return known.get(session, Verdict.NOBODY)

    monkeypatch.setattr(repeats.rights, "check", check)
    return known


async def _ask(
    application: Any, path: str = PATH, session: str = "may", query: bytes = b"", method: str = "GET"
) -> bytes:
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    heads = [(b"cookie", b"sessionid=" + session.encode()), (b"accept-encoding", b"br")]
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": heads}
    await application(scope, None, send)
    return b"".join(message.get("body", b"") for message in said)


def test_one_asks_and_all_are_answered() -> None:
    async def run() -> list[bytes]:
        return await asyncio.gather(*(_ask(door) for _ in range(20)), _ask(door, query=b"from=6"))

    django = Django()
    door = Repeats(django)
    *same, other = asyncio.run(run())
    assert same == [b"1"] * 20
    assert (other, django.asked) == (b"2", 2)
    assert asyncio.run(_ask(door)) == b"1"


@pytest.mark.parametrize("session", ["may-not", "gone"])
def test_what_is_remembered_is_not_for_everybody(session: str) -> None:
    django = Django()
    door = Repeats(django)
    assert asyncio.run(_ask(door)) == b"1"
    assert asyncio.run(_ask(door, session=session)) == b"2", "the application must refuse in its own way"
    assert asyncio.run(_ask(door)) == b"1"


def test_a_right_taken_away_counts_at_once(verdicts: dict[str, Verdict]) -> None:
    django = Django()
    door = Repeats(django)
    asyncio.run(_ask(door))
    verdicts["may"] = Verdict.NO
    assert asyncio.run(_ask(door)) == b"2"


@pytest.mark.parametrize(
    ("django", "path", "method"),
    [
        (Django(headers=[(b"Cache-Control", b"no-store")]), PATH, "GET"),
        (Django(status=404), PATH, "GET"),
        (Django(), "/fleet/map/nodes/latest", "GET"),
        (Django(), "/fleet/nodes/", "GET"),
        (Django(), PATH, "POST"),
    ],
)
def test_everything_else_passes_through(django: Django, path: str, method: str) -> None:
    door = Repeats(django)
    assert [asyncio.run(_ask(door, path, method=method)) for _ in range(3)] == [b"1", b"2", b"3"]


def test_memory_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "KEPT_BYTES", 3)
    django = Django()
    door = Repeats(django)
    for number in range(5):
        asyncio.run(_ask(door, f"{PATH}{number}"))
    assert asyncio.run(_ask(door, f"{PATH}4")) == b"5"
    assert asyncio.run(_ask(door, f"{PATH}0")) == b"6", "the oldest had to go"
