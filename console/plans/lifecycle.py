"""The one life of every plan: which state may follow which.  No other place knows a transition.

A change is a compare-and-set: ``UPDATE … WHERE id = … AND state IN (states that may)``.  Of two people who act at the
same moment one changes the row and the other finds it changed, whatever the database.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from console.plans.choices import State

EDGES: dict[State, frozenset[State]] = {
    State.REQUESTED: frozenset({State.PLANNING, State.CANCELLED, State.FAILED}),
    State.PLANNING: frozenset({State.PROPOSED, State.NOTHING_TO_DO, State.FAILED, State.CANCELLED}),
    State.PROPOSED: frozenset({State.APPROVED, State.REJECTED, State.STALE, State.EXPIRED, State.CANCELLED}),
    State.APPROVED: frozenset({State.EXECUTING, State.STALE, State.EXPIRED, State.CANCELLED}),
    State.EXECUTING: frozenset({State.SUCCEEDED, State.PAUSED, State.HALTED, State.ABORTED, State.FAILED}),
    State.PAUSED: frozenset({State.EXECUTING, State.ABORTED}),
    State.HALTED: frozenset({State.EXECUTING, State.ABORTED}),
}
FINAL = frozenset(state for state in State if state not in EDGES)
AWAITING = (State.PROPOSED, State.APPROVED)  # what a newer snapshot can make stale and time can make expire
COMPUTING = (State.REQUESTED, State.PLANNING)
RUNNING = (State.EXECUTING, State.PAUSED, State.HALTED)  # what holds locks on its nodes


class UnknownEdgeError(LookupError):
    """The table has no way from any of the given states: a mistake in our code, never a user's."""


def sources_of(target: State) -> frozenset[State]:
    """The states from which ``target`` can be reached in one step."""
    return frozenset(state for state, targets in EDGES.items() if target in targets)


def move(rows: QuerySet[Any], target: State, *, sources: Iterable[State] | None = None, **fields: Any) -> bool:
    """Set the state of ``rows`` (one plan, possibly narrowed further) to ``target`` where it may; did it change a row?

    ``sources`` narrows the states to start from; each must have an edge to ``target``.
    """
    allowed = sources_of(target) if sources is None else frozenset(sources)
    if not allowed or any(target not in EDGES.get(state, frozenset()) for state in allowed):
        raise UnknownEdgeError(f"no edge from {sorted(allowed)} to {target}")
    return rows.filter(state__in=sorted(allowed)).update(state=target, **fields) == 1
