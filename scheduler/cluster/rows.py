"""Rows of one kind of record in canonical order, turned into checked columns."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import ABSENT, Bools, Ints, Longs

# Sums over a whole fleet must stay inside 64 bits: 2^44 MiB is 16 exbibyte, and 2^19 such pods still add up.
MAX_QUANTITY = 2**44
MAX_TIME = 2**53
MAX_DEVICES = 65_536
MAX_COUNT = 2**31 - 2


@dataclass(frozen=True, slots=True)
class Rows[T]:
    """``records[i]`` stood at position ``source[i]`` of the list ``kind`` in the document."""

    kind: str
    records: Sequence[T]
    source: Ints

    def path(self, row: int, field: str) -> str:
        return f"$.{self.kind}[{int(self.source[row])}].{field}"

    def refuse(self, row: int, field: str, value: object, reason: str) -> InputError:
        return InputError(self.path(row, field), value, reason)

    def values(self, field: str) -> Iterable[object]:
        return map(attrgetter(field), self.records)

    def integers(self, field: str, *, low: int = 0, high: int = MAX_QUANTITY) -> Longs:
        """[rows] A required integer; raises ``InputError`` for the first one outside [low, high]."""
        return self._checked(field, list(self.values(field)), low, high)

    def optional(self, field: str, *, low: int = 0, high: int = MAX_QUANTITY) -> Longs:
        """[rows] The same with ``ABSENT`` where the field is not given."""
        return self._checked(field, list(self.values(field)), low, high)

    def flags(self, field: str) -> Bools:
        return np.fromiter(self.values(field), np.bool_, len(self.records))

    def texts(self, field: str) -> tuple[str, ...]:
        """[rows] Text, "" where absent."""
        return tuple([value or "" for value in self.values(field)])  # type: ignore[misc]

    def _checked(self, field: str, values: list[object], low: int, high: int) -> Longs:
        if ABSENT in values:  # given, and yet the number that stands for not given
            raise self.refuse(values.index(ABSENT), field, ABSENT, _outside(ABSENT, low, high))
        try:
            column = np.array([ABSENT if value is None else value for value in values], np.int64)
        except OverflowError:
            row = next(i for i, value in enumerate(values) if value is not None and not -MAX_TIME <= value <= MAX_TIME)  # type: ignore[operator]
            raise self.refuse(row, field, values[row], _outside(values[row], low, high)) from None
        bad = ((column < low) | (column > high)) & (column != ABSENT)
        if bad.any():
            row = int(bad.argmax())
            raise self.refuse(row, field, values[row], _outside(values[row], low, high))
        return column


def _outside(value: object, low: int, high: int) -> str:
    if low == 0 and high == MAX_QUANTITY:
        return "must not be negative" if isinstance(value, int) and value < 0 else f"must be at most {high}"
    return f"must be from {low} to {high}"


def in_order[T](
    kind: str, records: Sequence[T], groups: Sequence[NDArray[np.signedinteger]], name: Callable[[T], str]
) -> Rows[T]:
    """Sort records by the group ranks (first one leads), then by name; an equal identity twice is an ``InputError``."""
    names = [name(record) for record in records]
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    # lexsort takes the leading key last and is stable, so names keep their order inside a group
    order = by_name[np.lexsort([group[by_name] for group in reversed(groups)])] if groups and names else by_name
    rows = Rows(kind, [records[i] for i in order.tolist()], order.astype(np.int32))
    _refuse_twins(rows, [group[order] for group in groups], [names[i] for i in order.tolist()])
    return rows


def _refuse_twins[T](rows: Rows[T], groups: Sequence[NDArray[np.signedinteger]], names: list[str]) -> None:
    same = np.array([a == b for a, b in pairwise(names)], np.bool_)
    for group in groups:
        same &= group[1:] == group[:-1]
    if same.any():
        row = int(same.argmax()) + 1
        first, second = sorted((int(rows.source[row - 1]), int(rows.source[row])))
        raise InputError(f"$.{rows.kind}[{second}].name", names[row], f"the same identity as $.{rows.kind}[{first}]")


def ranks(words: Iterable[str], table: Sequence[str]) -> Ints:
    """The position of each word in a sorted table that holds them all."""
    index = {word: i for i, word in enumerate(table)}
    return np.array([index[word] for word in words], np.int32)


def frozen[A: NDArray[np.generic]](array: A) -> A:
    array.flags.writeable = False
    return array
