"""How the book can be searched, alike on the page, in the API and in the CSV."""

from datetime import UTC, datetime
from typing import Any, ClassVar

import django_filters as filters

from console.audit.models import Entry


class _Instant(filters.IsoDateTimeFilter):
    """On the clock of UTC: PostgreSQL refuses offsets of sixteen hours and more, which ISO allows."""

    def filter(self, qs: Any, value: Any) -> Any:
        return super().filter(qs, _in_utc(value) if value else value)


def _in_utc(at: datetime) -> datetime:
    """An instant that is beyond the calendar on that clock is its first or last one."""
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return (datetime.min if at.year == 1 else datetime.max).replace(tzinfo=UTC)


class EntryFilter(filters.FilterSet):
    actor = filters.CharFilter(label="Actor", max_length=150)
    action = filters.CharFilter(label="Action", lookup_expr="startswith", max_length=64)
    target_kind = filters.CharFilter(label="Kind", max_length=32)
    target_id = filters.CharFilter(label="Id", max_length=253)
    digest = filters.CharFilter(label="Digest", lookup_expr="startswith", max_length=64)
    reason = filters.CharFilter(label="Reason holds", lookup_expr="icontains", max_length=200)
    since = _Instant(label="Since", field_name="at", lookup_expr="gte")
    until = _Instant(label="Until", field_name="at", lookup_expr="lt")

    class Meta:
        model = Entry
        fields: ClassVar = ["actor", "action", "target_kind", "target_id", "digest", "reason", "since", "until"]
