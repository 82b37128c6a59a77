"""The newest measurement of each source, as pages read it."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import OuterRef, Subquery

from console.inventory.models import Measurement, Source
from console.inventory.packed import unpack_json

KEPT = 64  # reports; a fleet's is some 200 kB


@dataclass(frozen=True, slots=True)
class Measured:
    """Totals and pools of one source, as of its own reading."""

    source: str
    period_s: int
    headline: dict[str, Any]
    pools: list[dict[str, Any]]
    observed_at: datetime
    revision: int


def newest_measurements() -> list[Measured]:
    """By source name; sources that were never measured are not among them.  One query, and one per new report."""
    newest = Measurement.objects.filter(observation__source=OuterRef("pk")).order_by("-observation_id")
    wanted = Source.objects.annotate(seen=Subquery(newest.values("pk")[:1])).filter(seen__isnull=False)
    rows = Measurement.objects.filter(pk__in=wanted.values("seen")).select_related("observation__source")
    found = []
    for row in rows.defer("headline", "report", "observation__columns", "observation__gpu_states"):
        headline, pools = _report(row.pk, row.measured_at)
        source = row.observation.source
        found.append(
            Measured(source.name, source.period_s, headline, pools, row.observation.observed_at, row.observation_id)
        )
    return sorted(found, key=lambda row: row.source)


@lru_cache(maxsize=KEPT)
def _report(measurement_id: int, measured_at: datetime) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A report never changes; a page asks for it often and decoding it is most of its cost.  Read only."""
    row = Measurement.objects.only("headline", "report").get(pk=measurement_id, measured_at=measured_at)
    return row.headline, unpack_json(row.report)["pools"]


def oldest(rows: list[Measured]) -> tuple[datetime | None, int | None]:
    """Instant and period to show for a sum: those of the reading that is oldest."""
    if not rows:
        return None, None
    row = min(rows, key=lambda row: row.observed_at)
    return row.observed_at, row.period_s
