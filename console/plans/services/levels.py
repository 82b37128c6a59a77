"""What the level of automation says about plans that await an approval: kept beside them, so that lists can show it."""

from console.plans import selectors
from console.plans.choices import State
from console.plans.models import Plan
from console.plans.services.transition import announce
from console.policies.choices import OBSERVE
from console.policies.selectors import decided


def mark_reports() -> None:
    """Plans that nobody can approve now, because their level is "observe"; approvals ask for themselves."""
    waiting = Plan.objects.filter(state=State.PROPOSED).select_related("source").defer("document", "curve")
    if not decided().filter(name="autonomy", value=OBSERVE).exists():
        waiting = waiting.filter(report=True)
    for plan in waiting:
        report = selectors.level_of(plan).value == OBSERVE
        if report != plan.report and Plan.objects.filter(pk=plan.pk, state=State.PROPOSED).update(report=report):
            announce(plan, "plan.level_changed")


def leave_to_people(plan: Plan, words: str) -> None:
    """Keep why the policy does not start the plan; "" where it did.

    Of two who look at once one approves it, and what the other was refused for is no reason any more.
    """
    rows = Plan.objects.filter(pk=plan.pk)
    if words:
        rows = rows.filter(approved_at__isnull=True)
    if words != plan.left_to_people and rows.update(left_to_people=words):
        announce(plan, "plan.left_to_people")
