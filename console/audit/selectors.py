"""Reading the book."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from console.audit.models import Entry


def entries(viewer: Any) -> QuerySet[Entry]:
    """All entries, newest first; none for those who may not read them."""
    if not viewer.has_perm("audit.view_entries"):
        return Entry.objects.none()
    return Entry.objects.all()


def last_of(target_kind: str, target_id: object, actions: Collection[str]) -> Entry | None:
    """The newest of these acts on one thing, for pages that show that thing itself: they say who did it and why."""
    rows = Entry.objects.filter(target_kind=target_kind, target_id=str(target_id), action__in=actions)
    return rows.first()


def page_of(rows: QuerySet[Entry], before: int | None, size: int) -> tuple[list[Entry], int | None]:
    """Up to ``size`` entries older than entry ``before``, and the ``before`` of the next page or None at the end."""
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: size + 1])
    return found[:size], found[size - 1].pk if len(found) > size else None
