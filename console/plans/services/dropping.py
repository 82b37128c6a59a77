"""A stopped run goes on without what has changed.

The approval is for the digest, and the digest stays: whole chains of the signed moves are left out, none is added, and
what is left is judged again on the newest snapshot.  Going on is a decision of its own (``resume_plan``).
"""

from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.plans import selectors
from console.plans.choices import Kind, State, StepState
from console.plans.models import Plan, Step
from console.plans.services import checking
from console.plans.services.staleness import refuse_unless_holds
from console.plans.services.transition import Conflict, announce, batches, read, why_not
from console.tenancy.services import require
from console.ui.figures import plural

STOPPED = (State.PAUSED, State.HALTED)
WHY = "left out: what its chain rests on has changed"
LOST = "a move of its chain failed, so the node would not become empty"
NEEDS = "a move that it waits for failed"  # of a rollback, whose moves are worth something each
_CHANGES_KEPT = 20  # of the list in the audit log


def leave_out_changed(user: Any, plan_id: int, reason: str, digest: str = "") -> Plan:
    """Drop every chain of a paused or halted run that no longer holds, and what waits for it; the run stays stopped.

    ``Conflict`` where all holds, where nothing would be left, while moves are in flight, or if ``digest`` is another.
    """
    require(user, "plans.run_plan")
    plan = read(plan_id)
    _refuse(user, plan, reason, digest)
    now = checking.newest_of(plan)
    out, found = without_changed(plan, now)
    if not found:
        remember(plan, now, [])
        raise Conflict("All that is left of the plan holds.", next_step="Resume it.")
    left = plan.steps.filter(state=StepState.WAITING).count() - len(out)
    if left == 0:
        remember(plan, now, found)
        raise Conflict("No chain is left without what changed.", changes=found, next_step=selectors.REST_NEXT_STEP)
    words = f"{plural(len(out), 'move')} left out of chains that changed or lost a move; the other {left:,} hold"
    with transaction.atomic():
        rows = Plan.objects.filter(pk=plan_id, state__in=STOPPED, digest=plan.digest)
        if rows.update(changes=[], reason=words, checked_revision=now.revision, checked_at=timezone.now()) != 1:
            raise Conflict(why_not(plan_id, State.EXECUTING))
        drop_lost(plan, selectors.broken_steps(plan))
        drop(plan, out, WHY)
        audit.record(
            actor=user,
            action="plan.chains_left_out",
            target_kind="plan",
            target_id=str(plan_id),
            reason=reason,
            digest=plan.approved_digest,
            detail={"steps": out, "left": left, "revision": now.revision, "changes": found[:_CHANGES_KEPT]},
        )
        announce(plan, "plan.chains_left_out")
    return read(plan_id)


def _refuse(user: Any, plan: Plan, reason: str, digest: str) -> None:
    refuse_unless_holds(plan, selectors.resume_checks(user, plan))
    if digest and digest != plan.approved_digest:
        raise Conflict(f"You read digest {digest[:8]}, plan {plan.pk} runs as {plan.approved_digest[:8]}.")
    if not reason.strip():
        raise Conflict("Leaving moves out needs a reason: it is kept in the audit log.", next_step="Say why.")
    in_flight = plan.steps.filter(state=StepState.ISSUED).count()
    if in_flight:
        raise Conflict(f"{plural(in_flight, 'move')} in flight: what they leave behind is not known yet.",
                       next_step="Wait until they have ended.")  # fmt: skip


def without_changed(plan: Plan, now: checking.Newest) -> tuple[list[int], list[dict[str, Any]]]:
    """(steps to leave out, what has changed).  Judged again after each cut: others may rest on a chain that went."""
    hit: set[int] = set()
    said: list[dict[str, Any]] = []
    while True:
        out = selectors.broken_steps(plan, hit)
        found = checking.differences(plan, now, checking.rest_of(plan, without=out))
        more = {move for change in found for move in change["moves"]} - hit
        if found and not more:
            raise Conflict("What is left of the plan no longer holds, and no move of it is to blame.", changes=found,
                           next_step=selectors.REST_NEXT_STEP)  # fmt: skip
        if not found:
            return out, said
        said += found
        hit |= more


def drop(plan: Plan, steps: list[int], why: str) -> None:
    for some in batches(steps):
        Step.objects.filter(plan=plan, index__in=some, state=StepState.WAITING).update(
            state=StepState.DROPPED, detail=why
        )


def drop_lost(plan: Plan, steps: list[int]) -> None:
    """Steps that failed moves have made pointless or impossible."""
    drop(plan, steps, NEEDS if plan.kind == Kind.ROLLBACK else LOST)


def look_again(plan: Plan) -> None:
    """Note what of a stopped run no longer holds now, so that its page offers what can be done about it."""
    now = checking.newest_of(plan)
    _out, found = without_changed(plan, now)
    remember(plan, now, found)


def remember(plan: Plan, now: checking.Newest, found: list[dict[str, Any]]) -> None:
    """Keep what has changed under a stopped run, and tell its page where that is news."""
    with transaction.atomic():
        rows = Plan.objects.filter(pk=plan.pk, state__in=STOPPED)
        kept = rows.update(changes=found, checked_revision=now.revision, checked_at=timezone.now())
        if kept == 1 and found != plan.changes:
            announce(plan, "plan.checked")
