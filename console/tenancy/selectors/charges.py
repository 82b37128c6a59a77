"""Chargeback: GPU-hours by tenant, model and tier, times price.  Whole thousandths and cents, so totals add up."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Min
from django.utils import timezone

from console.tenancy.choices import Tier
from console.tenancy.entries import Docs
from console.tenancy.models import UsageFeed
from console.tenancy.periods import Period
from console.tenancy.prices import Prices
from console.tenancy.selectors.book import book_now, path_of
from console.tenancy.selectors.people import tenant_scope
from console.tenancy.selectors.quoted import Charged, QuotedUse, quoted_use
from console.tenancy.selectors.teams import first_whole, told_apart_since
from console.tenancy.selectors.use import (
    GPU_HOUR_US,
    MEASURES,
    MILLI_HOUR_US,
    Known,
    Stretch,
    Sums,
    history,
    known_of,
    sums_of,
)

_AT = {Tier.HP: MEASURES.index("hp"), Tier.LP: MEASURES.index("lp")}


@dataclass(frozen=True, slots=True)
class Line:
    """One tenant on one model of one cluster in one tier.  ``cents`` None: no price is known, which is not 0."""

    tenant: str
    cluster: str
    gpu_model: str
    tier: str
    milli_hours: int
    cents_per_gpu_hour: int | None
    price_from: str
    cents: int | None
    department: str = ""  # above the tenant, "" where there is none, or the viewer may not read its name


@dataclass(frozen=True, slots=True)
class Sum:
    """``unpriced_milli_hours``: of those hours, for which nobody says a price; they are in no sum of money."""

    milli_hours: int = 0
    unpriced_milli_hours: int = 0
    cents: int | None = None

    @property
    def gpu_hours(self) -> float:
        return self.milli_hours / 1000

    @property
    def usd(self) -> float | None:
        return None if self.cents is None else self.cents / 100


@dataclass(frozen=True, slots=True)
class Account:
    """One tenant's own lines and their sum, its teams apart."""

    tenant: str
    lines: list[Line]
    whole: Sum
    hp: Sum
    lp: Sum


@dataclass(frozen=True, slots=True)
class Bill:
    """``as_of``: until when readings were counted; ``known``: how much of the period, by source.

    ``teams_since``: of teams that are told apart only from an instant within the period; before it their hours are
    those of their department.
    """

    period: Period
    accounts: list[Account]
    whole: Sum
    known: list[Known]
    as_of: datetime | None
    teams_since: dict[str, datetime] = field(default_factory=dict)

    @property
    def hp(self) -> Sum:
        return total(account.hp for account in self.accounts)

    @property
    def lp(self) -> Sum:
        return total(account.lp for account in self.accounts)

    @property
    def lines(self) -> list[Line]:
        return [line for account in self.accounts for line in account.lines]


def bill(viewer: Any, period: Period, tenant: str = "", *, now: datetime | None = None) -> Bill:
    """What the viewer may see of a period: everybody, or its own tenants; with ``tenant`` that one and its teams."""
    page = book_now()
    scope = tenant_scope(viewer)
    names = None if scope is None else set(scope)
    if tenant:
        below = with_teams(page.docs, tenant)
        names = below if names is None else below & names
    lines = (
        replace(line, department=above if scope is None or above in scope else "")
        for line in lines_of(page.docs, sums_of(period, names), quoted_use(period, names))
        for above in [page.docs.get(("tenant", line.tenant), {}).get("parent") or ""]
    )
    accounts = accounts_of(lines)
    since = {
        name: at for name, at in told_apart_since(names).items() if ("tenant", name) in page.docs and at > period.start
    }
    known = known_of(period, now or timezone.now())
    return Bill(period, accounts, total(one.whole for one in accounts), known, counted_until(), since)


def counting_now() -> datetime:
    """The clock by which periods are named."""
    return timezone.now()


def counted_until() -> datetime | None:
    """The oldest of the newest readings: until then everything that was read is counted."""
    found: datetime | None = UsageFeed.objects.aggregate(Min("at"))["at__min"]
    return found


def history_of(viewer: Any, tenant: str, period: Period, model: str = "", *, days: bool = False) -> list[Stretch]:
    """Mean GPUs of a tenant with its teams, hour by hour or day by day; nothing of those one may not see.

    Of a team nothing before the first whole hour (or day) in which it was told apart: that is unknown, and not 0.
    """
    scope = tenant_scope(viewer)
    if scope is not None and tenant not in scope:
        return []
    found = history(period, with_teams(book_now().docs, tenant), tenant, model, days=days)
    since = told_apart_since([tenant]).get(tenant)
    return found if since is None else [one for one in found if one.at >= first_whole(since, days=days)]


def with_teams(docs: Docs, tenant: str) -> set[str]:
    return {tenant} | {name for kind, name in docs if kind == "tenant" and tenant in path_of(docs, name)}


def lines_of(docs: Docs, sums: Sums, quoted: QuotedUse) -> list[Line]:
    """By tenant, model, cluster and tier; none where nothing was used.

    LP that had a quote is charged by it, hour by hour; what is left of it, as everything else, by what is said now.
    """
    prices = Prices(docs, sorted({place[0] for place in sums}))
    found = []
    for place, amounts in sorted(sums.items(), key=lambda item: (item[0][1], item[0][2], item[0][0])):
        cluster, tenant, model = place
        for tier, at in _AT.items():
            charged = quoted.of.get(place) if tier is Tier.LP else None
            if charged is not None:
                found.append(_quoted(place, charged, quoted.origin))
            used = amounts[at] - (0 if charged is None else charged.used_us)
            if used <= 0:
                continue
            price = prices.of(cluster, model, tenant, tier)
            cents = None if price.cents is None else _half_up(used * price.cents, GPU_HOUR_US)
            hours = _half_up(used, MILLI_HOUR_US)
            found.append(Line(tenant, cluster, model, tier.value, hours, price.cents, price.origin, cents))
    return found


def _quoted(place: tuple[str, str, str], charged: Charged, origin: str) -> Line:
    """Its price is the mean of its hours; between which prices these lay is said where it changed."""
    cluster, tenant, model = place
    low, high = charged.low or 0, charged.high or 0
    words = origin if low == high else f"{origin}, {low / 100:.2f}\N{EN DASH}{high / 100:.2f} by the hour"
    hours, cents = _half_up(charged.used_us, MILLI_HOUR_US), _half_up(charged.cent_us, GPU_HOUR_US)
    return Line(tenant, cluster, model, Tier.LP.value, hours, _half_up(charged.cent_us, charged.used_us), words, cents)


def _half_up(amount: int, whole: int) -> int:
    return (2 * amount + whole) // (2 * whole)


def accounts_of(lines: Iterable[Line]) -> list[Account]:
    """By name; what belongs to nobody comes last."""
    of_tenant: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        of_tenant[line.tenant].append(line)
    return [
        Account(
            name,
            of_tenant[name],
            sum_of(of_tenant[name]),
            sum_of(line for line in of_tenant[name] if line.tier == Tier.HP),
            sum_of(line for line in of_tenant[name] if line.tier == Tier.LP),
        )
        for name in sorted(of_tenant, key=lambda name: (name == "", name))
    ]


def sum_of(lines: Iterable[Line]) -> Sum:
    every = list(lines)
    priced = [line.cents for line in every if line.cents is not None]
    return Sum(
        sum(line.milli_hours for line in every),
        sum(line.milli_hours for line in every if line.cents is None),
        sum(priced) if priced else None,
    )


def total(sums: Iterable[Sum]) -> Sum:
    every = list(sums)
    priced = [one.cents for one in every if one.cents is not None]
    return Sum(
        sum(one.milli_hours for one in every),
        sum(one.unpriced_milli_hours for one in every),
        sum(priced) if priced else None,
    )


def by_tenant_sums(docs: Docs, period: Period, names: Collection[str] | None = None) -> dict[str, Sum]:
    """Tenant -> sum of a period with its teams, for all tenants at once."""
    found: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines_of(docs, sums_of(period, names), quoted_use(period, names)):
        for name in path_of(docs, line.tenant):
            found[name].append(line)
    return {name: sum_of(lines) for name, lines in found.items()}
