"""Locks on exactly the nodes that a running plan touches."""

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from console.audit import services as audit
from console.plans import selectors
from console.plans.models import NodeLock, Plan, Step
from console.plans.services.staleness import refuse_unless_holds
from console.plans.services.transition import Conflict, announce, read
from console.tenancy.services import require
from console.ui.figures import duration

LOCK_FOR = timedelta(minutes=30)
RENEW_AFTER = timedelta(minutes=1)
_NAMED = 100  # nodes in the audit log
_IN_CLAUSE = 500  # SQLite allows a limited number of parameters


def take(plan: Plan, owner: Any) -> int:
    """Lock every node that a step still to be run touches, all or none; ``Conflict`` names the lock that is in the way.

    Nodes are taken in the order of their names, so that two plans cannot wait for each other.
    """
    now = timezone.now()
    nodes = touched(plan)
    rows = [
        NodeLock(
            source_id=plan.source_id, cluster=plan.cluster, node=node, plan=plan, owner=owner, expires_at=now + LOCK_FOR
        )
        for node in nodes
    ]
    with transaction.atomic():
        NodeLock.objects.filter(plan=plan).delete()
        NodeLock.objects.filter(source_id=plan.source_id, cluster=plan.cluster, expires_at__lte=now).delete()
        try:
            with transaction.atomic():
                NodeLock.objects.bulk_create(rows, batch_size=_IN_CLAUSE)
        except IntegrityError:
            raise Conflict(*_in_the_way(plan, nodes, now)) from None
    return len(rows)


def touched(plan: Plan) -> list[str]:
    pairs = Step.objects.filter(plan=plan).values_list("source_node", "target_node")
    return sorted({node for pair in pairs for node in pair})


def extend(plan: Plan) -> None:
    """Renew the locks of a run, at most once a minute: a run beats after every move."""
    until = timezone.now() + LOCK_FOR
    NodeLock.objects.filter(plan=plan, expires_at__lt=until - RENEW_AFTER).update(expires_at=until)


def release(plan: Plan) -> None:
    NodeLock.objects.filter(plan=plan).delete()


def release_locks(user: Any, plan_id: int, reason: str) -> int:
    """Take the locks of a plan that does not move anything; how many went.  Resuming it takes them again, if free.

    Raises ``Denied``, or ``Conflict`` while the plan runs or has moves in flight.
    """
    require(user, "plans.release_lock")
    with transaction.atomic():
        plan = Plan.objects.select_for_update().filter(pk=plan_id).first() or read(plan_id)
        refuse_unless_holds(plan, selectors.release_checks(plan))
        if not reason.strip():
            raise Conflict("Releasing locks needs a reason: it is kept in the audit log.", next_step="Say why.")
        nodes = sorted(NodeLock.objects.filter(plan=plan).values_list("node", flat=True))
        release(plan)
        audit.record(
            actor=user,
            action="plan.locks_released",
            target_kind="plan",
            target_id=str(plan_id),
            reason=reason,
            digest=plan.digest,
            detail={"nodes": nodes[:_NAMED], "count": len(nodes), "state": plan.state},
        )
        announce(plan, "plan.locks_released")
    return len(nodes)


def _in_the_way(plan: Plan, nodes: list[str], now: datetime) -> tuple[str]:
    held = NodeLock.objects.filter(source_id=plan.source_id, cluster=plan.cluster).select_related("owner")
    for start in range(0, len(nodes), _IN_CLAUSE):
        lock = held.filter(node__in=nodes[start : start + _IN_CLAUSE]).exclude(plan=plan).order_by("node").first()
        if lock is not None:
            age = duration((now - lock.since).total_seconds())
            return (
                f"Node {lock.node} is locked by plan {lock.plan_id} of {lock.owner.get_username()} "
                f"for {age}, until {lock.expires_at:%H:%M:%S} UTC. Start again when that plan has ended.",
            )
    return ("A lock on one of the nodes has just gone. Start again.",)
