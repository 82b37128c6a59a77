"""Whose names a viewer may see."""

from typing import Any

from console.tenancy.models import Tenant


def tenant_scope(viewer: Any) -> frozenset[str] | None:
    """Names of the tenants whose workloads ``viewer`` may see by name; None means all, empty means none."""
    if viewer.has_perm("inventory.view_fleet"):
        return None
    if not viewer.has_perm("inventory.view_own"):
        return frozenset()
    return _with_children(set(viewer.tenants.values_list("name", flat=True)))


def _with_children(names: set[str]) -> frozenset[str]:
    """Adds all descendants, one query per level of the tree."""
    level = names
    while level:
        level = set(Tenant.objects.filter(parent__name__in=level).values_list("name", flat=True)) - names
        names = names | level
    return frozenset(names)
