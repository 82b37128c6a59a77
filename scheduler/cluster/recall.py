"""Columns from one document to the next: a record that stood in the last one is not read again.

Records are frozen, and nobody changes the lists and maps in them: the same object says the same.  So a builder that
follows a cluster reads the records that are new, and takes the rows of all others from its last table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.rows import Columns, Rows, as_given, canonical, frozen, refused
from scheduler.cluster.snapshot import Ints, Longs


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in canonical order; row i stood at position ``source[i]`` of the list ``kind`` in the document."""

    kind: str
    source: Ints
    columns: Columns

    def refuse(self, row: int, field: str, value: object, reason: str) -> InputError:
        return refused(self.kind, int(self.source[row]), field, value, reason)

    def values(self, field: str) -> list[Any]:
        return self.columns[field].tolist()  # type: ignore[no-any-return]

    def texts(self, field: str) -> tuple[str, ...]:
        """[rows] Text, "" where absent."""
        return tuple([value or "" for value in self.values(field)])

    def given(self, field: str) -> list[tuple[int, Any]]:
        """The rows that have the field, with its value."""
        return [(row, value) for row, value in enumerate(self.values(field)) if value is not None]


class Recall[T: msgspec.Struct]:
    """Tables of one kind; ``convert`` makes columns of rows, among them ``name`` and the ``groups`` that lead it."""

    def __init__(
        self, kind: str, struct: type[T], groups: tuple[str, ...], convert: Callable[[Rows[T]], Columns]
    ) -> None:
        self._kind, self._struct, self._groups, self._convert = kind, struct, groups, convert
        self._records: list[T] = []  # of the last table, held so that their addresses stay their own
        self._columns: Columns = {}

    def table(self, records: Sequence[T]) -> Table:
        """Raises ``InputError`` for values that are not allowed and for an identity that stands twice."""
        row = self._last_rows(records)
        new = np.flatnonzero(row < 0)
        fresh = as_given(self._kind, self._struct, [records[i] for i in new.tolist()], new)
        table = self._joined(row, new, self._convert(fresh))
        for column in table.columns.values():
            frozen(column)
        self._records = [records[i] for i in table.source.tolist()]
        self._columns = table.columns
        return table

    def _last_rows(self, records: Sequence[T]) -> Longs:
        """[records] Where each stood in the last table, -1 for those that are new."""
        here, last = _addresses(records), _addresses(self._records)
        if not len(last):
            return np.full(len(here), -1)
        by_address = np.argsort(last)
        found = by_address[np.minimum(np.searchsorted(last, here, sorter=by_address), len(last) - 1)]
        return np.where(last[found] == here, found, -1)

    def _joined(self, row: Longs, new: Longs, fresh: Columns) -> Table:
        """The rows of the last table that are still there, and the fresh ones between them."""
        kept = np.flatnonzero(row >= 0)
        kept = kept[np.argsort(row[kept], kind="stable")]
        source = np.concatenate([kept, new]).astype(np.int32)  # what is sorted leads, and is soon sorted again
        at = row.copy()
        at[new] = len(self._records) + np.arange(len(new))
        last = self._columns or fresh
        both = {name: np.concatenate([last[name][: len(self._records)], column]) for name, column in fresh.items()}
        names, *groups = (both[name][at[source]].tolist() for name in ("name", *self._groups))
        source = source[canonical(self._kind, source, names, groups)]
        return Table(self._kind, source, {name: column[at[source]] for name, column in both.items()})


def _addresses(records: Sequence[object]) -> Longs:
    return np.fromiter(map(id, records), np.int64, len(records))
