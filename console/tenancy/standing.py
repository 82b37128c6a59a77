"""Who has what of a GPU model, as plain figures; worked out by ``services.standings``.  GPU milli throughout."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from console.tenancy.choices import EntryKind
from console.tenancy.entries import Docs

GPU = 1000
TENANT, COHORT = EntryKind.TENANT.value, EntryKind.COHORT.value


class Use(NamedTuple):
    """What one tenant itself (without its teams) holds and waits for."""

    hp: int = 0
    lp: int = 0
    pending: int = 0

    def __add__(self, other: "Use") -> "Use":  # type: ignore[override]
        return Use(self.hp + other.hp, self.lp + other.lp, self.pending + other.pending)


NO_USE = Use()
type UseOf = Mapping[tuple[str, str], Use]  # by tenant, GPU model


class Standing(NamedTuple):
    """One tenant (with its teams) or cohort on one model.  None: not set, or nothing can be said."""

    nominal: int | None
    borrowing_limit: int | None
    lending_limit: int | None
    hp: int
    lp: int
    pending: int
    borrowed: int
    lent: int
    over: int  # beyond what may be borrowed, or beyond the quota where nobody lends
    may_borrow: int | None  # in all, what is borrowed now included
    borrows: bool | None = None  # whether it may borrow more than it does; None: nothing can be said


def lineage(docs: Docs, tenant: str) -> Iterator[str]:
    """The tenant and all above it, in the book's tree."""
    here: str | None = tenant
    while here:
        yield here
        document = docs.get((TENANT, here))
        here = document["parent"] if document is not None else None


def split(total: int, weights: Sequence[int]) -> list[int]:
    """Whole parts in proportion to the weights that add up to ``total`` exactly, none above its weight."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    ends, seen = [0], 0
    for weight in weights:
        seen += weight
        ends.append(total * seen // whole)
    return [after - before for before, after in pairwise(ends)]
