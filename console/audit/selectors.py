"""Reading the book."""

from typing import Any

from django.db.models import QuerySet

from console.audit.models import Entry


def entries(viewer: Any) -> QuerySet[Entry]:
    """All entries, newest first; none for those who may not read them."""
    if not viewer.has_perm("audit.view_entries"):
        return Entry.objects.none()
    return Entry.objects.all()


def page_of(rows: QuerySet[Entry], before: int | None, size: int) -> tuple[list[Entry], int | None]:
    """Up to ``size`` entries older than entry ``before``, and the ``before`` of the next page or None at the end."""
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: size + 1])
    return found[:size], found[size - 1].pk if len(found) > size else None
