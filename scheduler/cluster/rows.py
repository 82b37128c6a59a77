"""Rows of one kind of record in canonical order, turned into checked columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Ints, Longs

# Sums over a whole fleet must stay inside 64 bits: 2^44 MiB is 16 exbibyte, and 2^19 such pods still add up.
MAX_QUANTITY = 2**44
MAX_TIME = 2**53
MAX_DEVICES = 65_536
MAX_COUNT = 2**31 - 2
AT_ONCE = 1024  # records whose fields are taken together
Objects = NDArray[np.object_]
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Rows[T: msgspec.Struct]:
    """``records[i]`` stood at position ``source[i]`` of the list ``kind`` in the document; ``columns`` = its fields."""

    kind: str
    records: Sequence[T]
    source: Ints
    columns: Mapping[str, list[Any]]

    def refuse(self, row: int, field: str, value: object, reason: str) -> InputError:
        return refused(self.kind, int(self.source[row]), field, value, reason)

    def values(self, field: str) -> list[Any]:
        return self.columns[field]

    def integers(self, field: str, *, low: int = 0, high: int = MAX_QUANTITY) -> Longs:
        """[rows] A required integer; raises ``InputError`` for the first one outside [low, high]."""
        return self._checked(field, self.columns[field], low, high)

    def optional(self, field: str, *, low: int = 0, high: int = MAX_QUANTITY) -> Longs:
        """[rows] The same with ``ABSENT`` where the field is not given."""
        return self._checked(field, self.columns[field], low, high)

    def flags(self, field: str) -> Bools:
        return np.array(self.columns[field], np.bool_)

    def texts(self, field: str) -> tuple[str, ...]:
        """[rows] Text, "" where absent."""
        return tuple([value or "" for value in self.columns[field]])

    def given(self, field: str) -> list[tuple[int, Any]]:
        """The rows that have the field, with its value; nothing empty or false."""
        return [(row, value) for row, value in enumerate(self.columns[field]) if value]

    def ranks(self, field: str, table: Sequence[str]) -> Ints:
        """[rows] Position of the field's text in a table that holds them all; ``UNKNOWN`` where absent."""
        return ranks(self.columns[field], table)

    def _checked(self, field: str, values: list[Any], low: int, high: int) -> Longs:
        absent = values.count(None)
        if absent == len(values):
            return np.full(len(values), ABSENT)
        try:
            column = np.array([ABSENT if value is None else value for value in values] if absent else values, np.int64)
        except OverflowError:
            row = next(i for i, value in enumerate(values) if value is not None and not -MAX_TIME <= value <= MAX_TIME)
            raise self.refuse(row, field, values[row], _outside(values[row], low, high)) from None
        if (column == ABSENT).sum() > absent:  # given, and yet the number that stands for not given
            raise self.refuse(values.index(ABSENT), field, ABSENT, _outside(ABSENT, low, high))
        bad = ((column < low) | (column > high)) & (column != ABSENT)
        if bad.any():
            row = int(bad.argmax())
            raise self.refuse(row, field, values[row], _outside(values[row], low, high))
        return column


def amounts(given: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Amounts by name in order; an amount of 0 is as good as none."""
    return tuple(sorted((name, amount) for name, amount in given.items() if amount))


def refused(kind: str, source: int, field: str, value: object, reason: str) -> InputError:
    return InputError(f"$.{kind}[{source}].{field}", value, reason)


def _outside(value: object, low: int, high: int) -> str:
    if low == 0 and high == MAX_QUANTITY:
        return "must not be negative" if isinstance(value, int) and value < 0 else f"must be at most {high}"
    return f"must be from {low} to {high}"


def as_given[T: msgspec.Struct](
    kind: str, struct: type[T], records: Sequence[T], source: NDArray[np.signedinteger] | None = None
) -> Rows[T]:
    """Records in the order of the document, all of its list or those at ``source``.

    Their fields are taken in one visit to each: the records of a fleet lie all over memory, and going to each of them
    once for every field costs ten times as much.
    """
    fields = struct.__struct_fields__
    columns: list[list[Any]] = [[] for _ in fields]
    for at in range(0, len(records), AT_ONCE):
        rows = map(msgspec.structs.astuple, records[at : at + AT_ONCE])
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(values)
    places = np.arange(len(records)) if source is None else source
    return Rows(kind, records, places.astype(np.int32), dict(zip(fields, columns, strict=True)))


def in_order[T: msgspec.Struct](rows: Rows[T], *groups: str) -> Rows[T]:
    """Sort by the fields of ``groups`` (first one leads), then by name; raises ``InputError`` for twins."""
    return arranged(rows, canonical(rows.kind, rows.source, rows.values("name"), [rows.values(g) for g in groups]))


def arranged[T: msgspec.Struct](rows: Rows[T], order: Longs) -> Rows[T]:
    """The same rows in another order; ``order[i]`` = the row that comes to stand at i."""
    if np.array_equal(order, np.arange(len(order))):
        return rows
    picked = order.tolist()
    columns = {field: list(map(values.__getitem__, picked)) for field, values in rows.columns.items()}
    return Rows(rows.kind, list(map(rows.records.__getitem__, picked)), rows.source[order], columns)


def canonical(kind: str, source: Ints, names: list[str], groups: Sequence[list[str]]) -> Longs:
    """The order by groups (first one leads), then by name: ``order[i]`` = the row that comes to stand at i.

    Raises ``InputError`` for two rows of one identity.
    """
    ranked = [ranks(group, sorted(set(group))) for group in groups]
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    if groups and names:
        # lexsort takes the leading key last and is stable, so names keep their order inside a group
        order = order[np.lexsort([group[order] for group in reversed(ranked)])]
    sorted_names = list(map(names.__getitem__, order.tolist()))
    same = np.array(list(map(eq, sorted_names, sorted_names[1:])), np.bool_)
    for group in ranked:
        same &= group[order[1:]] == group[order[:-1]]
    if same.any():
        row = int(same.argmax())
        first, second = sorted(source[order[row : row + 2]].tolist())
        raise refused(kind, second, "name", sorted_names[row], f"the same identity as $.{kind}[{first}]")
    return order


def ranks(words: Iterable[str | None], table: Sequence[str]) -> Ints:
    """Position of each word in a table that holds them all; ``UNKNOWN`` where absent."""
    index: dict[str | None, int] = {None: UNKNOWN, "": UNKNOWN} | {word: i for i, word in enumerate(table)}
    return np.array([index[word] for word in words], np.int32)


def objects(values: Sequence[Any]) -> Objects:
    """One object a row, whatever it is: numpy would make a second axis of tuples."""
    return np.fromiter(values, np.object_, len(values))


def frozen[A: NDArray[np.generic]](array: A) -> A:
    array.flags.writeable = False
    return array
