"""The newest measurement of each source, as pages read it."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import OuterRef, Subquery

from console.inventory import archive
from console.inventory.models import Measurement, Source
from console.inventory.packed import unpack_json

KEPT = 200  # reports; a fleet's is some 200 kB
Report = tuple[dict[str, Any], list[dict[str, Any]]]  # headline, pools


@dataclass(frozen=True, slots=True)
class Measured:
    """Totals and pools of one source, as of its own reading."""

    source: str
    period_s: int
    headline: dict[str, Any]
    pools: list[dict[str, Any]]
    observed_at: datetime
    revision: int


_reports: "archive.Recent[Report]" = archive.Recent(lambda report: 1, most=KEPT)


def newest_measurements() -> list[Measured]:
    """By source name; sources that were never measured are not among them.  Two queries at most.

    Reports never change, and a page asks for them often; decoding them is most of its cost.  Read only.
    """
    newest = Measurement.objects.filter(observation__source=OuterRef("pk")).order_by("-observation_id")
    wanted = Source.objects.annotate(seen=Subquery(newest.values("pk")[:1])).filter(seen__isnull=False)
    rows = Measurement.objects.filter(pk__in=wanted.values("seen")).select_related("observation__source")
    found = []
    listed = list(rows.defer("headline", "report", "observation__columns", "observation__gpu_states"))
    missing = [row.pk for row in listed if _key(row) not in _reports]
    read = Measurement.objects.only("headline", "report", "measured_at").in_bulk(missing) if missing else {}
    for row in listed:
        headline, pools = _reports.get(_key(row), partial(_report, read.get(row.pk, row)))
        source = row.observation.source
        found.append(
            Measured(source.name, source.period_s, headline, pools, row.observation.observed_at, row.observation_id)
        )
    return sorted(found, key=lambda row: row.source)


def _key(row: Measurement) -> str:
    """A database may give the number of a row that is gone once more."""
    return f"{row.pk} {row.measured_at.isoformat()}"


def _report(row: Measurement) -> Report:
    return row.headline, unpack_json(row.report)["pools"]


def oldest(rows: list[Measured]) -> tuple[datetime | None, int | None]:
    """Instant and period to show for a sum: those of the reading that is oldest."""
    if not rows:
        return None, None
    row = min(rows, key=lambda row: row.observed_at)
    return row.observed_at, row.period_s
