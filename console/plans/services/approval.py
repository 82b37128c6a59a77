"""The other pairs of eyes: yes or no to one digest, in time, never by the proposer; two people above a size."""

from dataclasses import dataclass, field
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
from console.policies.choices import APPROVE, AUTOMATIC
from console.tenancy.services import Denied, require


@dataclass(frozen=True, slots=True)
class ByPolicy:
    """A yes that no person says now: ``actor`` is who decides in the audit log, ``words`` which decision allows it."""

    actor: str
    words: str
    detail: dict[str, Any] = field(default_factory=dict)


def approve_plan(
    user: Any, plan_id: int, digest: str, reason: str, *, start: bool = False, policy: ByPolicy | None = None
) -> Plan:
    """Sign ``digest``; with ``start`` also run it, or neither.  Where two must approve, the first yes is only kept.

    With ``policy`` it is said by the word of ``user``, who allowed it and is asked for the same rights.

    Raises ``Denied`` (403), ``DigestMissingError`` (428), or ``Conflict`` (409) with the reason, the next step and,
    where the plan no longer holds, the list of what changed; such a plan is stale from then on.
    """
    require(user, "plans.approve_plan")
    plan = addressed(user, plan_id, digest, reason)
    if plan.proposer_id == user.pk:
        raise Denied("You asked for this plan: somebody else must approve it.")
    refuse_unless_holds(plan, selectors.approval_checks(user, plan))
    if start:
        _refuse_early_start(plan, APPROVE if policy is None else AUTOMATIC)
    mark_stale_if_changed(plan)
    with transaction.atomic():
        plan = _sign(user, plan, digest, reason, policy)
        if policy is not None and plan.state != State.APPROVED:
            raise Conflict("Two people must approve it.")
        if start and plan.state == State.APPROVED:
            plan = running.begin(user, plan, actor=None if policy is None else policy.actor)
    return plan


def _refuse_early_start(plan: Plan, least: int) -> None:
    """Below the level "approve" a start is an act of its own, below "automatic" one of a person."""
    level = selectors.level_of(plan)
    if (level.value or 0) < least:
        place = f"{level.origin[:1].upper()}{level.origin[1:]}"
        raise Conflict(
            f"{place} is at the level of {level.words}: an approval starts nothing.",
            next_step="Approve it without starting it; somebody starts it then.",
        )


def _sign(user: Any, plan: Plan, digest: str, reason: str, said: ByPolicy | None) -> Plan:
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
        words = "" if said is None else said.words
        Decision.objects.create(
            plan=plan, verdict=Verdict.APPROVED, user=user, digest=digest, reason=reason, policy=words
        )
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
        actor=user if said is None else said.actor,
        reason=reason,
        narrow={"digest": digest, "expires_at__gt": now},
        detail={"approvals": len(approvals.given), **({} if said is None else said.detail)},
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
