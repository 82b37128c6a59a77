"""From a question to an answer: open a plan, compute it under a lease, propose what was found."""

from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from console.audit import services as audit
from console.dispatch.services import enqueue
from console.plans import lifecycle, selectors
from console.plans.choices import State
from console.plans.milestones import Milestone, reach
from console.plans.models import Plan
from console.plans.services import answers, expecting, pacing
from console.plans.services.transition import Conflict, announce, change, read
from console.policies.choices import OBSERVE
from console.tenancy.services import Denied, require
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan import plan as core
from scheduler.plan.verify import Verdict, verify

LEASE = timedelta(seconds=30)  # a worker that says nothing for so long is lost
MAX_ATTEMPTS = 3


def open_plan(
    user: Any,
    *,
    kind: str,
    source_id: int,
    cluster: str,
    models: list[str],
    params: dict[str, Any],
    seed: int,
    title: str,
    request_key: str | None = None,
    parent_id: int | None = None,
    origin: str = "",
    because: str = "",
) -> Plan:
    """Store a request and send it to a planner.  The same ``request_key`` of the same person gives the same plan."""
    require(user, "plans.request_plan")
    asked = {
        "kind": kind, "source_id": source_id, "cluster": cluster, "models_in_scope": models, "params": params,
        "seed": seed,
    }  # fmt: skip
    try:
        with transaction.atomic():
            plan = Plan.objects.create(
                proposer=user, title=title, request_key=request_key, parent_id=parent_id, origin=origin,
                because=because, **asked,
            )  # fmt: skip
            audit.record(actor=user, action="plan.requested", target_kind="plan", target_id=str(plan.pk), detail=asked)
            announce(plan, "plan.requested")
            enqueue(f"{kind}.plan", plan_id=plan.pk)
    except IntegrityError:
        if request_key is None:
            raise
        return _same_request(user, request_key, asked)
    return plan


def _same_request(user: Any, request_key: str, asked: dict[str, Any]) -> Plan:
    plan = Plan.objects.filter(proposer=user, request_key=request_key).first()
    if plan is None:
        raise Conflict("The request could not be stored: what it names is gone. Read the page again.")
    if any(getattr(plan, name) != value for name, value in asked.items()):
        raise Conflict(f"This idempotency key was used for plan {plan.pk} with another request. Use a new key.")
    return plan


def begin_planning(plan_id: int, worker: str) -> Plan | None:
    """Take the lease on a requested plan, or on one whose worker is lost; None if somebody has it or it is over."""
    now = timezone.now()
    with transaction.atomic():
        rows = Plan.objects.filter(pk=plan_id)
        lease = {"worker": worker, "heartbeat_at": now, "attempts": F("attempts") + 1}
        if lifecycle.move(rows, State.PLANNING, sources=[State.REQUESTED], planning_at=now, **lease):
            plan = read(plan_id)
            audit.record(actor=None, action="plan.planning", target_kind="plan", target_id=str(plan_id))
            announce(plan, "plan.planning")
        elif rows.filter(state=State.PLANNING, heartbeat_at__lt=now - LEASE).update(**lease) == 1:
            plan = read(plan_id)
        else:
            return None
    if plan.attempts > MAX_ATTEMPTS:
        fail_plan(
            plan_id, f"The planner was lost {MAX_ATTEMPTS} times. Ask for a smaller scope, or see its log.", worker
        )
        return None
    reach(Milestone.PLANNING_LEASED)
    return plan


def report_progress(plan_id: int, worker: str, progress: dict[str, Any]) -> bool:
    """Store and announce how far the planner is; False tells it to stop (cancelled, stopped, or lease lost)."""
    mine = Plan.objects.filter(pk=plan_id, worker=worker, state=State.PLANNING)
    if mine.update(progress=progress, heartbeat_at=timezone.now()) != 1:
        return False
    plan = mine.only("id", "state", "stop_requested").get()
    announce(plan, "plan.progress", progress=progress)
    return not plan.stop_requested


def propose(
    plan_id: int,
    worker: str,
    answer: core.Plan,
    snapshot: Snapshot,
    *,
    revision: int,
    digest: str,
    fits: list[dict[str, Any]] | None = None,
    undone: core.Plan | None = None,
) -> Plan:
    """Judge, store and announce the planner's answer.  ``digest`` is that of the whole snapshot the plan rests on.

    ``fits`` says which jobs find room now and then; only planners can tell, a shortened plan does not.
    ``undone`` is what a rollback takes back: the judge holds its moves against it.

    Raises ``Conflict`` if the plan was cancelled meanwhile or another worker took it over: then nothing is stored.
    """
    verdict = verify(answer, snapshot, undone)
    if not verdict.ok:
        return fail_plan(plan_id, f"The judge refuses the planner's answer: {_fault(verdict)}.", worker)
    now = timezone.now()
    facts = answers.facts(answer, snapshot)
    valid, run_waves = _under_policy(answer, snapshot, facts, fits or [])
    with transaction.atomic():
        plan = change(
            plan_id,
            State.PROPOSED if answer.moves else State.NOTHING_TO_DO,
            actor=None,
            reason="" if answer.moves else answers.why_nothing(answer),
            sources=[State.PLANNING],
            narrow={"worker": worker},
            digest=answer.digest(),
            document=answer.to_json(),
            base_id=revision,
            base_revision=revision,
            base_digest=digest,
            proposed_at=now,
            ended_at=None if answer.moves else now,
            expires_at=now + valid if answer.moves else None,
            checked_at=now,
            checked_revision=revision,
            worker="",
            **facts,
        )
        answers.store_rows(plan, answer, snapshot, run_waves)
        expecting.expect(plan)
        reach(Milestone.PROPOSAL_WRITTEN)
    reach(Milestone.PROPOSAL_COMMITTED)
    return plan


def _fault(verdict: Verdict) -> str:
    return verdict.violations[0].detail or verdict.violations[0].kind


def _under_policy(
    answer: core.Plan, snapshot: Snapshot, facts: dict[str, Any], fits: list[dict[str, Any]]
) -> tuple[timedelta, tuple[int, ...]]:
    """(how long the proposal waits, run wave of each move); what the policy says of the plan is added to ``facts``."""
    facts["headline"]["fits"] = fits
    policy = selectors.rules_for(answer.cluster, facts["headline"], facts["impact"])
    run_waves, facts["pace"] = pacing.paced(answer, snapshot, policy)
    facts["report"] = policy["autonomy"].value == OBSERVE
    facts["approvals_needed"] = selectors.needed_for(facts["headline"], policy)[0]
    return timedelta(minutes=policy["valid_minutes"].value or 0), run_waves


def fail_plan(plan_id: int, reason: str, worker: str) -> Plan:
    """The computation ends without an answer."""
    return change(
        plan_id,
        State.FAILED,
        actor=None,
        reason=reason,
        sources=lifecycle.COMPUTING,
        narrow={"worker": worker},
        ended_at=timezone.now(),
        worker="",
    )


def cancel_plan(user: Any, plan_id: int, reason: str = "") -> Plan:
    """Withdraw a plan that does not run yet; what a planner still computes for it is thrown away."""
    require(user, "plans.request_plan")
    plan = read(plan_id)
    if plan.proposer_id != user.pk and not user.has_perm("plans.approve_plan"):
        raise Denied(f"Plan {plan_id} was asked for by {plan.proposer}: they or an approver may cancel it.")
    return change(
        plan_id, State.CANCELLED, actor=user, reason=reason or f"cancelled by {user}", ended_at=timezone.now()
    )


def stop_planning(user: Any, plan_id: int) -> Plan:
    """Ask the planner to stop where it is and to propose what it has found so far."""
    require(user, "plans.request_plan")
    with transaction.atomic():
        rows = Plan.objects.filter(Q(state=State.REQUESTED) | Q(state=State.PLANNING), pk=plan_id)
        if rows.update(stop_requested=True) != 1:
            raise Conflict(f"Plan {read(plan_id).pk} is not being computed any more.")
        plan = read(plan_id)
        audit.record(actor=user, action="plan.stop_requested", target_kind="plan", target_id=str(plan_id))
        announce(plan, "plan.stop_requested")
    return plan
