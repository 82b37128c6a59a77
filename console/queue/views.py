"""The queue: what waits and why, and where gangs run."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.filters import TableView, neighbours, read_table
from console.inventory.selectors.paging import BadCursorError, Page
from console.inventory.selectors.viewing import NotThereError
from console.inventory.tables import csv_lines, headings
from console.queue import selectors, services
from console.queue.addresses import job_address
from console.queue.selectors import QueueFilters
from console.queue.tables import QUEUE_COLUMNS, QUEUE_HEAD, RUNNING_COLUMNS, RUNNING_HEAD
from console.rest.csv import csv_response, refused
from console.ui.filters import Filter, one_of
from console.ui.orders import no_order_words

OWN = "inventory.view_own"
LABELS = {"pending": "Waiting", "running": "Running"}
NOTHING = {
    "early": ("Nothing was explained yet.", "Jobs show here after the first reading of a source."),
    "narrow": ("No job fits.", "Nothing that you may see matches these filters."),
    "pending": ("Nobody waits.", "Every job of which the readings know is bound."),
    "running": ("Nothing runs on GPUs.", "No gang and no GPU pod is bound by the readings that were explained."),
}


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def queue(request: HttpRequest) -> HttpResponse:
    """Jobs that wait, or that run; htmx asks for the table or the totals alone."""
    view = _asked(request)
    page = _page(request, view)
    orders, columns = _shown(view.filters)
    age = selectors.queue_age()
    context = {
        "section": "queue",
        "live": "queue",
        "view": view,
        "page": page,
        "reading": age,
        "headings": headings(columns, view.query, view.sort, orders),
        "nothing": NOTHING[_state(view.filters, explained=age.revision is not None)],
        **neighbours(view.query, page),
    }
    if request.GET.get("part") == "totals":
        return render(request, "queue/list.html#totals", context | _totals(request, view))
    if request.headers.get("HX-Request"):
        return render(request, "queue/list.html#table", context)
    return render(request, "queue/list.html", context | _totals(request, view) | _bar(request, view))


@require_safe
@permission_required(OWN, raise_exception=True)
def queue_csv(request: HttpRequest) -> HttpResponseBase:
    view = _asked(request)
    if view.no_order:
        return refused(no_order_words(view.no_order, _shown(view.filters)[0]))
    if view.filters.show == "running":
        rows = csv_lines(selectors.running_csv(request.user, view.filters, sort=view.sort))
        return csv_response("running-jobs", RUNNING_HEAD, rows)
    return csv_response("queue", QUEUE_HEAD, csv_lines(selectors.queue_csv(request.user, view.filters, sort=view.sort)))


def _asked(request: HttpRequest) -> TableView[QueueFilters]:
    filters = QueueFilters.of(request.GET)
    usual = selectors.RUNNING_USUAL if filters.show == "running" else selectors.USUAL
    return read_table(request.GET, filters, _shown(filters)[0], usual)


def _shown(filters: QueueFilters) -> tuple[Any, Any]:
    if filters.show == "running":
        return selectors.RUNNING_SORTS, RUNNING_COLUMNS
    return selectors.SORTS, QUEUE_COLUMNS


def _page(request: HttpRequest, view: TableView[QueueFilters]) -> Page[Any]:
    read: Any = selectors.running_rows if view.filters.show == "running" else selectors.queue_rows
    try:
        return read(request.user, view.filters, sort=view.sort, cursor=view.cursor, size=view.size)  # type: ignore[no-any-return]
    except BadCursorError as error:
        raise Http404(f"This page of the table is no longer there: {error}.") from error


def _state(filters: QueueFilters, *, explained: bool) -> str:
    if not explained:
        return "early"
    return "narrow" if filters.narrow else filters.show


def _totals(request: HttpRequest, view: TableView[QueueFilters]) -> dict[str, Any]:
    """Figures above the table; a click on a reason filters by it, a second one takes the filter away."""
    query = {name: value for name, value in view.query.items() if name not in ("reason", "show", "sort")}
    totals = selectors.queue_totals(request.user, view.filters)
    chosen = view.filters.reason
    return {
        "totals": totals,
        "others": selectors.others_totals(request.user),
        "reasons": [_reason(row, chosen, query) for row in totals.reasons],
        "most": max((row.jobs for row in totals.reasons), default=0),
    }


def _reason(row: Any, chosen: str, query: dict[str, str]) -> dict[str, Any]:
    asked = query if row.reason == chosen else {**query, "reason": row.reason}
    return {"row": row, "on": row.reason == chosen, "href": f"?{urlencode(asked)}"}


def _bar(request: HttpRequest, view: TableView[QueueFilters]) -> dict[str, Any]:
    chosen = view.filters
    names = selectors.running_names(request.user) if chosen.show == "running" else selectors.queue_names(request.user)
    sources = [one_of("source", "Source", chosen.source, names["source"])] if len(names["source"]) > 1 else []
    classes = [one_of("priority_class", "Class", chosen.priority_class, names["priority_class"])]
    classes = classes if names["priority_class"] or chosen.priority_class else []
    kept = {"show": chosen.show} | ({"reason": chosen.reason} if chosen.reason else {})
    unsorted = {name: value for name, value in view.query.items() if name not in ("sort", "reason")}
    return {
        "filters": [
            Filter("text", "Name holds", chosen.text, always=True, kind="search"),
            one_of("cluster", "Cluster", chosen.cluster, names["cluster"], always=True),
            one_of("model", "Model", chosen.model, names["model"]),
            one_of("tenant", "Tenant", chosen.tenant, names["tenant"]),
            one_of("tier", "Tier", chosen.tier, ("HP", "LP")),
            *classes,
            *sources,
        ],
        "kept": kept.items(),
        "clear": f"?{urlencode({'show': chosen.show})}" if chosen.narrow else "",
        "tabs": [
            {"label": label, "href": f"?{urlencode({**unsorted, 'show': word})}", "on": word == chosen.show}
            for word, label in LABELS.items()
        ],
    }


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def job(request: HttpRequest, cluster: str = "", namespace: str = "", name: str = "") -> HttpResponse:
    """One job: what it asks for, why it waits, and what was seen of it."""
    key = f"{namespace}/{name}" if namespace else request.GET.get("name", "")
    cluster = cluster or request.GET.get("cluster", "")
    try:
        card = selectors.job_card(request.user, cluster, key, source=request.GET.get("source", ""))
    except NotThereError as error:
        raise Http404("There is no such job here, or it is not yours to see.") from error
    context = {"section": "queue", "card": card, "now": timezone.now()}
    part = "#body" if request.headers.get("HX-Request") else ""
    return render(request, f"queue/job.html{part}", context)


@require_POST
@permission_required(OWN, raise_exception=True)
def start(request: HttpRequest, job_id: int) -> HttpResponse:
    """Ask a worker when the job may start."""
    return _asks(request, job_id, services.ask_start)


@require_POST
@permission_required(OWN, raise_exception=True)
def unblock(request: HttpRequest, job_id: int) -> HttpResponse:
    """Ask a worker what would make the job start."""
    return _asks(request, job_id, services.ask_unblock)


def _asks(request: HttpRequest, job_id: int, ask: Callable[[Any, Any], Any]) -> HttpResponse:
    try:
        found = selectors.job_of(request.user, job_id)
    except NotThereError as error:
        raise Http404("There is no such job here, or it is not yours to see.") from error
    ask(request.user, found)
    return redirect(job_address(found.cluster, found.key, found.source.name))
