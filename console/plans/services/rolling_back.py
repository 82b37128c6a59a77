"""Taking an ended run back: a plan of its own, through the same approval, locks and checks as every other plan."""

from typing import Any

from console.plans import selectors
from console.plans.choices import StepState
from console.plans.models import Plan
from console.plans.services import checking
from console.plans.services.deriving import Descent, derive
from console.plans.services.staleness import refuse_unless_holds
from console.plans.services.transition import Conflict, read
from console.tenancy.services import require
from console.ui.figures import plural
from console.ui.tones import reason_of
from scheduler.plan import plan as core
from scheduler.plan.inverse import inverse


def roll_back(user: Any, plan_id: int, reason: str) -> Plan:
    """Propose the plan that takes back what ``plan_id`` has done, as far as that can be taken back now.

    ``Conflict`` while it runs, where it moved nothing, where another plan takes it back already, and where nothing can
    go back: then ``changes`` says why, pod by pod.
    """
    require(user, "plans.request_plan")
    plan = read(plan_id)
    refuse_unless_holds(plan, selectors.rollback_checks(plan))
    if not reason.strip():
        raise Conflict("Taking a plan back needs a reason: whoever approves it reads it.", next_step="Say why.")
    now = checking.newest_of(plan)
    undone = checking.signed(plan)
    done = list(plan.steps.filter(state=StepState.SUCCEEDED).order_by("index").values_list("index", flat=True))
    answer = inverse(undone, done, now.snapshot)
    if not answer.moves:
        raise Conflict(f"Nothing of plan {plan_id} can be taken back.", changes=_stays(undone, answer))
    title = f"take back plan {plan_id}: {plan.title}"[:200]
    origin = f"takes back {len(answer.moves):,} of {plural(len(done), 'move')} of plan {plan_id}"
    return derive(
        Descent(
            user=user, parent=plan, origin=origin, because=reason.strip(), title=title, undoes=plan,
            left_out=tuple(_stays(undone, answer)),
        ),
        answer,
        now,
    )  # fmt: skip


def _stays(undone: core.Plan, answer: core.Plan) -> list[dict[str, Any]]:
    """What cannot go back, in the shape of changes; moves are those of the plan that is undone."""
    place = {move.pod: index for index, move in enumerate(undone.moves)}
    return [
        {
            "moves": [place[one.pod]],
            "kind": "pod",
            "object": one.pod,
            "field": "cannot go back",
            "was": None,
            "now": f"{reason_of(one.constraint).label} ({kept.node})",
        }
        for kept in answer.kept
        for one in kept.blockers
    ]
