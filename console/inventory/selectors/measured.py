"""The newest measurement of each source, as pages read it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery

from console.inventory.models import Measurement, Source


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
    """By source name; sources that were never measured are not among them.  Two queries."""
    newest = Measurement.objects.filter(observation__source=OuterRef("pk")).order_by("-observation_id")
    wanted = Source.objects.annotate(seen=Subquery(newest.values("pk")[:1])).filter(seen__isnull=False)
    rows = Measurement.objects.filter(pk__in=wanted.values("seen")).select_related("observation__source")
    found = [
        Measured(
            source=row.observation.source.name,
            period_s=row.observation.source.period_s,
            headline=row.headline,
            pools=row.report["pools"],
            observed_at=row.observation.observed_at,
            revision=row.observation_id,
        )
        for row in rows.defer("observation__columns", "observation__gpu_states")
    ]
    return sorted(found, key=lambda row: row.source)


def oldest(rows: list[Measured]) -> tuple[datetime | None, int | None]:
    """Instant and period to show for a sum: those of the reading that is oldest."""
    if not rows:
        return None, None
    row = min(rows, key=lambda row: row.observed_at)
    return row.observed_at, row.period_s
