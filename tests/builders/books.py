"""Books of quotas for tests, edited as people edit them.  Needs the database."""

from typing import Any

from console.tenancy import services
from console.tenancy.entries import Given
from console.tenancy.models import Book, Edition
from tests.builders.people import operator

LIMITS = ("nominal", "borrowing_limit", "lending_limit")


def tenant_entry(name: str, parent: str | None = None, *, cohort: str | None = None, **said: Any) -> Given:
    """``H20=(8, 4, None)``: nominal, borrowing limit, lending limit; ``H20=8``: nominal alone; others as named."""
    fields = ("weight", "cap_gpus", "guarantee_gpus", "min_runtime_s", "budgets")
    own = {field: said.pop(field) for field in fields if field in said}
    return Given("tenant", name, {"parent": parent, "cohort": cohort, "quotas": quotas(**said), **own})


def cohort_entry(name: str, parent: str | None = None, **said: Any) -> Given:
    return Given("cohort", name, {"parent": parent, "quotas": quotas(**said)})


def quotas(**said: Any) -> dict[str, dict[str, int | None]]:
    tuples = {model: limits if isinstance(limits, tuple) else (limits,) for model, limits in said.items()}
    return {model: dict(zip(LIMITS, (*limits, None, None), strict=False)) for model, limits in tuples.items()}


def edited(*given: Given, user: Any = None, reason: str = "as agreed", version: int | None = None) -> Edition:
    """On top of the newest version where none is named."""
    if version is None:
        version = Book.objects.filter(pk=1).values_list("version", flat=True).first() or 0
    return services.edit_book(user or operator(), list(given), version, reason=reason)
