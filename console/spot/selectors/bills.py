"""What spot capacity cost by month, and what standby earned.

A run is billed in the month in which it ended, what still runs in this one; a span of sleep in that in which it began.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from console.spot.models import Run
from console.spot.selectors.viewing import leases
from console.standby.selectors import month_rebates
from console.ui.sums import known_sum

MONTHS = 6


@dataclass(frozen=True, slots=True)
class MonthBill:
    """Whole cents; ``runs_on``: how much of the charge is of runs that are not over."""

    month: str  # 2026-11
    tenant: str
    gpu_s: int
    charge_cents: int
    credit_cents: int
    runs_on_cents: int
    rebate_cents: int | None = 0  # for what slept; None: not known

    @property
    def due_cents(self) -> int:
        return self.charge_cents - self.credit_cents

    @property
    def in_all_cents(self) -> int | None:
        return None if self.rebate_cents is None else self.due_cents - self.rebate_cents


def month_bills(viewer: Any, months: int = MONTHS, now: datetime | None = None) -> list[MonthBill]:
    """Newest month first, then by tenant."""
    at = now or timezone.now()
    first = _months_back(at, months - 1)
    runs = Run.objects.filter(lease__in=leases(viewer), running_at__isnull=False)
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    fields = ("lease__tenant", "ended_at", "gpu_s", "charge_cents", "credit_cents")
    for tenant, ended_at, gpu_s, charge, credit in runs.exclude(ended_at__lt=first).values_list(*fields):
        found = sums[f"{ended_at or at:%Y-%m}", tenant]
        for place, amount in enumerate((gpu_s, charge, credit, 0 if ended_at else charge)):
            found[place] += amount
    rebates = month_rebates(viewer, first)
    rows = []
    for month, tenant in {*sums, *rebates}:
        gpu_s, charge, credit, runs_on = sums[month, tenant]
        rows.append(MonthBill(month, tenant, gpu_s, charge, credit, runs_on, rebates.get((month, tenant), 0)))
    return sorted(rows, key=lambda row: (row.month, row.tenant), reverse=True)


def this_month(viewer: Any, now: datetime | None = None) -> MonthBill:
    """Of all the viewer's tenants together."""
    at = now or timezone.now()
    rows = [row for row in month_bills(viewer, 1, at) if row.month == f"{at:%Y-%m}"]
    return MonthBill(
        month=f"{at:%Y-%m}", tenant="", gpu_s=sum(row.gpu_s for row in rows),
        charge_cents=sum(row.charge_cents for row in rows), credit_cents=sum(row.credit_cents for row in rows),
        runs_on_cents=sum(row.runs_on_cents for row in rows), rebate_cents=known_sum(row.rebate_cents for row in rows),
    )  # fmt: skip


def _months_back(at: datetime, months: int) -> datetime:
    whole = at.year * 12 + at.month - 1 - months
    return at.replace(year=whole // 12, month=whole % 12 + 1, day=1, hour=0, minute=0, second=0, microsecond=0)
