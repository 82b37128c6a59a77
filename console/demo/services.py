"""The demo's people."""

from console.tenancy import services as tenancy
from console.tenancy.choices import DEMO_LOGINS, Role

# The first departments of the generated worlds, which are their largest; the demo's tenant belongs to the first.
TENANTS = ("dept-01", "dept-02", "dept-03", "dept-06")


def seed_people() -> list[str]:
    """Creates the accounts and tenants that are missing; returns the names of all of the demo's accounts."""
    tenancy.ensure_tenants(list(TENANTS))
    for name, role in DEMO_LOGINS.items():
        own = list(TENANTS[:1]) if role is Role.TENANT_USER else []
        tenancy.ensure_person(name, role, password=name, tenants=own)
    return list(DEMO_LOGINS)
