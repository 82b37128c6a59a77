"""LP use of a period, hour by hour at the price that was in force then.

A price holds from a full hour on, and use is kept by the hour, so each hour has one price.  A day that has been put
together has lost its hours: where the price changed within it, its use counts as spread over it evenly.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Case, IntegerField, QuerySet, Sum, Value, When

from console.tenancy.models import TenantHour, UsageFeed
from console.tenancy.periods import Period
from console.tenancy.prices import Step, quotes_between

DAY_HOURS = 24
LP = 4  # place of the LP amount in a feed's sums, after cluster, tenant and model

type Place = tuple[str, str, str]  # cluster, tenant, GPU model
type Part = tuple[Place, int, int | None]  # GPU-microseconds, and the cents of a GPU-hour that counted


@dataclass(slots=True)
class Charged:
    """Use of one place that had a quote: GPU-microseconds, times cents, and the prices between which it lay."""

    used_us: int = 0
    cent_us: int = 0
    low: int | None = None
    high: int | None = None

    def add(self, used_us: int, cents: int) -> None:
        self.used_us += used_us
        self.cent_us += used_us * cents
        self.low = cents if self.low is None else min(self.low, cents)
        self.high = cents if self.high is None else max(self.high, cents)


@dataclass(slots=True)
class QuotedUse:
    """``origin``: who keeps the quotes."""

    origin: str = ""
    of: dict[Place, Charged] = field(default_factory=dict)


def quoted_use(period: Period, tenants: Collection[str] | None = None) -> QuotedUse:
    """What of LP use had a quote; nothing where nobody keeps any.  Of these tenants alone, or of all."""
    origin, steps = quotes_between(period.start, period.end)
    found = QuotedUse(origin)
    if not steps:
        return found
    rows = TenantHour.objects.filter(
        began_at__gte=period.start, began_at__lt=period.end, lp_us__gt=0, gpu_model__in=sorted(steps)
    ).order_by()
    if tenants is not None:
        rows = rows.filter(tenant__in=sorted(tenants))
    for place, used_us, cents in [*_stored(rows, steps, period), *_running(period, tenants, steps)]:
        if cents is not None and used_us:
            found.of.setdefault(place, Charged()).add(used_us, cents)
    return found


def cents_at(steps: Sequence[Step], at: datetime) -> int | None:
    """What counts at an instant, None before the first step."""
    place = bisect_right(steps, at, key=lambda step: step[0])
    return steps[place - 1][1] if place else None


def _stored(rows: QuerySet[TenantHour], steps: Mapping[str, Sequence[Step]], period: Period) -> Iterator[Part]:
    """Summed by the database between two changes of any price; days in which one changed come one by one."""
    cuts = sorted({at for said in steps.values() for at, _ in said if at > period.start})
    mixed = sorted({cut.replace(hour=0) for cut in cuts if cut.hour})
    slots: Case | Value = Value(0)
    if cuts:
        branches = (When(began_at__lt=cut, then=Value(place)) for place, cut in enumerate(cuts))
        slots = Case(*branches, default=Value(len(cuts)), output_field=IntegerField())
    names = ("cluster", "tenant", "gpu_model")
    whole = rows.exclude(hours__gt=1, began_at__in=mixed).annotate(slot=slots).values_list(*names, "slot")
    for cluster, tenant, model, slot, used_us in whole.annotate(Sum("lp_us")):
        began = cuts[slot - 1] if slot else period.start
        yield (cluster, tenant, model), int(used_us), cents_at(steps[model], began)
    days = rows.filter(hours__gt=1, began_at__in=mixed).values_list(*names, "began_at")
    for cluster, tenant, model, day, used_us in days.annotate(Sum("lp_us")):
        for hour in range(DAY_HOURS):
            part = used_us * (hour + 1) // DAY_HOURS - used_us * hour // DAY_HOURS
            yield (cluster, tenant, model), int(part), cents_at(steps[model], day + timedelta(hours=hour))


def _running(period: Period, tenants: Collection[str] | None, steps: Mapping[str, Sequence[Step]]) -> Iterator[Part]:
    """The hours that run are kept with their sources."""
    for feed in UsageFeed.objects.filter(hour__gte=period.start, hour__lt=period.end):
        for row in feed.sums:
            if row[2] in steps and feed.hour is not None and (tenants is None or row[1] in tenants):
                yield (row[0], row[1], row[2]), int(row[LP]), cents_at(steps[row[2]], feed.hour)
