"""Whose windows, sleepers and recalls a viewer may see, and which of them are the viewer's own to change."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404

from console.standby.choices import RECALL, SET, VIEW_OWN, VIEW_POOL
from console.standby.models import Recall, Window
from console.tenancy.selectors import tenant_scope


def scope_of(viewer: Any) -> frozenset[str] | None:
    """Names of the tenants whose standby ``viewer`` may see by name; None: all, empty: none."""
    if viewer.has_perm(VIEW_POOL):
        return None
    return tenant_scope(viewer) if viewer.has_perm(VIEW_OWN) else frozenset()


def owns(user: Any, tenant: str) -> bool:
    """Whether the user may say when workloads of that tenant sleep: only its own people may."""
    scope = tenant_scope(user)
    return bool(tenant) and user.has_perm(SET) and scope is not None and tenant in scope


def reaches(user: Any, tenant: str) -> bool:
    """Whether the user may recall pods of that tenant: its own people, and operators."""
    scope = scope_of(user)
    return bool(user.has_perm(RECALL)) and (scope is None or (bool(tenant) and tenant in scope))


def windows(viewer: Any) -> QuerySet[Window]:
    """Newest first, ended ones among them."""
    rows = Window.objects.select_related("source", "made_by", "ended_by")
    scope = scope_of(viewer)
    return rows if scope is None else rows.filter(tenant__in=scope)


def window_for(viewer: Any, window_id: int) -> Window:
    """Raises ``Http404``: for another tenant's window just as for none."""
    row = windows(viewer).filter(pk=window_id).first()
    if row is None:
        raise Http404("There is no such window.")
    return row


def recalls(viewer: Any) -> QuerySet[Recall]:
    """Newest first."""
    rows = Recall.objects.select_related("source", "asked_by").prefetch_related("endings")
    scope = scope_of(viewer)
    return rows if scope is None else rows.filter(tenant__in=scope)


def recall_for(viewer: Any, recall_id: int) -> Recall:
    row = recalls(viewer).filter(pk=recall_id).first()
    if row is None:
        raise Http404("There is no such recall.")
    return row
