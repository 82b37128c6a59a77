"""Who had how much LP of which GPU model, hour by hour.  No viewer: for workers."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.tenancy.models import TenantHour, UsageSpan

HOUR = timedelta(hours=1)
US_PER_MILLI_S = 1000  # GPU-microseconds of a thousandth of a GPU in a second


@dataclass(frozen=True, slots=True)
class SpotUse:
    """Axis h: hours from the start.  ``covered_s`` [h]: seconds of which something is known; 0: nothing is."""

    covered_s: list[float]
    milli_s: dict[tuple[str, str], list[float]]  # (tenant, GPU model) -> [h] thousandths of GPU-seconds

    def mean_milli(self, tenant: str, model: str) -> int | None:
        """Over what is known; None where nothing is."""
        known = sum(self.covered_s)
        return round(sum(self.milli_s.get((tenant, model), ())) / known) if known else None

    def tenants_of(self, model: str) -> list[str]:
        return sorted({tenant for (tenant, of), used in self.milli_s.items() if of == model and any(used)})


def spot_use(start: datetime, end: datetime) -> SpotUse:
    """Full hours; what was summed to days is spread over them evenly.  Two queries."""
    hours = int((end - start) / HOUR)
    covered = [0.0] * hours
    near = {"began_at__gt": start - 24 * HOUR, "began_at__lt": end}  # rows of days may begin before
    spans = UsageSpan.objects.filter(**near)
    for began, length, milliseconds in spans.values_list("began_at", "hours", "covered_ms"):
        for hour in _hours(began, length, start, hours):
            covered[hour] = max(covered[hour], milliseconds / 1000 / length)
    used: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * hours)
    rows = TenantHour.objects.filter(lp_us__gt=0, **near)
    for began, length, tenant, model, lp in rows.values_list("began_at", "hours", "tenant", "gpu_model", "lp_us"):
        for hour in _hours(began, length, start, hours):
            used[tenant, model][hour] += lp / length / US_PER_MILLI_S
    return SpotUse(covered, dict(used))


def _hours(began: datetime, length: int, start: datetime, hours: int) -> range:
    first = int((began - start) // HOUR)
    return range(max(0, first), min(hours, first + length))
