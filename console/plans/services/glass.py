"""Passing a soft check for once: short, with a reason, and somebody else looks at it afterwards."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.audit import services as audit
from console.live.services import publish
from console.plans import lifecycle
from console.plans.models import Override, Plan
from console.plans.selectors import glass_of
from console.plans.services.transition import Conflict, announce, read
from console.tenancy.services import Denied, require

LASTS = timedelta(minutes=15)


def break_glass(user: Any, plan_id: int, reason: str) -> Plan:
    """For 15 minutes this plan passes the soft checks: its windows, the second approver.  Opens a review.

    Hard checks (another person than the proposer, fresh data, freezes, the judge) stand as ever.
    """
    require(user, "plans.break_glass")
    plan = read(plan_id)
    if not reason.strip():
        raise Conflict("Breaking the glass needs a reason: somebody else will review it.", next_step="Say why.")
    if plan.state not in lifecycle.EDGES or not plan.digest:
        raise Conflict(f"Plan {plan_id} is {plan.get_state_display().lower()}: there is nothing to pass.")
    now = timezone.now()
    with transaction.atomic():
        Plan.objects.select_for_update().get(pk=plan_id)  # of two at once the second sees the first
        broken = glass_of(plan, now)
        if broken is not None:
            until = f"{broken.expires_at:%H:%M} UTC"
            raise Conflict(
                f"The glass of plan {plan_id} is broken already, by {broken.user.get_username()} until {until}."
            )
        row = Override.objects.create(
            plan=plan, user=user, digest=plan.digest, reason=reason.strip(), since=now, expires_at=now + LASTS
        )
        audit.record(
            actor=user, action="glass.broken", target_kind="plan", target_id=plan_id, reason=row.reason,
            digest=plan.digest, detail={"review": row.pk, "until": row.expires_at.isoformat()},
        )  # fmt: skip
        announce(plan, "glass.broken", until=row.expires_at.isoformat())
    return plan


def close_review(user: Any, review_id: int, finding: str) -> Override:
    """Somebody else has looked at it and says what they found."""
    require(user, "plans.break_glass")
    row = get_object_or_404(Override.objects.select_related("user"), pk=review_id)
    if row.user_id == user.pk:
        raise Denied("You broke this glass: somebody else must review it.")
    if not finding.strip():
        raise Conflict("A review needs a finding: it is kept in the audit log.", next_step="Say what you found.")
    with transaction.atomic():
        rows = Override.objects.filter(pk=review_id, closed_at__isnull=True)
        if rows.update(closed_at=timezone.now(), closed_by=user, finding=finding.strip()) != 1:
            raise Conflict(f"Review {review_id} is closed already.")
        audit.record(
            actor=user, action="glass.reviewed", target_kind="plan", target_id=row.plan_id, reason=finding.strip(),
            detail={"review": review_id, "broken_by": row.user.get_username()},
        )  # fmt: skip
        publish("plans", "glass.reviewed", plan=row.plan_id, review=review_id)
    return Override.objects.select_related("plan", "user", "closed_by").get(pk=review_id)
