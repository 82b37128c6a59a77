"""The one life of a sleeper and of a recall: which state may follow which.  Every change is a compare-and-set."""

from typing import Any

from django.db.models import QuerySet

from console.standby.choices import RecallState, SleeperState

SLEEPER: dict[SleeperState, frozenset[SleeperState]] = {
    SleeperState.ASKED: frozenset({SleeperState.ASLEEP, SleeperState.REFUSED, SleeperState.WAKING, SleeperState.OVER}),
    SleeperState.ASLEEP: frozenset({SleeperState.WAKING, SleeperState.OVER}),
    SleeperState.WAKING: frozenset({SleeperState.OVER, SleeperState.ASLEEP}),  # a recall that failed leaves it asleep
}
RECALL: dict[RecallState, frozenset[RecallState]] = {
    RecallState.ASKED: frozenset({RecallState.RUNNING, RecallState.SERVING, RecallState.FAILED, RecallState.MOOT}),
    RecallState.RUNNING: frozenset({RecallState.SERVING, RecallState.FAILED}),
}


def move(rows: QuerySet[Any], target: SleeperState | RecallState, **fields: Any) -> bool:
    """Set the state of one row where it may be set; did that change it?"""
    table: dict[Any, frozenset[Any]] = SLEEPER if isinstance(target, SleeperState) else RECALL
    sources = [state.value for state, targets in table.items() if target in targets]
    return bool(rows.filter(state__in=sources).update(state=target, **fields))
