"""What of a run could be taken back, and whether now is the time; what was taken back by which plan."""

from typing import Any

from django.db.models import QuerySet

from console.plans import lifecycle
from console.plans.choices import State, StepState
from console.plans.models import Plan
from console.plans.selectors.checks import Check
from console.plans.selectors.lists import HEAVY
from console.tenancy.services import require
from console.ui.figures import plural

# A rollback in one of these states has come to nothing: another one may be asked for.
COME_TO_NOTHING = frozenset({State.FAILED, State.CANCELLED, State.REJECTED, State.STALE, State.EXPIRED})


def rollbacks(viewer: Any, plan: Plan) -> QuerySet[Plan]:
    """Plans that take this one back, oldest first."""
    require(viewer, "plans.view_plan")
    return plan.rollbacks.defer(*HEAVY).order_by("pk")


def rollback_checks(plan: Plan) -> list[Check]:
    """In the order in which a refusal names them."""
    done = plan.steps.filter(state=StepState.SUCCEEDED).count()
    in_flight = plan.steps.filter(state=StepState.ISSUED).count()
    words = plan.get_state_display().lower()
    over = plan.state in lifecycle.FINAL and plan.started_at is not None
    step = "Abort it first." if plan.is_running else ""
    return [
        Check("ended", "Run has ended", over, words, f"Plan {plan.pk} is {words}: only a run that ended is taken back.",
              step),
        Check("settled", "Nothing in flight", in_flight == 0, "", f"{plural(in_flight, 'move')} in flight.",
              "Wait until they have ended."),
        Check("done", "Moves were done", done > 0, f"{done:,}", f"Plan {plan.pk} has moved nothing."),
        _first(plan),
    ]  # fmt: skip


def _first(plan: Plan) -> Check:
    """Of two plans that take one back the second would find nothing left to do."""
    other = plan.rollbacks.exclude(state__in=COME_TO_NOTHING)
    found = other.only("id", "state").order_by("-pk").first()
    if found is None:
        return Check("first", "Not taken back yet", True, "")
    reason = f"Plan {found.pk} takes plan {plan.pk} back: it is {found.get_state_display().lower()}."
    return Check("first", "Not taken back yet", False, f"plan {found.pk}", reason, f"See plan {found.pk}.")
