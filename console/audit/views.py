from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.audit import selectors
from console.audit.filters import EntryFilter
from console.audit.tables import HEAD, as_row
from console.rest.csv import csv_response, refused
from console.ui.filters import Filter

PAGE_SIZE = 50
ALWAYS = ("actor", "action")  # the filters that a narrow screen shows; the others are behind a button there


@require_safe
@permission_required("audit.view_entries", raise_exception=True)
def entry_list(request: HttpRequest) -> HttpResponse:
    """The book; htmx asks for the table alone."""
    found = EntryFilter(request.GET, queryset=selectors.entries(request.user))
    before = request.GET.get("before", "")
    rows, older = selectors.page_of(found.qs, int(before) if before.isdecimal() else None, PAGE_SIZE)
    query = request.GET.copy()
    query.pop("before", None)
    page = {
        "section": "audit",
        "filter": found,
        "filters": [_field(field) for field in found.form],
        "rows": rows,
        "newest_shown": not before,
        "query": query.urlencode(),
        "clear": request.path if query else "",
        **_neighbours(query, before, older),
    }
    part = "#table" if request.headers.get("HX-Request") else ""
    return render(request, f"audit/list.html{part}", page, status=200 if found.is_valid() else 400)


def _field(field: Any) -> Filter:
    kind = "datetime-local" if field.name in ("since", "until") else "text"
    return Filter(field.name, field.label, field.value() or "", always=field.name in ALWAYS, kind=kind)


def _neighbours(query: QueryDict, before: str, older: int | None) -> dict[str, str]:
    """The foot of the table: where it leads from here."""
    here = f"?{query.urlencode()}"
    return {
        "words": "Decisions before these are older" if older else "The end of the book",
        "back": here if before else "",
        "next": f"{here}{'&' if query else ''}before={older}" if older else "",
    }


@require_safe
@permission_required("audit.view_entries", raise_exception=True)
def entry_csv(request: HttpRequest) -> HttpResponseBase:
    """All entries that the filter lets through."""
    found = EntryFilter(request.GET, queryset=selectors.entries(request.user))
    if not found.is_valid():
        return refused(found.errors.as_text())
    return csv_response("audit", HEAD, (as_row(entry) for entry in found.qs.iterator(chunk_size=2000)))
