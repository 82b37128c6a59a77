"""What may make a waiting job start, in a closed set of kinds and outcomes.

``found``: it would start.  ``none``: looked at, and it would not.  ``budget``: the search ended before it knew.
``unknown``: that depends on what nobody has stated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.plan.plan import Plan

QUOTA_MORE, BUDGET_MORE, VICTIMS, MOVES, SHAPE, MODEL, WAIT = (
    "quota", "budget", "victims", "consolidation", "smaller_shape", "model", "wait",
)  # fmt: skip
FOUND, BUDGET, UNSTATED, NONE = "found", "budget", "unknown", "none"
BEST_FIRST = (FOUND, BUDGET, UNSTATED, NONE)
Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class Remedy:
    """``cost`` in ``unit``; None: unknown, or there is none to state."""

    kind: str
    outcome: str  # of ``BEST_FIRST``
    cost: float | None
    unit: str
    detail: str
    numbers: Mapping[str, Value] = field(default_factory=dict)
    plan: Plan | None = None  # of MOVES
