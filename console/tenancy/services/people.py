"""Asking for permission, and the tokens by which programs sign in."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from knox.models import AuthToken

from console.audit.services import record
from console.rest.errors import Conflict
from console.tenancy.choices import WORDS
from console.tenancy.models import Tenant, User

TOKENS_PER_USER = 20


class Denied(PermissionDenied):
    """The person may not do this; the text says so in words fit for a page."""


def require(user: Any, permission: str) -> None:
    """Returns if ``user`` holds ``permission``, raises ``Denied`` with a readable reason if not."""
    if user.is_authenticated and user.has_perm(permission):
        return
    if not user.is_authenticated:
        raise Denied(f"Sign in first: only people with an account may {WORDS.get(permission, permission)}.")
    raise Denied(user.refusal(permission))


def person(user: Any) -> User:
    """``user`` as one of our accounts; raises ``Denied`` for a visitor without one."""
    if not isinstance(user, User):
        raise Denied("Sign in first.")
    return user


@transaction.atomic
def issue_token(user: User, days: int) -> tuple[str, str]:
    """(key, secret) of a new API token that expires after ``days``; the secret is shown now and never again."""
    if AuthToken.objects.filter(user=user).count() >= TOKENS_PER_USER:
        raise Conflict(f"{user.get_username()} already holds {TOKENS_PER_USER} tokens. Revoke one first.")
    row, secret = AuthToken.objects.create(user=user, expiry=timedelta(days=days))
    record(actor=user, action="token.issued", target_kind="token", target_id=row.token_key, detail={"days": days})
    return row.token_key, secret


@transaction.atomic
def revoke_token(user: User, key: str) -> bool:
    """Ends one of the user's own tokens; False if there is none of that key."""
    gone, _ = AuthToken.objects.filter(user=user, token_key=key).delete()
    if gone:
        record(actor=user, action="token.revoked", target_kind="token", target_id=key)
    return bool(gone)


@transaction.atomic
def ensure_tenants(names: list[str]) -> int:
    """Creates what is missing of these tenants; returns how many that were."""
    before = Tenant.objects.count()
    Tenant.objects.bulk_create([Tenant(name=name) for name in names], ignore_conflicts=True)
    return Tenant.objects.count() - before


@transaction.atomic
def ensure_person(username: str, role: str, *, password: str, tenants: list[str]) -> User:
    """The account of that name, created where there is none; an existing one is left as it is."""
    user, created = User.objects.get_or_create(username=username, defaults={"role": role})
    if created:
        user.set_password(password)
        user.save(update_fields=["password"])
        user.tenants.set(Tenant.objects.filter(name__in=tenants))
        record(actor=None, action="user.created", target_kind="user", target_id=username, detail={"role": role})
    return user
