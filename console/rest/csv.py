"""Rows as CSV, sent as they are read, and harmless in a spreadsheet."""

import csv
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import batched

from asgiref.sync import sync_to_async
from django.http import HttpResponse, StreamingHttpResponse

LINES_AT_ONCE = 500  # the server does its work for every piece that it sends, however small
_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Line:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


class Pieces(StreamingHttpResponse):
    """Asked asynchronously, Django would read a sync iterator to its end before it sends anything.

    The rows are read in the thread in which the view ran: the cursor of a database stays in its thread.
    """

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces: Iterator[bytes] = iter(self.streaming_content)  # type: ignore[arg-type]

        def following() -> bytes | None:
            return next(pieces, None)

        while (piece := await sync_to_async(following)()) is not None:
            yield piece


def cell(value: object) -> str:
    """Text of a cell; an apostrophe keeps a spreadsheet from running what a name from outside may hold."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    return f"'{text}" if text.startswith(_STARTS_FORMULA) else text


def csv_response(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> StreamingHttpResponse:
    """Answer with the file ``name`` (ASCII, without ending)."""
    writer = csv.writer(_Line())

    def pieces() -> Iterator[str]:
        yield writer.writerow(head)
        for some in batched(rows, LINES_AT_ONCE, strict=False):
            yield "".join([writer.writerow([cell(value) for value in row]) for row in some])

    response = Pieces(pieces(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def refused(words: str) -> HttpResponse:
    """400 in plain words: a file has no place for a remark."""
    return HttpResponse(words, status=400, content_type="text/plain; charset=utf-8")
