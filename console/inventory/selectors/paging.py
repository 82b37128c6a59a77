"""Pages of a list that stands still: a cursor names the revision that it was cut from, so that nothing is shown twice
or never while the cluster changes."""

from collections.abc import Sequence
from dataclasses import dataclass

PAGE = 50
MOST = 200


class BadCursorError(ValueError):
    """The cursor is none of ours."""


@dataclass(frozen=True, slots=True)
class Page[Row]:
    """Rows ``start``+1 .. ``start`` + len(rows) of ``total``, as of ``revision`` (0: nothing was observed yet)."""

    rows: tuple[Row, ...]
    total: int
    start: int
    revision: int
    next: str | None
    previous: str | None

    @property
    def end(self) -> int:
        return self.start + len(self.rows)


def parse_cursor(cursor: str) -> tuple[int | None, int]:
    """``<revision>.<start>``; "" is the first page of the newest revision.  Raises ``BadCursorError``."""
    if not cursor:
        return None, 0
    revision, _, start = cursor.partition(".")
    if not (revision.isdecimal() and start.isdecimal() and len(cursor) < 40):
        raise BadCursorError("the cursor is not one that this list gave out")
    return int(revision), int(start)


def size_of(limit: str | int | None) -> int:
    """1 to 200 rows; anything else is the default."""
    text = str(limit or "")
    return min(max(int(text), 1), MOST) if text.isdecimal() and len(text) < 9 else PAGE


def cut[Row](rows: Sequence[Row], total: int, start: int, revision: int, size: int) -> Page[Row]:
    """The page that ``rows`` already are, with the cursors of its neighbours."""
    after, before = start + size, max(start - size, 0)
    return Page(
        rows=tuple(rows),
        total=total,
        start=start,
        revision=revision,
        next=f"{revision}.{after}" if after < total else None,
        previous=f"{revision}.{before}" if start > 0 else None,
    )
