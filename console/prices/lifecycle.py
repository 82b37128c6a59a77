"""The one life of a proposal: which state may follow which.  Every change is a compare-and-set, as it is for plans."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from console.prices.choices import State

EDGES: dict[State, frozenset[State]] = {
    State.COMPUTING: frozenset({State.DRAFT, State.UNCHANGED, State.FAILED, State.WITHDRAWN}),
    State.DRAFT: frozenset({State.COMPUTING, State.PROPOSED, State.WITHDRAWN, State.EXPIRED, State.STALE}),
    State.PROPOSED: frozenset({State.APPROVED, State.REJECTED, State.WITHDRAWN, State.EXPIRED, State.STALE}),
    State.APPROVED: frozenset({State.IN_FORCE, State.WITHDRAWN, State.EXPIRED, State.STALE}),
}
FINAL = frozenset(state for state in State if state not in EDGES)
OPEN = tuple(EDGES)
LAPSES = (State.DRAFT, State.PROPOSED)  # what time alone ends


class UnknownEdgeError(LookupError):
    """The table has no way from any of the given states: a mistake in our code, never a user's."""


def sources_of(target: State) -> frozenset[State]:
    return frozenset(state for state, targets in EDGES.items() if target in targets)


def move(rows: QuerySet[Any], target: State, *, sources: Iterable[State] | None = None, **fields: Any) -> bool:
    """Set the state of ``rows`` (one proposal, possibly narrowed further) where it may; did it change a row?"""
    allowed = sources_of(target) if sources is None else frozenset(sources)
    if not allowed or any(target not in EDGES.get(state, frozenset()) for state in allowed):
        raise UnknownEdgeError(f"no edge from {sorted(allowed)} to {target}")
    return rows.filter(state__in=sorted(allowed)).update(state=target, **fields) == 1
