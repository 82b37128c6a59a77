"""A plan that no longer holds says so, keeps the list of what changed, and stays readable."""

from typing import Any

from django.utils import timezone

from console.plans import selectors
from console.plans.choices import State
from console.plans.models import Plan
from console.plans.services import checking
from console.plans.services.transition import Conflict, change


def refuse_unless_holds(plan: Plan, checks: list[selectors.Check]) -> None:
    """The first check that does not hold is the reason; staleness brings its list along."""
    for check in checks:
        if not check.holds:
            changes = plan.changes if plan.state == State.STALE else ()
            raise Conflict(check.reason, next_step=check.next_step, changes=changes)


def mark_stale_if_changed(plan: Plan) -> None:
    """Ask the newest snapshot; where the plan no longer holds it becomes stale here and now."""
    found = checking.check_again(plan)
    if found:
        go_stale(plan, found)
        words = f"{selectors.stale_words(plan, found)}."
        raise Conflict(words, changes=found, next_step=selectors.STALE_NEXT_STEP)


def go_stale(plan: Plan, found: list[dict[str, Any]]) -> None:
    change(
        plan.pk,
        State.STALE,
        actor=None,
        reason=selectors.stale_words(plan, found),
        detail={"changes": found[:20], "count": len(found)},
        changes=found,
        ended_at=timezone.now(),
    )
