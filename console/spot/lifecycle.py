"""The one life of every lease: which state may follow which.  No other place knows a transition.

A change is a compare-and-set: ``UPDATE … WHERE id = … AND state IN (states that may)``; of two who act at the same
moment one changes the row and the other finds it changed.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import F, QuerySet

from console.spot.choices import State

EDGES: dict[State, frozenset[State]] = {
    State.DRAFT: frozenset({State.WAITING, State.WITHDRAWN}),
    State.WAITING: frozenset({State.STARTING, State.WITHDRAWN, State.EXPIRED, State.FAILED}),
    State.REQUEUED: frozenset({State.STARTING, State.WITHDRAWN, State.EXPIRED, State.FAILED}),
    # A launch that did not come whole is taken back: the lease waits as before, in the line from which it came.
    State.STARTING: frozenset({State.RUNNING, State.WAITING, State.REQUEUED, State.RECLAIMING, State.ENDING}),
    State.RUNNING: frozenset({State.RECLAIMING, State.ENDING}),
    State.RECLAIMING: frozenset({State.REQUEUED, State.ENDED, State.GIVEN_BACK}),
    State.ENDING: frozenset({State.ENDED, State.GIVEN_BACK, State.FAILED}),
}
FINAL = frozenset(state for state in State if state not in EDGES)
IN_LINE = (State.WAITING, State.REQUEUED)
HOLDING = (State.STARTING, State.RUNNING, State.RECLAIMING, State.ENDING)  # what has pods, or may have
OPEN = tuple(state for state in State if state not in FINAL)


class UnknownEdgeError(LookupError):
    """The table has no way from any of the given states: a mistake in our code, never a user's."""


def sources_of(target: State) -> frozenset[State]:
    """The states from which ``target`` can be reached in one step."""
    return frozenset(state for state, targets in EDGES.items() if target in targets)


def move(rows: QuerySet[Any], target: State, *, sources: Iterable[State] | None = None, **fields: Any) -> bool:
    """Set the state of ``rows`` (one lease, possibly narrowed further) where it may be; did it change a row?

    ``sources`` narrows the states to start from; each must have an edge to ``target``.  ``turn`` counts every change.
    """
    allowed = sources_of(target) if sources is None else frozenset(sources)
    if not allowed or any(target not in EDGES.get(state, frozenset()) for state in allowed):
        raise UnknownEdgeError(f"no edge from {sorted(allowed)} to {target}")
    changed = rows.filter(state__in=sorted(allowed)).update(state=target, turn=F("turn") + 1, **fields)
    return changed == 1
