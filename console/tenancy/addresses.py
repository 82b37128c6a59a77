"""Addresses of tenants: a name from outside may hold what a path would not survive."""

import re

from django.urls import reverse

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._:@ -]*")


def tenant_address(name: str) -> str:
    """ "" where no page can be named so."""
    return reverse("tenancy:tenant", args=[name]) if _SAFE.fullmatch(name) else ""


def edit_address(name: str) -> str:
    return reverse("tenancy:edit-tenant", args=[name]) if _SAFE.fullmatch(name) else ""
