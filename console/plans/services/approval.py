"""The other pairs of eyes: yes or no to one digest, in time, never by the proposer; two people above a size."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.plans import selectors
from console.plans.choices import State, Verdict
from console.plans.models import Decision, Plan
from console.plans.services import running
from console.plans.services.staleness import mark_stale_if_changed, refuse_unless_holds
from console.plans.services.transition import Conflict, DigestMissingError, announce, change, read, why_not
from console.policies.choices import APPROVE
from console.tenancy.services import Denied, require


def approve_plan(user: Any, plan_id: int, digest: str, reason: str, *, start: bool = False) -> Plan:
    """Sign ``digest``; with ``start`` also run it, or neither.  Where two must approve, the first yes is only kept.

    Raises ``Denied`` (403), ``DigestMissingError`` (428), or ``Conflict`` (409) with the reason, the next step and,
    where the plan no longer holds, the list of what changed; such a plan is stale from then on.
    """
    require(user, "plans.approve_plan")
    plan = addressed(user, plan_id, digest, reason)
    if plan.proposer_id == user.pk:
        raise Denied("You asked for this plan: somebody else must approve it.")
    refuse_unless_holds(plan, selectors.approval_checks(user, plan))
    if start:
        _refuse_early_start(plan)
    mark_stale_if_changed(plan)
    with transaction.atomic():
        plan = _sign(user, plan, digest, reason)
        if start and plan.state == State.APPROVED:
            plan = running.begin(user, plan)
    return plan


def _refuse_early_start(plan: Plan) -> None:
    """Below the level "approve" a start is an act of its own."""
    level = selectors.level_of(plan)
    if (level.value or 0) < APPROVE:
        place = f"{level.origin[:1].upper()}{level.origin[1:]}"
        raise Conflict(
            f"{place} is at the level of {level.words}: an approval starts nothing.",
            next_step="Approve it without starting it; somebody starts it then.",
        )


def _sign(user: Any, plan: Plan, digest: str, reason: str) -> Plan:
    """Keep this person's yes; the plan is approved if it was the last one that was missing."""
    now = timezone.now()
    # Of two people who sign at once the second waits here and finds the first one's yes.
    open_still = Plan.objects.select_for_update().filter(pk=plan.pk, state=State.PROPOSED, digest=digest)
    if not list(open_still.filter(expires_at__gt=now).values_list("pk", flat=True)):
        raise Conflict(why_not(plan.pk, State.APPROVED))
    twice = Decision.objects.filter(plan=plan, user=user, verdict=Verdict.APPROVED).exists()
    if twice and selectors.glass_of(plan) is None:
        raise Conflict(selectors.TWICE)
    if not twice:
        Decision.objects.create(plan=plan, verdict=Verdict.APPROVED, user=user, digest=digest, reason=reason)
    policy = selectors.rules_of(plan)
    approvals = selectors.approvals_of(plan, policy)
    if approvals.missing:
        detail = {"approvals": len(approvals.given), "needed": approvals.needed, "because": approvals.why}
        audit.record(
            actor=user, action="plan.approval_given", target_kind="plan", target_id=plan.pk, reason=reason,
            digest=digest, detail=detail,
        )  # fmt: skip
        announce(plan, "plan.approval_given", approvals=len(approvals.given), needed=approvals.needed)
        return read(plan.pk)
    return change(
        plan.pk,
        State.APPROVED,
        actor=user,
        reason=reason,
        narrow={"digest": digest, "expires_at__gt": now},
        detail={"approvals": len(approvals.given)},
        approver=user,
        approved_digest=digest,
        approved_at=now,
        expires_at=now + timedelta(minutes=policy["valid_minutes"].value or 0),
    )


def reject_plan(user: Any, plan_id: int, digest: str, reason: str) -> Plan:
    """The plan ends here; its page stays."""
    require(user, "plans.approve_plan")
    plan = addressed(user, plan_id, digest, reason)
    if plan.proposer_id == user.pk:
        raise Denied("You asked for this plan: cancel it instead of rejecting it.")
    with transaction.atomic():
        plan = change(
            plan_id, State.REJECTED, actor=user, reason=reason, narrow={"digest": digest}, ended_at=timezone.now()
        )
        Decision.objects.create(plan=plan, verdict=Verdict.REJECTED, user=user, digest=digest, reason=reason)
    return plan


def addressed(user: Any, plan_id: int, digest: str, reason: str) -> Plan:
    """The plan, if the request names the digest that the plan has now and says why."""
    if not digest:
        raise DigestMissingError
    plan = read(plan_id)
    if not plan.digest:
        raise Conflict(f"Plan {plan_id} is {plan.get_state_display().lower()}: there is nothing to decide yet.")
    if digest != plan.digest:
        raise Conflict(
            f"You read digest {digest[:8]}, plan {plan_id} has {plan.digest[:8]}.", next_step="Read the plan again."
        )
    if not reason.strip():
        raise Conflict("A decision needs a reason: it is kept in the audit log.", next_step="Say why.")
    return plan
