"""How long moves are expected to take, from those that were run before; kept, so that it can be held against what came.

Where no move of the kind was ever run on the source, nothing is expected and nothing is compared.
"""

from statistics import median

from console.plans.choices import StepState
from console.plans.models import Plan, Step

REMEMBERED = 200  # of the last moves of each kind
FEWEST = 3  # of one or two moves nothing is concluded


def expect(plan: Plan) -> None:
    """Fill the moves of a plan that was just proposed, in the caller's transaction."""
    for mode in plan.steps.order_by().values_list("mode", flat=True).distinct():
        seconds = usual_seconds(plan.source_id, mode)
        if seconds is not None:
            plan.steps.filter(mode=mode).update(expected_s=seconds)


def usual_seconds(source_id: int, mode: str) -> float | None:
    """Median of the last moves by ``mode`` (copy, restart) that ended well on this source."""
    past = Step.objects.filter(plan__source_id=source_id, mode=mode, state=StepState.SUCCEEDED)
    rows = past.filter(issued_at__isnull=False, ended_at__isnull=False).order_by("-pk")
    spans = [(end - start).total_seconds() for start, end in rows.values_list("issued_at", "ended_at")[:REMEMBERED]
             if start and end]  # fmt: skip
    return median(spans) if len(spans) >= FEWEST else None
