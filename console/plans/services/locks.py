"""Locks on exactly the nodes that a running plan touches."""

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from console.plans.models import NodeLock, Plan, Step
from console.plans.services.transition import Conflict
from console.ui.figures import duration

LOCK_FOR = timedelta(minutes=30)
RENEW_AFTER = timedelta(minutes=1)
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
