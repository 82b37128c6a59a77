"""Locks on nodes: whose, for which plan, until when, who waits for them, and whether they may be taken away."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from console.plans import lifecycle
from console.plans.choices import State, StepState
from console.plans.models import NodeLock, Plan, Step
from console.plans.selectors.checks import Check
from console.tenancy.services import require
from console.ui.figures import plural


@dataclass(frozen=True, slots=True)
class LockGroup:
    """The locks of one plan."""

    plan: Plan
    nodes: int
    owner: str
    since: datetime
    expires_at: datetime  # of those that end last
    waiting: list[int]  # plans that want some of these nodes
    why_not: str  # why they cannot be released now; "" where they can

    @property
    def age_s(self) -> float:
        return (timezone.now() - self.since).total_seconds()


def locks(viewer: Any) -> QuerySet[NodeLock]:
    """Every locked node, by name."""
    require(viewer, "plans.view_plan")
    return NodeLock.objects.select_related("plan__source", "owner").order_by("cluster", "node", "pk")


def lock_groups(viewer: Any) -> list[LockGroup]:
    """Three queries, whatever is locked."""
    rows = locks(viewer).order_by("plan_id").values("plan_id", "owner__username")
    counted = list(rows.annotate(nodes=Count("pk"), first=Min("since"), last=Max("expires_at")))
    flying = Count("steps", filter=Q(steps__state=StepState.ISSUED))
    holders = Plan.objects.select_related("source").defer("document", "impact", "curve").annotate(flying=flying)
    by_id = holders.in_bulk([row["plan_id"] for row in counted])
    waiting = _waiting()
    return [
        LockGroup(
            plan=by_id[row["plan_id"]],
            nodes=row["nodes"],
            owner=row["owner__username"],
            since=row["first"],
            expires_at=row["last"],
            waiting=sorted(waiting[row["plan_id"]]),
            why_not=_why_not(by_id[row["plan_id"]], by_id[row["plan_id"]].flying),
        )
        for row in counted
    ]


def _waiting() -> dict[int, set[int]]:
    """By the plan that holds locks: the plans that wait for a decision or a start and touch its nodes."""

    def holder(field: str) -> Subquery:
        same = NodeLock.objects.filter(
            source_id=OuterRef("plan__source_id"), cluster=OuterRef("plan__cluster"), node=OuterRef(field)
        )
        return Subquery(same.values("plan_id")[:1])

    rows = Step.objects.filter(plan__state__in=lifecycle.AWAITING).order_by()
    pairs = rows.annotate(gives=holder("source_node"), takes=holder("target_node")).exclude(
        gives__isnull=True, takes__isnull=True
    )
    found: dict[int, set[int]] = defaultdict(set)
    for plan_id, gives, takes in pairs.values_list("plan_id", "gives", "takes").distinct():
        for held_by in {gives, takes} - {None, plan_id}:
            found[held_by].add(plan_id)
    return found


def wanted_by(viewer: Any, rows: Iterable[NodeLock]) -> dict[tuple[int, str, str], list[int]]:
    """By (source, cluster, node) of these locks, at most a page of them: the waiting plans that touch the node."""
    require(viewer, "plans.view_plan")
    nodes = {row.node for row in rows}
    steps = Step.objects.filter(plan__state__in=lifecycle.AWAITING).filter(
        Q(source_node__in=nodes) | Q(target_node__in=nodes)
    )
    found: dict[tuple[int, str, str], set[int]] = defaultdict(set)
    for plan_id, source, cluster, gives, takes in steps.order_by().values_list(
        "plan_id", "plan__source_id", "plan__cluster", "source_node", "target_node"
    ):
        for node in {gives, takes} & nodes:
            found[source, cluster, node].add(plan_id)
    return {key: sorted(plans) for key, plans in found.items()}


def lock_on(viewer: Any, cluster: str, node: str) -> NodeLock | None:
    """The lock on one node, if there is one."""
    return locks(viewer).filter(cluster=cluster, node=node).first()


def release_checks(plan: Plan) -> list[Check]:
    """In the order in which a refusal names them."""
    why = _why_not(plan, plan.steps.filter(state=StepState.ISSUED).count())
    held = NodeLock.objects.filter(plan=plan).exists()
    return [
        Check("held", "Locks are held", held, "", f"Plan {plan.pk} holds no locks."),
        Check("idle", "Nothing moves", not why, "", why, "Pause or abort it, and wait for what is in flight."),
    ]


def _why_not(plan: Plan, in_flight: int) -> str:
    if plan.state == State.EXECUTING:
        return f"Plan {plan.pk} is running: its locks are what keeps others off these nodes."
    if in_flight:
        return f"Plan {plan.pk} has {plural(in_flight, 'move')} in flight."
    return ""
