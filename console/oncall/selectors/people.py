"""Who may be called, and how each is reached."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from console.oncall.choices import ContactKind
from console.oncall.models import Contact
from console.oncall.turns import Person
from console.tenancy.choices import PERMISSIONS

ANSWERS = "plans.approve_plan"  # whoever is called must be able to decide


@dataclass(frozen=True, slots=True)
class Way:
    """One way to reach somebody.  ``sealed``: name of the credential that holds the address; "" of mail."""

    kind: ContactKind
    address: str
    sealed: str = ""


def person_of(user: Any) -> Person:
    """The person, with what speaks against calling them."""
    may = "" if user.has_perm(ANSWERS) else "may not approve plans"
    return Person(user.pk, user.get_username(), may if user.is_active else "is not active")


def may_be_on_call() -> QuerySet[Any]:
    """Active people who may approve, by name: those of whom a rota can be made."""
    roles = [role for role, may in PERMISSIONS.items() if ANSWERS in may]
    return get_user_model().objects.filter(is_active=True, role__in=roles).order_by("username")


def approvers() -> tuple[Person, ...]:
    return tuple(person_of(user) for user in may_be_on_call())


def callable_people(people: Iterable[Person], never: dict[int, str]) -> tuple[Person, ...]:
    return tuple(one for one in people if not one.away and one.uid not in never)


def contacts_of(user: Any) -> dict[str, Contact]:
    """What this person has said: kind -> contact."""
    return {row.kind: row for row in Contact.objects.filter(user=user)}


def ways_of(user: Any) -> list[Way]:
    """How to reach a person, in the order in which it is tried; the account's own address stands in for a mail."""
    said = contacts_of(user)
    found = []
    if (hook := said.get(ContactKind.WEBHOOK)) is not None:
        found.append(Way(ContactKind.WEBHOOK, hook.shown, hook.sealed))
    mail = said[ContactKind.MAIL].shown if ContactKind.MAIL in said else user.email
    if mail:
        found.append(Way(ContactKind.MAIL, mail))
    return found
