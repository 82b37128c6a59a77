"""The demo's people and the files of its pages."""

import fcntl
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from console.oncall import services as oncall
from console.prices import services as prices
from console.simulation import services as simulation
from console.spot import services as spot
from console.standby import services as standby
from console.tenancy import services as tenancy
from console.tenancy.choices import DEMO_LOGINS, Role

# The first departments of the generated worlds, which are their largest; the demo's tenant belongs to the first.
TENANTS = ("dept-01", "dept-02", "dept-03", "dept-06")
# Above them, in the book; the demo's tenant admin divides what the first has.
DEPARTMENTS = ("research", "online", "platform")


def seed_people() -> list[str]:
    """Creates the accounts and tenants that are missing; returns the names of all of the demo's accounts."""
    tenancy.ensure_tenants([*TENANTS, *DEPARTMENTS])
    own = {Role.TENANT_USER: list(TENANTS[:1]), Role.TENANT_ADMIN: list(DEPARTMENTS[:1])}
    for name, role in DEMO_LOGINS.items():
        tenancy.ensure_person(name, role, password=name, tenants=own.get(role, []))
    _seed_rota()
    return list(DEMO_LOGINS)


def seed_book() -> bool:
    """Quotas for who uses the demo's world, once; False where there is a book already."""
    operator = tenancy.ensure_person("operator", Role.OPERATOR, password="operator", tenants=[])
    made = tenancy.ensure_book(operator, DEPARTMENTS, reason="The demo's quotas, budgets and prices are invented.")
    return made is not None


def seed_prices() -> bool:
    """A simulated past of spot prices and a proposal that waits for a yes, once; False where there are prices."""
    operator = tenancy.ensure_person("operator", Role.OPERATOR, password="operator", tenants=[])
    return prices.ensure_prices(operator) is not None


def seed_standby() -> bool:
    """Windows of the demo's tenant, one of which ends while somebody watches; False where there are some already."""
    person = tenancy.ensure_person("tenant", Role.TENANT_USER, password="tenant", tenants=list(TENANTS[:1]))
    return standby.ensure_windows(person, TENANTS[0]) > 0


def seed_study() -> bool:
    """A small study that runs as soon as there are workers, once; False where there are studies already."""
    operator = tenancy.ensure_person("operator", Role.OPERATOR, password="operator", tenants=[])
    return simulation.ensure_study(operator) is not None


def seed_supply() -> bool:
    """A simulated past of what spot work could have held, once; False where some was seen already."""
    return spot.ensure_past() > 0


def seed_leases() -> bool:
    """What the demo's tenant asks of spot capacity, once; False where there are leases already, or nothing lends."""
    tenant = tenancy.ensure_person("tenant", Role.TENANT_USER, password="tenant", tenants=list(TENANTS[:1]))
    return spot.ensure_leases(tenant) > 0


def _seed_rota() -> None:
    """A rota of both approvers, once; their mails become files, since the domain leads nowhere."""
    approvers = [name for name, role in DEMO_LOGINS.items() if role is Role.APPROVER]
    people = [tenancy.ensure_person(name, Role.APPROVER, password=name, tenants=[]) for name in approvers]
    made = oncall.ensure_rota(people[0], people=approvers, reason="The demo's two approvers take turns.")
    if made:
        for person in people:
            oncall.set_contact(person, "mail", f"{person.get_username()}@demo.invalid")


def refresh_static() -> bool:
    """Collects the static files anew if one has changed since; several demos of one folder wait for each other."""
    root = Path(settings.STATIC_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_fresh(root / "staticfiles.json"):
            return False
        call_command("collectstatic", interactive=False, verbosity=0)
        return True


def _is_fresh(manifest: Path) -> bool:
    if not manifest.is_file():
        return False
    collected_at = manifest.stat().st_mtime
    return all(file.stat().st_mtime <= collected_at for file in (settings.ROOT / "static").rglob("*"))
