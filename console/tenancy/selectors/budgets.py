"""Budgets: what of them is used, where a straight line leads, and when they warn and stop.

The line: what was used, plus the mean rate of the known part of the period for what is left of it.  Rolling budgets
have no end; their figure is the same rate over the whole window.  The day on which a budget will be spent follows from
the rate of today and yesterday alone, so that a quiet start of the month hides nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.tenancy.choices import Tier
from console.tenancy.entries import Docs
from console.tenancy.periods import DAY, Period, period_of
from console.tenancy.prices import Prices
from console.tenancy.selectors.book import TENANT, book_now
from console.tenancy.selectors.charges import Sum, by_tenant_sums
from console.tenancy.selectors.people import tenant_scope
from console.tenancy.selectors.teams import told_apart_since
from console.tenancy.selectors.use import known_of

OK, WARNING, STOPPED = "ok", "warning", "stopped"
NOWADAYS = "rolling-2"  # today and yesterday, so that early in the day enough is known


@dataclass(frozen=True, slots=True)
class Burn:
    """One limit of one budget.  GPU-hours or USD; ``forecast`` and ``exhausted_at`` None where nothing can be said.

    ``partly``: some hours have no price, so that money is at least this much.
    """

    tenant: str
    period: Period
    unit: str  # gpu_hours, usd
    limit: int
    used: float
    warn_percent: int
    known_s: float
    forecast: float | None
    exhausted_at: datetime | None  # at the rate of NOWADAYS, where that is before the period ends
    partly: bool
    since: datetime | None = None  # of a team that is told apart only from then on
    free_at: datetime | None = None  # of one that is spent: the earliest instant at which it is not, raised by nobody

    @property
    def percent(self) -> float:
        """Of the limit; a limit of 0 is used up by definition."""
        return 100 * self.used / self.limit if self.limit else 100.0

    @property
    def state(self) -> str:
        if self.used >= self.limit:
            return STOPPED
        return WARNING if self.percent >= self.warn_percent else OK

    @property
    def stop(self) -> str:
        """Why nothing more of the tenant should be admitted; "" while it may."""
        if self.state != STOPPED:
            return ""
        unit = "GPU-hours" if self.unit == "gpu_hours" else "USD"
        return f"budget of {self.tenant}: {self.used:,.0f} of {self.limit:,} {unit} used, {self.period.words}"


@dataclass(frozen=True, slots=True)
class Spent:
    """A spent budget as admission is told of it.  ``cents``: of a GPU-hour by cluster, model and whether LP."""

    burn: Burn
    cents: Mapping[tuple[str, str, bool], int]
    raised_by: str


def burns(viewer: Any, names: Collection[str] | None = None, *, now: datetime | None = None) -> list[Burn]:
    """Of all tenants that the viewer may see, or of these among them; by tenant."""
    scope = tenant_scope(viewer)
    wanted = None if names is None else set(names)
    if scope is not None:
        wanted = set(scope) if wanted is None else wanted & scope
    return list(_burns(book_now().docs, wanted, now or timezone.now()))


def stops(*, now: datetime | None = None) -> dict[str, str]:
    """Tenant -> why nothing more of it and of its teams should be admitted.  For admission; no viewer."""
    return {burn.tenant: burn.stop for burn in _burns(book_now().docs, None, now or timezone.now()) if burn.stop}


def spent_budgets(clusters: Collection[str], models: Collection[str], *, now: datetime | None = None) -> list[Spent]:
    """All budgets that are spent, with what an hour costs in these places.  For admission; no viewer."""
    docs, at = book_now().docs, now or timezone.now()
    spent = [burn for burn in _burns(docs, None, at) if burn.state == STOPPED]
    prices = Prices(docs, sorted(clusters), at) if any(burn.unit == "usd" for burn in spent) else None
    found = []
    for burn in spent:
        cents = {
            (cluster, model, tier is Tier.LP): price.cents
            for cluster in clusters
            for model in models
            for tier in (Tier.HP, Tier.LP)
            if prices is not None
            and burn.unit == "usd"
            and (price := prices.of(cluster, model, burn.tenant, tier)).cents is not None
        }
        found.append(Spent(burn, {place: one for place, one in cents.items() if one is not None}, _raisers(docs, burn)))
    return found


def _raisers(docs: Docs, burn: Burn) -> str:
    """Who may raise it: what a department divides among its teams its own people may edit."""
    parent = docs.get((TENANT, burn.tenant), {}).get("parent")
    return f"An operator or an admin of {parent}" if parent else "An operator"


def _burns(docs: Docs, wanted: Collection[str] | None, now: datetime) -> Iterator[Burn]:
    having = sorted(
        (key[1], name, limits)
        for key, document in docs.items()
        if key[0] == TENANT and (wanted is None or key[1] in wanted)
        for name, limits in document["budgets"].items()
    )
    periods = {name: period_of(name, now) for name in {name for _, name, _ in having}}
    sums = {name: by_tenant_sums(docs, period) for name, period in periods.items()}
    known = {name: _known_s(period, now) for name, period in periods.items()}
    nowadays = period_of(NOWADAYS, now)
    recent, recent_s = (by_tenant_sums(docs, nowadays), _known_s(nowadays, now)) if having else ({}, 0.0)
    apart = told_apart_since({tenant for tenant, _, _ in having}) if having else {}
    for tenant, name, limits in having:
        since = apart.get(tenant)
        since = since if since is not None and since > periods[name].start else None
        known_s = _since(known[name], since, now)
        used = sums[name].get(tenant, Sum())
        for unit, amount in ((unit, _amount(used, unit)) for unit in ("gpu_hours", "usd")):
            if limits[unit] is not None:
                partly = unit == "usd" and used.unpriced_milli_hours > 0
                burn = _burn(tenant, periods[name], unit, limits, amount, known_s, now, partly)
                burn = replace(burn, since=since)
                yield _told(docs, burn, _amount(recent.get(tenant, Sum()), unit), _since(recent_s, since, now), now)


def _known_s(period: Period, now: datetime) -> float:
    """Of the source of which most is known; what of the others is not known is in no sum either."""
    return max((one.covered_s for one in known_of(period, now)), default=0.0)


def _since(known_s: float, since: datetime | None, now: datetime) -> float:
    """Of what is known the part in which a team was told apart, at most."""
    return known_s if since is None else max(0.0, min(known_s, (now - since).total_seconds()))


def _burn(
    tenant: str, period: Period, unit: str, limits: dict[str, Any], used: float, known_s: float, now: datetime,
    partly: bool,
) -> Burn:  # fmt: skip
    limit = limits[unit]
    forecast = None
    if known_s > 0:
        rate = used / known_s  # a second
        left_s = max(0.0, (period.end - now).total_seconds())
        forecast = rate * period.seconds if period.rolling else used + rate * left_s
    return Burn(tenant, period, unit, limit, used, limits["warn_percent"], known_s, forecast, None, partly)


def _amount(used: Sum, unit: str) -> float:
    return used.gpu_hours if unit == "gpu_hours" else used.usd or 0.0


def _told(docs: Docs, burn: Burn, recent: float, recent_s: float, now: datetime) -> Burn:
    """With the instant at which it will be spent, or at which it will not be any more."""
    if burn.state == STOPPED:
        return replace(burn, free_at=_free_at(docs, burn))
    if recent <= 0 or recent_s <= 0 or burn.period.rolling:
        return burn
    at = now + timedelta(seconds=(burn.limit - burn.used) * recent_s / recent)
    return replace(burn, exhausted_at=at) if at < burn.period.end else burn


def _free_at(docs: Docs, burn: Burn) -> datetime | None:
    """The end of its period; of a rolling window the first midnight at which what is left of it is below the limit."""
    period = burn.period
    if not burn.limit:
        return None
    if not period.rolling:
        return period.end
    low, high = 1, round(period.seconds / DAY.total_seconds())
    while low < high:
        middle = (low + high) // 2
        left = by_tenant_sums(docs, replace(period, start=period.start + middle * DAY)).get(burn.tenant, Sum())
        low, high = (low, middle) if _amount(left, burn.unit) < burn.limit else (middle + 1, high)
    return period.end + (low - 1) * DAY
