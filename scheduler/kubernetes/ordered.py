"""Rows in the order of their keys, kept so while a few of them change."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

FEW = 32  # one change in so many rows is mended in place, more are sorted anew


class Ordered[K: tuple[str, str], V]:
    """A list of values that follows a table of them."""

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._rows: list[V] = []

    def update(self, table: Mapping[K, V], changed: Iterable[K]) -> None:
        """``changed`` = keys that are new, gone, or have another value in ``table``."""
        listed = list(changed)
        if len(listed) * FEW > len(table):
            self._keys = sorted(table)
            self._rows = [table[key] for key in self._keys]
            return
        for key in listed:
            self._mend(key, table)

    def _mend(self, key: K, table: Mapping[K, V]) -> None:
        i = bisect_left(self._keys, key)
        there = i < len(self._keys) and self._keys[i] == key
        if key not in table:
            if there:
                del self._keys[i], self._rows[i]
        elif there:
            self._rows[i] = table[key]
        else:
            self._keys.insert(i, key)
            self._rows.insert(i, table[key])

    def rows(self) -> list[V]:
        """A copy, which stays as it is."""
        return list(self._rows)
