"""Whose leases a viewer may see."""

from typing import Any

from django.db.models import QuerySet

from console.inventory.selectors import NotThereError
from console.spot.models import Estimate, Lease
from console.tenancy.selectors import tenant_scope
from console.tenancy.services import require

OWN, ASK, POOL = "spot.view_own", "spot.ask_lease", "spot.view_pool"


def leases(viewer: Any) -> QuerySet[Lease]:
    """Those of the viewer's own tenants, everybody's for those who see the pool; drafts only to who wrote them."""
    names = tenant_scope(viewer)
    rows = Lease.objects.select_related("source", "asked_by")
    if viewer.has_perm(POOL):
        return rows
    if not viewer.has_perm(OWN):
        return rows.none()
    return rows if names is None else rows.filter(tenant__in=sorted(names))


def lease_for(viewer: Any, lease_id: int) -> Lease:
    """Raises ``NotThereError``: what is another tenant's is not there."""
    row = leases(viewer).filter(pk=lease_id).first()
    if row is None:
        raise NotThereError("no such lease")
    return row


def estimates(viewer: Any) -> QuerySet[Estimate]:
    """Those of the viewer's own tenants, or everybody's for those who see the pool."""
    names = tenant_scope(viewer)
    rows = Estimate.objects.select_related("source", "asked_by", "lease")
    if viewer.has_perm(POOL):
        return rows
    return rows.filter(tenant__in=sorted(names or ())) if viewer.has_perm(OWN) else rows.none()


def estimate_for(viewer: Any, estimate_id: int) -> Estimate:
    """Raises ``NotThereError``."""
    row = estimates(viewer).filter(pk=estimate_id).first()
    if row is None:
        raise NotThereError("no such estimate")
    return row


def may_hear_lease(user: Any, topic: str) -> bool:
    number = topic.partition(":")[2]
    return number.isdigit() and leases(user).filter(pk=int(number)).exists()


def require_seeing(viewer: Any) -> None:
    """Raises ``Denied`` for who sees neither leases of their own tenants nor those of all."""
    if not viewer.has_perm(POOL):
        require(viewer, OWN)
