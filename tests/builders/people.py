"""People of every role.  Needs the database."""

from console.tenancy.choices import Role
from console.tenancy.models import Tenant, User


def person(role: Role, name: str = "", tenants: tuple[str, ...] = ()) -> User:
    """A person of that role, made where there is none of that name (which is the role's, if none is given)."""
    user, created = User.objects.get_or_create(username=name or role.value, defaults={"role": role})
    if created:
        user.set_password("a password of 1 person")
        user.save()
    for tenant in tenants:
        user.tenants.add(Tenant.objects.get_or_create(name=tenant)[0])
    return user


def viewer() -> User:
    return person(Role.VIEWER)


def operator(name: str = "") -> User:
    return person(Role.OPERATOR, name)


def approver(name: str = "") -> User:
    return person(Role.APPROVER, name)


def tenant(*tenants: str) -> User:
    return person(Role.TENANT_USER, tenants=tenants or ("team-a",))


def stranger() -> User:
    """A tenant's user who belongs to no tenant at all."""
    return person(Role.TENANT_USER, "stranger")
