"""Workloads that were moved lately and are left alone for a while, so that plans do not move them to and fro."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from console.plans.choices import Kind, StepState
from console.plans.models import Plan, Step
from console.policies.selectors import for_all_tenants, most_said, policy_for, pools_said, tenant_limits

COOLDOWN = "cooldown_hours"
EXEMPT = frozenset({"drain", "spare"})  # goals that somebody names nodes for: a failing node does not wait


@dataclass(frozen=True, slots=True)
class Rest:
    """A workload that rests, and the last plan that moved it."""

    owner: str
    plan_id: int
    moved_at: datetime


def rests(plan: Plan) -> bool:
    """Whether the plan must leave workloads alone that were moved lately; taking moves back is no ping-pong."""
    goal = plan.params.get("goal") or {}
    return plan.kind == Kind.CONSOLIDATION and plan.undoes_id is None and goal.get("kind") not in EXEMPT


def resting(plan: Plan, now: datetime | None = None) -> dict[str, Rest]:
    """By workload: those of the plan's cluster that other plans moved within its cool-down."""
    if not rests(plan):
        return {}
    at = now or timezone.now()
    longest = timedelta(hours=most_said(COOLDOWN))
    moved = Step.objects.filter(plan__source=plan.source_id, plan__cluster=plan.cluster, state=StepState.SUCCEEDED)
    rows = list(
        moved.exclude(plan=plan.pk)
        .exclude(owner="")
        .filter(ended_at__gt=at - longest)
        .order_by("ended_at")
        .values_list("owner", "tenant", "plan_id", "ended_at")
    )
    if not rows:
        return {}
    wide, own = _hours(plan, {row[1] for row in rows})
    found = {}
    for owner, tenant, plan_id, ended_at in rows:
        if ended_at is not None and ended_at > at - timedelta(hours=max(wide, own.get(tenant, 0))):
            found[owner] = Rest(owner, plan_id, ended_at)
    return found


def disturbed(plan: Plan, now: datetime | None = None) -> list[Rest]:
    """Workloads that the plan would move and that rest now."""
    found = resting(plan, now)
    if not found:
        return []
    mine = set(Step.objects.filter(plan=plan, state=StepState.WAITING).values_list("owner", flat=True))
    return sorted((found[owner] for owner in mine & set(found)), key=lambda one: one.owner)


def _hours(plan: Plan, tenants: set[str]) -> tuple[int, dict[str, int]]:
    """(cool-down of everybody, of single tenants)."""
    models = plan.headline.get("models") or plan.models_in_scope or pools_said(plan.cluster)
    policy = policy_for(plan.cluster, models, tenants)
    return for_all_tenants(policy, COOLDOWN) or 0, tenant_limits(policy, COOLDOWN)
