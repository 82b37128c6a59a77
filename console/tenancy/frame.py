"""What tenants hang into the frame of every page."""

from django.http import HttpRequest

from console.tenancy import selectors
from console.tenancy.addresses import tenant_address
from console.ui.shell import Entry, Hit, register_entry, register_hits

OWN = "tenancy.view_own"
LEAST = 2  # letters before names are searched


def register() -> None:
    register_entry(Entry("tenants", "Tenants", "tenancy:tenants", "users-group", order=24, permission=OWN))
    register_hits("tenants", hits)


def hits(request: HttpRequest, words: str, limit: int) -> list[Hit]:
    """Tenants whose name holds the words, of those that the person may see."""
    if len(words) < LEAST or not request.user.has_perm(OWN):
        return []
    names = selectors.tenant_names(request.user, words)
    return [Hit("tenant", name, tenant_address(name), "users-group") for name in names if tenant_address(name)][:limit]
