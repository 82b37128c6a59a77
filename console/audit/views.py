from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.audit import selectors
from console.audit.filters import EntryFilter
from console.audit.tables import HEAD, as_row
from console.rest.csv import csv_response

PAGE_SIZE = 50
FIRST = ("actor", "action")  # the filters that a narrow screen shows; the others are behind a button there


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
        "first": FIRST,
        "rows": rows,
        "older": older,
        "newest_shown": not before,
        "query": query.urlencode(),
    }
    part = "#table" if request.headers.get("HX-Request") else ""
    return render(request, f"audit/list.html{part}", page, status=200 if found.is_valid() else 400)


@require_safe
@permission_required("audit.view_entries", raise_exception=True)
def entry_csv(request: HttpRequest) -> HttpResponseBase:
    """All entries that the filter lets through."""
    found = EntryFilter(request.GET, queryset=selectors.entries(request.user))
    if not found.is_valid():
        return HttpResponse(found.errors.as_text(), status=400, content_type="text/plain; charset=utf-8")
    return csv_response("audit", HEAD, (as_row(entry) for entry in found.qs.iterator(chunk_size=2000)))
