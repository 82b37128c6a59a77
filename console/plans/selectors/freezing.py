"""What is frozen now."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from console.plans.choices import FreezeScope
from console.plans.frozen import Freeze
from console.plans.models import Plan
from console.tenancy.services import require


def active_freezes(now: datetime | None = None) -> list[Freeze]:
    """What is frozen now, widest first."""
    at = now or timezone.now()
    rows = Freeze.objects.filter(lifted_at__isnull=True, expires_at__gt=at).select_related("owner")
    order = list(FreezeScope.values)
    return sorted(rows, key=lambda freeze: (order.index(freeze.scope), freeze.pk))


def covers(freeze: Freeze, cluster: str, models: Iterable[str]) -> bool:
    if freeze.scope == FreezeScope.FLEET:
        return True
    if freeze.cluster != cluster:
        return False
    return freeze.scope == FreezeScope.CLUSTER or freeze.gpu_model in set(models)


def freeze_over(plan: Plan, now: datetime | None = None) -> Freeze | None:
    models = plan.headline.get("models", [])
    return next((freeze for freeze in active_freezes(now) if covers(freeze, plan.cluster, models)), None)


def frozen_words(freeze: Freeze) -> str:
    until = f"{freeze.expires_at:%H:%M} UTC"
    return f"Frozen: {freeze.where}, by {freeze.owner.get_username()}, until {until}: {freeze.reason}"


def freezes(viewer: Any) -> QuerySet[Freeze]:
    """All there ever were, newest first."""
    require(viewer, "plans.view_plan")
    return Freeze.objects.select_related("owner", "lifted_by")
