"""CSV leaves while it is still being read, on the server that we run."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.handlers.asgi import ASGIHandler

from console.rest.csv import LINES_AT_ONCE, csv_response


def test_pieces_leave_before_the_rows_are_at_an_end() -> None:
    """Warnings are errors here: Django warns where it collects a sync iterator whole."""
    read: list[int] = []

    def rows() -> Iterator[tuple[int, str]]:
        for number in range(10 * LINES_AT_ONCE):
            read.append(number)
            yield number, "=1+1"

    seen: list[tuple[int, bytes]] = []

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.body" and message.get("body"):
            seen.append((len(read), message["body"]))

    asyncio.run(ASGIHandler().send_response(csv_response("many", ("no", "name"), rows()), send))
    assert [count for count, _body in seen] == [0, *range(LINES_AT_ONCE, 10 * LINES_AT_ONCE + 1, LINES_AT_ONCE)]
    lines = b"".join(body for _count, body in seen).decode().splitlines()
    assert (lines[0], lines[1], len(lines)) == ("no,name", "0,'=1+1", 10 * LINES_AT_ONCE + 1)
