"""A first book for a console that has use and no quotas, such as the demo: every figure follows from the use."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import transaction

from console.tenancy.entries import Given
from console.tenancy.models import Edition, UsageFeed
from console.tenancy.selectors.use import feeds, use_of
from console.tenancy.services.book import edit_book
from console.tenancy.standing import GPU, Use

COHORT = "fleet"
# Of the HP in use now: below one the tenant borrows, above one it lends.
_SHARES = (0.85, 1.1, 1.3, 0.95, 1.0, 1.2)
_CLASSES = (("production", 1000), ("research", 500), ("best-effort", -10))
_CENTS = (("A10", 90, 36), ("L20", 130, 52), ("H20", 240, 96), ("A100", 310, 124), ("H800", 520, 208))


@transaction.atomic
def ensure_book(user: Any, departments: Sequence[str], *, reason: str) -> Edition | None:
    """Departments that divide among them who uses something; None where there is a book, or nothing is in use."""
    if Edition.objects.exists():
        return None
    every = feeds()
    held: defaultdict[str, dict[str, Use]] = defaultdict(dict)
    for (tenant, model), use in use_of(every, {}).items():
        if model:
            held[tenant][model] = use
    if not held:
        return None
    return edit_book(user, [*_entries(held, departments), *_teams(every)], 0, reason=reason)


def _entries(held: Mapping[str, Mapping[str, Use]], departments: Sequence[str]) -> Iterator[Given]:
    yield Given("cohort", COHORT)
    whole: dict[str, defaultdict[str, int]] = {name: defaultdict(int) for name in departments}
    for at, tenant in enumerate(sorted(held)):
        above = departments[at % len(departments)]
        quotas = {}
        for step, (model, use) in enumerate(sorted(held[tenant].items())):
            nominal = max(1, round(use.hp / GPU * _SHARES[(at + step) % len(_SHARES)]))
            whole[above][model] += nominal
            lending = nominal // 2 if (at + step) % 4 == 3 else None
            borrowing = nominal // 4 if (at + step) % 5 == 0 else None
            quotas[model] = {"nominal": nominal, "borrowing_limit": borrowing, "lending_limit": lending}
        hours = sum(use.hp + use.lp for use in held[tenant].values()) // GPU
        document = {"parent": above, "quotas": quotas, "weight": 1 + at % 3, "budgets": _budgets(at, max(1, hours))}
        yield Given("tenant", tenant, document)
    for name, models in whole.items():
        rest = {model: {"nominal": total + total // 20} for model, total in models.items()}
        yield Given("tenant", name, {"cohort": COHORT, "quotas": rest, "min_runtime_s": 1800})
    for name, value in _CLASSES:
        yield Given("class", name, {"value": value})
    for model, hp, lp in _CENTS:
        yield Given("price", model, {"hp_cents": hp, "lp_cents": lp})


def _teams(every: Iterable[UsageFeed]) -> Iterator[Given]:
    """Below two tenants: a team of each of their namespaces but the last, whose pods are of no team."""
    spaces: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for feed in every:
        for _cluster, tenant, namespace, _model, hp, lp, _pending in feed.spaces:
            if tenant and namespace:
                spaces[tenant][namespace] += hp + lp
    for tenant in [name for name in sorted(spaces) if len(spaces[name]) > 1][:2]:
        for namespace in sorted(spaces[tenant])[:-1]:
            hours = max(1, spaces[tenant][namespace] // GPU) * 24 * 31
            document = {"parent": tenant, "namespaces": [namespace], "budgets": {"month": {"gpu_hours": hours}}}
            yield Given("tenant", namespace, document)


def _budgets(at: int, gpus: int) -> dict[str, Any]:
    """For a few: one that lasts for the month, one of money, one that a day uses up."""
    if at == 0:
        return {"month": {"gpu_hours": gpus * 24 * 31}}
    if at == 1:
        return {"rolling-7": {"usd": gpus * 24, "warn_percent": 70}}
    return {"month": {"gpu_hours": gpus}} if at == 2 else {}
