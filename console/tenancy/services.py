"""Asking for permission, and the people of the demo."""

from typing import Any

from django.core.exceptions import PermissionDenied

from console.tenancy.choices import WORDS


class Denied(PermissionDenied):
    """The person may not do this; the text says so in words fit for a page."""


def require(user: Any, permission: str) -> None:
    """Returns if ``user`` holds ``permission``, raises ``Denied`` with a readable reason if not."""
    if user.is_authenticated and user.has_perm(permission):
        return
    if not user.is_authenticated:
        raise Denied(f"Sign in first: only people with an account may {WORDS.get(permission, permission)}.")
    raise Denied(f"{user.get_username()} is {_article(user.get_role_display())} and may not {WORDS.get(permission, permission)}.")


def _article(role: str) -> str:
    return f"{'an' if role[:1] in 'AEIO' else 'a'} {role.lower()}"
