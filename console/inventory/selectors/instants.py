"""Readings by the clock: which instants are kept, and which reading stands for a moment.

A reading stands for the time from when it was begun to when the next one was; it is dated by the last moment at which
the source said the same, but never later than the moment that was asked for.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from console.inventory.models import Blob, Observation, Source

GAP_S = 600  # a source that was silent for longer than a slot and this is not known in between
GAP_PERIODS = 6


@dataclass(frozen=True, slots=True)
class Instant:
    """A kept reading of one source and the time for which it stands."""

    revision: int
    begun_at: datetime
    confirmed_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """One source at one moment; ``revision`` None: nothing is known of it then, and ``why``."""

    source: str
    period_s: int
    revision: int | None
    digest: str
    at: datetime | None
    why: str


def instants(viewer: Any, source: str) -> tuple[Instant, ...]:
    """The kept readings of a source, newest first; none for viewers who may not see the whole fleet."""
    if not viewer.has_perm("inventory.view_fleet"):
        return ()
    rows = _kept().filter(source__name=source).values_list("revision", "begun_at", "observed_at")
    return tuple(Instant(*row) for row in rows)


def oldest_instant() -> datetime | None:
    """When the first kept reading of any source was begun."""
    return _kept().order_by("begun_at").values_list("begun_at", flat=True).first()


def standing(moment: datetime | None) -> tuple[Standing, ...]:
    """What stands for each source at ``moment`` (None: now), sources by name.  Two queries."""
    rows = _kept().filter(source=OuterRef("pk"))
    if moment is not None:
        rows = rows.filter(begun_at__lte=moment)
    sources = list(Source.objects.annotate(found=Subquery(rows.values("revision")[:1])))
    found = Observation.objects.only("revision", "digest", "begun_at", "observed_at").in_bulk(
        [source.found for source in sources if source.found is not None]
    )
    return tuple(_standing(source, found.get(source.found), moment) for source in sources)


def _kept() -> QuerySet[Observation]:
    """Readings that are drawn and whose snapshot is there, newest first."""
    rows = Observation.objects.filter(Exists(Blob.objects.filter(pk=OuterRef("digest"))), columns__isnull=False)
    return rows.order_by("-revision")


def _standing(source: Source, row: Observation | None, moment: datetime | None) -> Standing:
    name, period_s = source.name, source.period_s
    if row is None:
        return Standing(name, period_s, None, "", None, "no reading of that time is kept")
    at = row.observed_at if moment is None else min(row.observed_at, moment)
    if moment is not None and moment - at > _reach(source):
        return Standing(name, period_s, None, "", None, f"silent since {at:%Y-%m-%d %H:%M} UTC")
    return Standing(name, period_s, row.revision, row.digest, at, "")


def _reach(source: Source) -> timedelta:
    """How long before a moment a reading may have been made to stand for it: a slot in which one stays, and a gap."""
    slot_s = max((slot_s for slot_s, _ in settings.KEPT_READINGS), default=0)
    return timedelta(seconds=slot_s + max(GAP_S, GAP_PERIODS * source.period_s))
