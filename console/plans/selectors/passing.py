"""When a plan may run, and who passes a soft check for once: windows, and broken glass."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet
from django.utils import timezone

from console.plans.models import Override, Plan
from console.policies.windows import Gate, gate_for
from console.tenancy.services import require

GLASS_NEXT = "Wait for it, or break the glass: for 15 minutes, with a reason, and somebody else looks at it afterwards."


def gate_of(plan: Plan, now: datetime | None = None, *, draw: bool = False) -> Gate:
    """Whether plans may run now on all that this one touches."""
    tenants = [row["tenant"] for row in plan.impact]
    return gate_for(plan.cluster, plan.headline.get("models", []), tenants, now, draw=draw)


def glass_of(plan: Plan, now: datetime | None = None) -> Override | None:
    """What lets this plan pass the soft checks now."""
    rows = Override.objects.filter(plan=plan, expires_at__gt=now or timezone.now(), closed_at__isnull=True)
    return rows.select_related("user").order_by("-id").first()


def may_run_now(plan: Plan) -> tuple[bool, Gate]:
    """(its windows are open or somebody passes them, the windows)."""
    gate = gate_of(plan)
    return gate.open or glass_of(plan) is not None, gate


def passed(plan: Plan, checks: list[Any]) -> list[Any]:
    """The checks, those soft ones that fail held to be good while the glass is broken."""
    if all(check.holds or not check.soft for check in checks):
        return checks
    glass = glass_of(plan)
    if glass is None:
        return checks
    words = f"passed by {glass.user.get_username()} until {glass.expires_at:%H:%M}"
    return [replace(one, holds=True, fact=words) if one.soft and not one.holds else one for one in checks]


def reviews(viewer: Any) -> QuerySet[Override]:
    """Every time that glass was broken; those that nobody has reviewed first, then the newest."""
    require(viewer, "plans.view_plan")
    rows = Override.objects.select_related("plan", "user", "closed_by")
    return rows.order_by(F("closed_at").desc(nulls_first=True), "-id")


def open_reviews(viewer: Any) -> QuerySet[Override]:
    """Those that somebody else must still look at."""
    return reviews(viewer).filter(closed_at__isnull=True)
