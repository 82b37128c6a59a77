"""Whose names a viewer may see, and the tokens of a person."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone
from knox.models import AuthToken

from console.tenancy.choices import PERMISSIONS
from console.tenancy.models import Tenant, User


@dataclass(frozen=True, slots=True)
class TokenRow:
    """``key`` is the beginning of the token, enough to tell one from another and useless for signing in."""

    key: str
    created_at: datetime
    expires_at: datetime | None


def tenant_scope(viewer: Any) -> frozenset[str] | None:
    """Names of the tenants whose workloads ``viewer`` may see by name; None means all, empty means none."""
    if viewer.has_perm("inventory.view_fleet"):
        return None
    if not viewer.has_perm("inventory.view_own"):
        return frozenset()
    return _with_children(set(viewer.tenants.values_list("name", flat=True)))


def tokens_of(viewer: Any) -> list[TokenRow]:
    """The viewer's own tokens that have not expired, newest first."""
    rows = AuthToken.objects.filter(Q(expiry=None) | Q(expiry__gt=timezone.now()), user=viewer).order_by("-created")
    return [TokenRow(row.token_key, row.created, row.expiry) for row in rows]


def permissions_of(viewer: Any) -> list[str]:
    return sorted(PERMISSIONS.get(viewer.role, ()))


def teams_of(viewer: Any) -> frozenset[str]:
    """All below the viewer's own departments, none of these themselves unless one is below another."""
    own = viewer.tenants.values_list("name", flat=True)
    return _with_children(set(Tenant.objects.filter(parent__name__in=list(own)).values_list("name", flat=True)))


def _with_children(names: set[str]) -> frozenset[str]:
    """Adds all descendants, one query per level of the tree."""
    level = names
    while level:
        level = set(Tenant.objects.filter(parent__name__in=level).values_list("name", flat=True)) - names
        names = names | level
    return frozenset(names)


def members_of(viewer: Any, tenant: str) -> list[tuple[str, str]]:
    """(name, role in words) of the people of a tenant that the viewer may see; those of its parents are not listed."""
    scope = tenant_scope(viewer)
    if scope is not None and tenant not in scope:
        return []
    rows = User.objects.filter(tenants__name=tenant, is_active=True).order_by("username")
    return [(row.get_username(), str(row.get_role_display())) for row in rows]
