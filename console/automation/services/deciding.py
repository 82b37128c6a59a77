"""The policy's own yes: the checks of every approval and start, by the same services, in one transaction."""

from console.automation import selectors
from console.automation.choices import ACTOR, Turn
from console.automation.selectors.deciding import LEFT, WAITS
from console.automation.selectors.scorecards import told
from console.automation.services import writing
from console.plans import services as plans
from console.plans.models import Plan
from console.plans.selectors import plan_awaiting
from console.rest.errors import Conflict
from console.tenancy.services import Denied


def decide(plan_id: int, *, complete: bool = True, hands: str = "") -> bool:
    """Start a plan that a routine opened, or say why it is left to people; was it started?

    ``complete``: all runs are written down (``settle``).  ``hands``: why people have it, in words, where they do.
    """
    plan = plan_awaiting(plan_id)
    if plan is None:
        return False
    found = selectors.verdict(plan)
    words = f"{LEFT}: {hands}" if hands else found.words
    if not words and not complete:
        words = f"{WAITS}: not all runs are written down yet"
    if not words:
        words = _start(plan, found)
    plans.leave_to_people(plan, words)
    return not words


def _start(plan: Plan, found: selectors.Verdict) -> str:
    """Approve and start; what speaks against it, in words."""
    allowed = found.allowance
    said = plans.ByPolicy(
        actor=ACTOR,
        words=f"automatic, {allowed.words}",
        detail={
            "allowed_by": allowed.by.get_username(),
            "settings": [
                {"name": row.name, "place": row.place.words, "version": row.version, "by": row.by.get_username()}
                for row in allowed.rows
            ],
            "scorecards": [told(card) for card in found.cards],
        },
    )
    reason = f"Automatic, by policy ({allowed.words}), allowed by {allowed.by.get_username()}"
    try:
        for card in found.cards:
            if card.newest is None or card.newest.turn != Turn.EARNED:
                writing.earn(card, None)  # time alone has brought it about, no run
        plans.approve_plan(allowed.by, plan.pk, plan.digest, reason, start=True, policy=said)
    except (Conflict, Denied) as refused:
        return f"{LEFT}: {getattr(refused, 'reason', refused)}"
    return ""
