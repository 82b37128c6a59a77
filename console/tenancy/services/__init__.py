"""Everything that writes: people and their tokens, the book of quotas, and what tenants use."""

from console.tenancy.entries import BookError, Given, Wrong
from console.tenancy.services.book import (
    DIVIDED,
    Planned,
    VersionChangedError,
    VersionMissingError,
    edit_book,
    given_back,
    plan_edit,
    put_back,
)
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
from console.tenancy.services.preview import Consequence, Preview, preview
from console.tenancy.services.seeding import ensure_book
from console.tenancy.services.usage import UsageRow, forget_use, record_usage

__all__ = [
    "DIVIDED",
    "TOKENS_PER_USER",
    "BookError",
    "Consequence",
    "Denied",
    "Given",
    "Planned",
    "Preview",
    "UsageRow",
    "VersionChangedError",
    "VersionMissingError",
    "Wrong",
    "edit_book",
    "ensure_book",
    "ensure_person",
    "ensure_tenants",
    "forget_use",
    "given_back",
    "issue_token",
    "person",
    "plan_edit",
    "preview",
    "put_back",
    "record_usage",
    "require",
    "revoke_token",
]
