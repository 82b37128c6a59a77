"""What the nodes of an ended run are held for, until when, and who has taken them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from console.plans.choices import StepState
from console.plans.models import Plan, RoomNode, Step
from console.tenancy.services import require
from console.ui.figures import plural

WHOLE = "whole"  # kind of a purpose: pods that take a whole node; the others are kinds of goals


@dataclass(frozen=True, slots=True)
class Held:
    """Nodes kept for one purpose; ``until`` None where the source cannot keep work away, or nobody wants it to."""

    words: str  # the purpose
    nodes: int
    taken: int  # nodes on which what they are held for has started
    takers: list[str]
    until: datetime | None
    active: bool
    note: str  # the last word about it: by whom it was changed, or how it ended
    untold: int  # nodes of which the cluster has not been told what was decided last
    refused: list[str]


def held(viewer: Any, plan: Plan) -> Held | None:
    """None of runs that made no room for anything."""
    require(viewer, "plans.view_plan")
    rows = list(RoomNode.objects.filter(plan=plan))
    if not rows:
        return None
    asked = plan.hold_version > 0
    return Held(
        words=purpose_words(plan.held_for),
        nodes=len(rows),
        taken=sum(bool(row.takers) for row in rows),
        takers=sorted({pod for row in rows for pod in row.takers})[:8],
        until=plan.held_until,
        active=is_held(plan),
        note=plan.hold_note,
        untold=sum(row.told < plan.hold_version for row in rows),
        refused=sorted(f"{row.node}: {row.refused}" for row in rows if asked and row.refused),
    )


def is_held(plan: Plan) -> bool:
    return plan.held_until is not None and plan.held_until > timezone.now()


def purpose_words(purpose: dict[str, Any]) -> str:
    """For whom nodes are kept, as it follows "held for"."""
    match purpose.get("kind"):
        case "gang":
            return f"{'pod' if purpose['unit'] == 'pods' else 'gang'} {purpose['name']}"
        case "shape":
            return f"pods of {purpose['name']} or larger"
    return "pods that take a whole node"


def held_targets(plan: Plan) -> dict[str, Plan]:
    """Nodes that moves still to be run would reach and that another plan holds now: node -> the plan that holds it."""
    mine = Step.objects.filter(plan=plan, state=StepState.WAITING).values("target_node")
    rows = RoomNode.objects.filter(
        Q(plan__source=plan.source_id, plan__cluster=plan.cluster, plan__held_until__gt=timezone.now()), node__in=mine
    ).exclude(plan__in=[plan.pk, plan.undoes_id or plan.pk])
    return {row.node: row.plan for row in rows.select_related("plan").order_by("plan_id")}


def held_for_others(plan: Plan) -> tuple[str, ...]:
    """Nodes that a plan leaves as they are, since they are kept for somebody else than it is asked for."""
    rows = RoomNode.objects.filter(
        plan__source=plan.source_id, plan__cluster=plan.cluster, plan__held_until__gt=timezone.now()
    )
    goal = plan.params.get("goal") or {}
    mine = {name for name in (goal.get("name"),) if name}
    return tuple(sorted({row.node for row in rows.select_related("plan") if row.plan.held_for.get("name") not in mine}))


def held_words(found: dict[str, Plan]) -> str:
    """The first of them, and how many there are."""
    node, plan = next(iter(found.items()))
    more = f" ({plural(len(found), 'node')} in all)" if len(found) > 1 else ""
    return f"{node} is held for {purpose_words(plan.held_for)} by plan {plan.pk}{more}"
