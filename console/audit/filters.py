"""How the book can be searched, alike on the page, in the API and in the CSV."""

from typing import ClassVar

import django_filters as filters

from console.audit.models import Entry


class EntryFilter(filters.FilterSet):
    actor = filters.CharFilter(label="Actor", max_length=150)
    action = filters.CharFilter(label="Action", lookup_expr="startswith", max_length=64)
    target_kind = filters.CharFilter(label="Kind", max_length=32)
    target_id = filters.CharFilter(label="Id", max_length=253)
    digest = filters.CharFilter(label="Digest", lookup_expr="startswith", max_length=64)
    reason = filters.CharFilter(label="Reason holds", lookup_expr="icontains", max_length=200)
    since = filters.IsoDateTimeFilter(label="Since", field_name="at", lookup_expr="gte")
    until = filters.IsoDateTimeFilter(label="Until", field_name="at", lookup_expr="lt")

    class Meta:
        model = Entry
        fields: ClassVar = ["actor", "action", "target_kind", "target_id", "digest", "reason", "since", "until"]
