"""Everything that writes: people and their tokens, the book of quotas, and what tenants use."""

from console.tenancy.services.people import (
    TOKENS_PER_USER,
    Denied,
    ensure_person,
    ensure_tenants,
    issue_token,
    person,
    require,
    revoke_token,
)

__all__ = [
    "TOKENS_PER_USER",
    "Denied",
    "ensure_person",
    "ensure_tenants",
    "issue_token",
    "person",
    "require",
    "revoke_token",
]
