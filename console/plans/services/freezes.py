"""The one switch that stops everything that acts: the fleet, a cluster, or a pool."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.audit import services as audit
from console.inventory.selectors import filter_choices
from console.live.services import publish
from console.plans import selectors
from console.plans.choices import FreezeScope, State
from console.plans.frozen import Freeze
from console.plans.models import Plan
from console.plans.services.transition import Conflict, change
from console.rest.errors import FieldError
from console.tenancy.services import require


def set_freeze(
    user: Any, *, scope: str, cluster: str = "", gpu_model: str = "", reason: str, expires_at: datetime
) -> Freeze:
    """Freeze a scope until ``expires_at``; running plans inside it are paused in the same breath."""
    require(user, "plans.set_freeze")
    _refuse_half_said(scope, cluster, gpu_model, reason, expires_at)
    _refuse_unknown(user, scope, cluster, gpu_model)
    with transaction.atomic():
        freeze = Freeze.objects.create(
            scope=scope,
            cluster="" if scope == FreezeScope.FLEET else cluster,
            gpu_model=gpu_model if scope == FreezeScope.POOL else "",
            owner=user,
            reason=reason.strip(),
            expires_at=expires_at,
        )
        audit.record(
            actor=user,
            action="freeze.set",
            target_kind="freeze",
            target_id=freeze.pk,
            reason=freeze.reason,
            detail={"scope": scope, "where": freeze.where, "expires_at": expires_at.isoformat()},
        )
        publish("freeze", "freeze.set", freeze=freeze.pk)
        _pause_covered(freeze)
    return freeze


def _pause_covered(freeze: Freeze) -> None:
    for plan in Plan.objects.filter(state=State.EXECUTING).only("id", "cluster", "headline"):
        if selectors.covers(freeze, plan.cluster, plan.headline.get("models", [])):
            try:
                change(plan.pk, State.PAUSED, actor=freeze.owner, reason=selectors.frozen_words(freeze))
            except Conflict:
                continue  # it ended or was paused in the same moment: it does not act any more


def _refuse_half_said(scope: str, cluster: str, gpu_model: str, reason: str, expires_at: datetime) -> None:
    """Raises ``FieldError`` with the field that is wrong."""
    if scope not in FreezeScope.values:
        raise FieldError("scope", "choose the fleet, a cluster or a pool")
    if scope != FreezeScope.FLEET and not cluster.strip():
        raise FieldError("cluster", "name the cluster")
    if scope == FreezeScope.POOL and not gpu_model.strip():
        raise FieldError("gpu_model", "name the GPU model of the pool")
    if not reason.strip():
        raise FieldError("reason", "say why: everybody sees it in the banner")
    if expires_at <= timezone.now():
        raise FieldError("expires_at", "this time is past")


def _refuse_unknown(user: Any, scope: str, cluster: str, gpu_model: str) -> None:
    """A misspelt name would freeze nothing while its banner says that it does."""
    known = filter_choices(user)
    if scope != FreezeScope.FLEET and cluster not in known.clusters:
        raise FieldError("cluster", f"no cluster {cluster!r}; known: {', '.join(known.clusters) or 'none'}")
    if scope == FreezeScope.POOL and gpu_model not in known.models:
        raise FieldError("gpu_model", f"no GPU model {gpu_model!r}; known: {', '.join(known.models) or 'none'}")


def lift_freeze(user: Any, freeze_id: int, reason: str) -> Freeze:
    """End a freeze before its time.  Plans that it paused stay paused until somebody resumes them."""
    require(user, "plans.set_freeze")
    if not reason.strip():
        raise FieldError("reason", "say why: it is kept in the audit log")
    now = timezone.now()
    with transaction.atomic():
        rows = Freeze.objects.filter(pk=freeze_id, lifted_at__isnull=True, expires_at__gt=now)
        if rows.update(lifted_at=now, lifted_by=user) != 1:
            raise Conflict(f"Freeze {get_object_or_404(Freeze, pk=freeze_id).pk} is not on any more.")
        audit.record(
            actor=user, action="freeze.lifted", target_kind="freeze", target_id=freeze_id, reason=reason.strip()
        )
        publish("freeze", "freeze.lifted", freeze=freeze_id)
    return Freeze.objects.select_related("owner").get(pk=freeze_id)


def tell_of_ended_freezes() -> None:
    """Those that ran out are told of once, so that their banner leaves the pages that are open."""
    due = Freeze.objects.filter(lifted_at__isnull=True, expires_at__lte=timezone.now(), end_told=False)
    with transaction.atomic():
        if due.update(end_told=True):
            publish("freeze", "freeze.ended")
