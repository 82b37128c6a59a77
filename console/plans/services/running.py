"""Start, pause, resume, abort: what people do to a run.  What the executor does is in stepping and execution."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.dispatch.services import enqueue
from console.plans import selectors
from console.plans.choices import State, StepState
from console.plans.models import Plan, Step
from console.plans.services import checking, dropping, locks, pacing, patience
from console.plans.services.broker import require_broker
from console.plans.services.staleness import mark_stale_if_changed, refuse_unless_holds
from console.plans.services.transition import Conflict, announce, change, read, why_not
from console.tenancy.services import require


def start_plan(user: Any, plan_id: int, digest: str | None = None) -> Plan:
    """Run an approved plan now.  Checked against the newest snapshot before it answers; ``Conflict`` has the list."""
    require(user, "plans.run_plan")
    plan = read(plan_id)
    if digest is not None and digest != plan.digest:
        raise Conflict(f"You read digest {digest[:8]}, plan {plan_id} has {plan.digest[:8]}.")
    refuse_unless_holds(plan, selectors.start_checks(user, plan))
    mark_stale_if_changed(plan)
    return begin(user, plan)


def begin(user: Any, plan: Plan, *, actor: str | None = None) -> Plan:
    """Lock the nodes, set the plan running and send it to an executor; in the caller's transaction, all or nothing.

    ``actor`` is who starts it in the audit log where ``user`` does not, but a policy by the word of ``user``.
    """
    require(user, "plans.run_plan")
    runs, gate = selectors.may_run_now(plan)
    if not runs:
        raise Conflict(f"Closed: {gate.why}; {gate.words}.", next_step=selectors.GLASS_NEXT)
    require_broker()
    now = timezone.now()
    with transaction.atomic():
        locks.take(plan, user)
        pacing.pace_again(plan)
        plan = change(
            plan.pk,
            State.EXECUTING,
            actor=actor or user,
            sources=[State.APPROVED],
            narrow={"expires_at__gt": now},
            detail={"nodes": plan.headline["touched"], "moves": plan.headline["moves"]},
            started_at=now,
            resumed_at=now,
            heartbeat_at=now,
            worker="",
        )
        enqueue("plans.execute", plan_id=plan.pk)
    return plan


def pause_plan(user: Any, plan_id: int, reason: str) -> Plan:
    """Issue no new move; those in flight go on to their end."""
    require(user, "plans.run_plan")
    words = reason.strip()
    if Plan.objects.filter(pk=plan_id, state=State.PAUSED).exclude(waits_for="").exists():
        return _hold(user, plan_id, words)
    return change(plan_id, State.PAUSED, actor=user, reason=words)


def _hold(user: Any, plan_id: int, reason: str) -> Plan:
    """A run that waits for its window no longer goes on by itself."""
    with transaction.atomic():
        waiting = Plan.objects.filter(pk=plan_id, state=State.PAUSED).exclude(waits_for="")
        if waiting.update(waits_for="", reason=reason) != 1:
            raise Conflict(why_not(plan_id, State.PAUSED))
        plan = read(plan_id)
        audit.record(actor=user, action="plan.held", target_kind="plan", target_id=plan_id, reason=reason)
        announce(plan, "plan.held")
    return plan


def resume_plan(user: Any, plan_id: int, reason: str = "") -> Plan:
    """Go on with what is left.  Chains with a failed move are dropped first: the rest of them would empty nothing."""
    require(user, "plans.run_plan")
    plan = read(plan_id)
    return _go_on(plan, user, user, reason)


def go_on(plan: Plan) -> Plan:
    """What waited for its window goes on by itself, as far as all else holds; its locks are its approver's."""
    return _go_on(plan, None, plan.approver, "its window is open again")


def _go_on(plan: Plan, actor: Any, owner: Any, reason: str) -> Plan:
    refuse_unless_holds(plan, selectors.resume_checks(actor, plan))
    broken = selectors.broken_steps(plan)
    now_there = checking.newest_of(plan)
    found = checking.differences(plan, now_there, checking.rest_of(plan, without=broken))
    if found:
        dropping.remember(plan, now_there, found)
        raise Conflict("What is left of the plan no longer holds.", changes=found, next_step=selectors.REST_CHANGED)
    require_broker()
    now = timezone.now()
    with transaction.atomic():
        plan = change(
            plan.pk,
            State.EXECUTING,
            actor=actor,
            reason=reason,
            sources=[State.PAUSED, State.HALTED],
            resumed_at=now,
            changes=[],
            waits_for="",
        )
        dropping.drop_lost(plan, broken)
        patience.begin_anew(plan)
        locks.take(plan, owner)
        enqueue("plans.execute", plan_id=plan.pk)
    return plan


def abort_plan(user: Any, plan_id: int, reason: str) -> Plan:
    """Final: nothing more is issued, moves in flight go on to their end, going on needs a new plan."""
    require(user, "plans.run_plan")
    if not reason.strip():
        raise Conflict("Aborting needs a reason: it is kept in the audit log.", next_step="Say why.")
    with transaction.atomic():
        in_flight = Step.objects.filter(plan_id=plan_id, state=StepState.ISSUED).count()
        plan = change(
            plan_id,
            State.ABORTED,
            actor=user,
            reason=reason,
            ended_at=timezone.now(),
        )
        Step.objects.filter(plan=plan, state=StepState.WAITING).update(
            state=StepState.DROPPED, detail="the plan was aborted"
        )
        if in_flight == 0:
            locks.release(plan)
    return plan
