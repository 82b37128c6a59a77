"""A plan that comes from another one: its own digest, checked anew; the old one stays readable."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.plans import lifecycle
from console.plans.choices import Kind, State
from console.plans.models import Plan
from console.plans.services import proposals
from console.plans.services.checking import Newest, signed
from console.plans.services.transition import Conflict, announce, read
from scheduler.plan import plan as core
from scheduler.plan.verify import verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Where a derived plan comes from.  ``user`` derives it; ``proposer`` stands for it, ``user`` where None."""

    user: Any
    parent: Plan
    origin: str  # what was done to the parent
    because: str = ""  # in the words of ``user``
    title: str = ""  # of the parent where ""
    proposer: Any = None
    undoes: Plan | None = None  # what a rollback takes back
    expires_at: datetime | None = None  # None: it has its own time
    left_out: tuple[dict[str, Any], ...] = ()  # what of the parent was left out, for the audit log


def derive(descent: Descent, answer: core.Plan, on: Newest) -> Plan:
    """The derived plan on the reading that it was judged on, proposed; ``Conflict`` where it does not stand."""
    undone = None if descent.undoes is None else signed(descent.undoes)
    verdict = verify(answer, on.snapshot, undone)
    if not verdict.ok:
        first = verdict.violations[0]
        raise Conflict(f"The new plan does not stand: {first.detail or first.kind}.", next_step="Compute a new plan.")
    worker = uuid.uuid4().hex
    with transaction.atomic():
        plan = _opened(descent, worker)
        made = proposals.propose(
            plan.pk, worker, answer, on.snapshot, revision=on.revision, digest=on.digest, undone=undone
        )
        if made.state != State.PROPOSED:
            raise Conflict(f"The new plan does not stand: {made.reason}", next_step="Compute a new plan.")
        if descent.expires_at is not None:
            Plan.objects.filter(pk=made.pk).update(expires_at=descent.expires_at)
    return read(made.pk)


def _opened(descent: Descent, worker: str) -> Plan:
    """The row, already in the hands of its ``worker``: nobody else will compute it."""
    parent = descent.parent
    plan = Plan.objects.create(
        kind=parent.kind if descent.undoes is None else Kind.ROLLBACK,
        title=descent.title or parent.title,
        source_id=parent.source_id,
        cluster=parent.cluster,
        models_in_scope=parent.models_in_scope,
        params={} if descent.undoes is not None else parent.params,
        seed=parent.seed,
        proposer=descent.proposer or descent.user,
        parent=parent,
        undoes=descent.undoes,
        origin=descent.origin,
        because=descent.because,
        worker=worker,
        heartbeat_at=timezone.now(),
    )
    audit.record(
        actor=descent.user,
        action="plan.requested",
        target_kind="plan",
        target_id=plan.pk,
        reason=descent.because,
        detail={"origin": descent.origin, "parent": parent.pk, "left_out": list(descent.left_out)},
    )
    lifecycle.move(Plan.objects.filter(pk=plan.pk), State.PLANNING, planning_at=timezone.now())
    announce(read(plan.pk), "plan.requested")
    return plan
