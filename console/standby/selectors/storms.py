"""Storms ahead: many sleepers that come back at about the same time."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.standby.choices import VIEW_POOL
from console.standby.models import Storm

AHEAD = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class StormRow:
    """``document`` as ``planning.storms`` wrote it; seconds and GPUs in milli as named there."""

    id: int
    source: str
    at: datetime
    foreseen_at: datetime
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StormsPage:
    rows: list[StormRow]
    foreseen_at: datetime | None
    at: datetime


def storms_page(viewer: Any, now: datetime | None = None) -> StormsPage:
    """Of the next 24 hours; nothing for whoever may not see the pool, since they tell of everybody."""
    at = now or timezone.now()
    if not viewer.has_perm(VIEW_POOL):
        return StormsPage([], None, at)
    rows = [
        StormRow(one.pk, one.source.name, one.at, one.foreseen_at, one.document)
        for one in Storm.objects.filter(at__gt=at, at__lt=at + AHEAD).select_related("source")
    ]
    return StormsPage(rows, max((row.foreseen_at for row in rows), default=None), at)
