"""Budgets: what of them is used, where a straight line leads, and when they warn and stop.

The line: what was used, plus the mean rate of the known part of the period for what is left of it.  Rolling budgets
have no end; their figure is the same rate over the whole window.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.tenancy.entries import Docs
from console.tenancy.periods import Period, period_of
from console.tenancy.selectors.book import TENANT, book_now
from console.tenancy.selectors.charges import Sum, by_tenant_sums
from console.tenancy.selectors.people import tenant_scope
from console.tenancy.selectors.use import known_of

OK, WARNING, STOPPED = "ok", "warning", "stopped"


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
    exhausted_at: datetime | None
    partly: bool

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
    for tenant, name, limits in having:
        used = sums[name].get(tenant, Sum())
        for unit, amount in (("gpu_hours", used.gpu_hours), ("usd", used.usd or 0.0)):
            if limits[unit] is not None:
                partly = unit == "usd" and used.unpriced_milli_hours > 0
                yield _burn(tenant, periods[name], unit, limits, amount, known[name], now, partly)


def _known_s(period: Period, now: datetime) -> float:
    """Of the source of which most is known; what of the others is not known is in no sum either."""
    return max((one.covered_s for one in known_of(period, now)), default=0.0)


def _burn(
    tenant: str, period: Period, unit: str, limits: dict[str, Any], used: float, known_s: float, now: datetime,
    partly: bool,
) -> Burn:  # fmt: skip
    limit = limits[unit]
    forecast, exhausted_at = None, None
    if known_s > 0:
        rate = used / known_s  # a second
        left_s = max(0.0, (period.end - now).total_seconds())
        forecast = rate * period.seconds if period.rolling else used + rate * left_s
        if used < limit and rate > 0 and not period.rolling and forecast > limit:
            exhausted_at = now + timedelta(seconds=(limit - used) / rate)
    return Burn(tenant, period, unit, limit, used, limits["warn_percent"], known_s, forecast, exhausted_at, partly)
