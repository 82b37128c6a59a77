"""How much of a model is wanted: GPU time by tenant, never the number of asks.

What leases pay for counts whole: every such hour has its price.  What waits costs nothing, so it counts only as far as
the tenant has shown that it pays: up to what it pays for now, or to a small part of the pool for one that pays nothing
yet.  GPUs x seconds waited / period; an ask that was withdrawn, or whose limit is below the price, waits for nothing.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.cluster.errors import within


@dataclass(frozen=True, slots=True)
class TenantUse:
    """Means over the period, thousandths of GPUs; several rows of one tenant count as one."""

    tenant: str
    paid_milli: int
    waiting_milli: int

    def __post_init__(self) -> None:
        within("paid_milli", self.paid_milli, 0, 1 << 40)
        within("waiting_milli", self.waiting_milli, 0, 1 << 40)


@dataclass(frozen=True, slots=True)
class Counted:
    """``cut_milli``: what waits and is not counted; ``tenants``: those of whom something counts."""

    paid_milli: int
    waiting_milli: int
    tenants: int
    cut_milli: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandRules:
    """Raises ``ParamError`` for the first field out of range."""

    proven_percent: int = 100  # of what a tenant pays for: so much of what waits is believed
    unproven_percent: int = 2  # of the pool: so much is believed of any tenant

    def __post_init__(self) -> None:
        within("proven_percent", self.proven_percent, 0, 1_000)
        within("unproven_percent", self.unproven_percent, 0, 100)


def counted(uses: Iterable[TenantUse], supply_milli: int, rules: DemandRules | None = None) -> Counted:
    """``supply_milli``: the pool of which an unproven tenant's part is taken."""
    rules = rules or DemandRules()
    paid: dict[str, int] = defaultdict(int)
    waiting: dict[str, int] = defaultdict(int)
    for use in uses:
        paid[use.tenant] += use.paid_milli
        waiting[use.tenant] += use.waiting_milli
    unproven = supply_milli * rules.unproven_percent // 100
    believed = {
        tenant: min(milli, max(unproven, paid[tenant] * rules.proven_percent // 100))
        for tenant, milli in waiting.items()
    }
    return Counted(
        paid_milli=sum(paid.values()),
        waiting_milli=sum(believed.values()),
        tenants=sum(bool(paid[tenant] or believed[tenant]) for tenant in waiting),
        cut_milli=sum(waiting.values()) - sum(believed.values()),
    )
