"""The named steps of planning and of a move, in one place.

A crash between any two of them must lose nothing and do nothing twice; tests/faults kills a worker at each.
"""

from collections.abc import Callable
from enum import StrEnum


class Milestone(StrEnum):
    PLANNING_LEASED = "planning leased"
    SNAPSHOT_LOADED = "snapshot loaded"
    PLAN_COMPUTED = "plan computed"
    PROPOSAL_WRITTEN = "proposal written, not committed"
    PROPOSAL_COMMITTED = "proposal committed"
    RUN_LEASED = "run leased"
    WAVE_OBSERVED = "wave observed"
    WAVE_VERIFIED = "wave verified"
    OBJECTS_READ = "pod and nodes read again"
    STEP_CLAIMED = "step claimed"
    OPERATION_SENT = "operation sent to the cluster"
    OUTCOME_KNOWN = "outcome known, not recorded"
    STEP_RECORDED = "step recorded"
    WAVE_ENDED = "wave ended"
    RUN_WRITTEN = "end of the run written, not committed"
    RUN_COMMITTED = "end of the run committed"


PLANNING = tuple(Milestone)[:5]
MOVING = tuple(Milestone)[5:]

_watchers: list[Callable[[Milestone], None]] = []


def watch(watcher: Callable[[Milestone], None]) -> None:
    """Call ``watcher`` at every milestone of this process from now on."""
    _watchers.append(watcher)


def reach(milestone: Milestone) -> None:
    for watcher in _watchers:
        watcher(milestone)
