"""Sums of figures of which some may be unknown."""

from collections.abc import Iterable


def known_sum[Number: (int, float)](values: Iterable[Number | None]) -> Number | None:
    """Unknown of one is unknown of all: a part is never told as the whole."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None
