"""What tenants use: now, and summed over a period.  No viewer: callers cut out what somebody may see."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Sum

from console.tenancy.entries import Docs
from console.tenancy.models import TenantHour, UsageFeed, UsageSpan
from console.tenancy.periods import Period
from console.tenancy.standing import Use, UseOf
from console.tenancy.teams import Teams

MEASURES = ("hp", "lp", "borrowed", "lent", "pending")
GPU_HOUR_US = 3_600_000_000  # GPU-microseconds
MILLI_HOUR_US = GPU_HOUR_US // 1000

type Place = tuple[str, str, str]  # cluster, tenant, GPU model
type Sums = dict[Place, list[int]]  # GPU-microseconds of each of MEASURES


@dataclass(frozen=True, slots=True)
class Known:
    """How much of a period is known of one source, up to now."""

    source: str
    covered_s: float
    of_s: float

    @property
    def gap_s(self) -> float:
        return max(0.0, self.of_s - self.covered_s)


def use_of(feeds: Iterable[UsageFeed], docs: Docs) -> UseOf:
    """What every tenant itself holds and waits for, by (tenant, model), as the sources said last.

    What stands in a team's namespaces is that team's, by these entries of the book.
    """
    teams = Teams(docs)
    found: defaultdict[tuple[str, str], Use] = defaultdict(Use)
    for feed in feeds:
        for _cluster, tenant, model, hp, lp, pending in teams.rows(feed.spaces) or feed.rows:
            if tenant:
                found[tenant, model] += Use(hp, lp, pending)
    return dict(found)


def feeds() -> list[UsageFeed]:
    """By name."""
    return list(UsageFeed.objects.order_by("name", "source"))


def sums_of(period: Period, tenants: Collection[str] | None = None) -> Sums:
    """GPU time of a period, the hours that run included; of these tenants alone, or of all.  Two queries."""
    found: Sums = {}
    rows = TenantHour.objects.filter(began_at__gte=period.start, began_at__lt=period.end)
    if tenants is not None:
        rows = rows.filter(tenant__in=sorted(tenants))
    grouped = rows.values_list("cluster", "tenant", "gpu_model").annotate(*(Sum(f"{name}_us") for name in MEASURES))
    for cluster, tenant, model, *amounts in grouped.order_by():
        found[cluster, tenant, model] = [int(amount) for amount in amounts]
    for feed in UsageFeed.objects.filter(hour__gte=period.start, hour__lt=period.end):
        for cluster, tenant, model, *amounts in feed.sums:
            if tenants is None or tenant in tenants:
                before = found.get((cluster, tenant, model), [0] * len(MEASURES))
                found[cluster, tenant, model] = [a + b for a, b in zip(before, amounts, strict=True)]
    return found


def known_of(period: Period, now: datetime) -> list[Known]:
    """Of each source; what was not read is a gap, and is in no sum."""
    covered: defaultdict[int, int] = defaultdict(int)
    spans = UsageSpan.objects.filter(began_at__gte=period.start, began_at__lt=period.end).values_list("source")
    for source, milliseconds in spans.annotate(Sum("covered_ms")).order_by():
        covered[source] += milliseconds
    elapsed = max(0.0, (min(now, period.end) - period.start).total_seconds())
    found = []
    for feed in feeds():
        if feed.hour is not None and period.start <= feed.hour < period.end:
            covered[feed.source] += feed.covered_ms
        found.append(Known(feed.name, covered.pop(feed.source, 0) / 1000, elapsed))
    return found + [Known(f"source {gone}, removed", covered[gone] / 1000, elapsed) for gone in sorted(covered)]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Mean GPUs of one hour or day; ``covered`` is the share of it that is known, None where nothing is."""

    at: datetime
    hp: float | None
    lp: float | None
    borrowed: float | None
    lent: float | None
    pending: float | None
    covered: float


def history(period: Period, names: Collection[str], top: str, model: str = "", *, days: bool = False) -> list[Stretch]:
    """Hour by hour (or day by day) the mean GPUs of tenants together; borrowed and lent are those of ``top`` alone."""
    sums: defaultdict[datetime, list[int]] = defaultdict(lambda: [0] * len(MEASURES))
    rows = TenantHour.objects.filter(began_at__gte=period.start, began_at__lt=period.end, tenant__in=sorted(names))
    if model:
        rows = rows.filter(gpu_model=model)
    totals = (Sum(f"{name}_us") for name in MEASURES)
    for at, tenant, *amounts in rows.values_list("began_at", "tenant").annotate(*totals).order_by():
        _add(sums[_begin(at, days)], [int(amount) for amount in amounts], tenant == top)
    covered: defaultdict[datetime, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    spans = UsageSpan.objects.filter(began_at__gte=period.start, began_at__lt=period.end)
    for source, at, milliseconds in spans.values_list("source", "began_at", "covered_ms"):
        covered[_begin(at, days)][source] += milliseconds
    for feed in feeds():
        if feed.hour is not None and feed.covered_ms and period.start <= feed.hour < period.end:
            covered[_begin(feed.hour, days)][feed.source] += feed.covered_ms
            for _cluster, tenant, of_model, *amounts in feed.sums:
                if tenant in names and model in ("", of_model):
                    _add(sums[_begin(feed.hour, days)], amounts, tenant == top)
    return [_stretch(at, sums[at], list(covered[at].values()), days) for at in sorted(covered)]


def _begin(at: datetime, days: bool) -> datetime:
    return at.replace(hour=0) if days else at


def _add(sums: list[int], amounts: Iterable[int], is_top: bool) -> None:
    for at, (name, amount) in enumerate(zip(MEASURES, amounts, strict=True)):
        if is_top or name not in ("borrowed", "lent"):
            sums[at] += amount


def _stretch(at: datetime, sums: Iterable[int], covered_ms: Collection[int], days: bool) -> Stretch:
    """The mean over the time that is known; sources that were silent for all of it are in neither."""
    known, whole_ms = sum(covered_ms), (24 if days else 1) * 3_600_000
    if not known:
        return Stretch(at, None, None, None, None, None, 0.0)
    hp, lp, borrowed, lent, pending = (amount * len(covered_ms) / known / 1000 for amount in sums)
    return Stretch(at, hp, lp, borrowed, lent, pending, known / len(covered_ms) / whole_ms)
