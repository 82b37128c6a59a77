"""Pages of nodes, pods and workloads."""

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory import selectors
from console.inventory.filters import TableView, neighbours, read_table, table_filters
from console.inventory.selectors import Filters
from console.inventory.selectors.paging import BadCursorError, Page
from console.inventory.selectors.pods import SORTS as POD_SORTS
from console.inventory.tables import NODE_COLUMNS, NODE_HEAD, POD_COLUMNS, POD_HEAD, Heading, csv_lines, headings
from console.rest.csv import csv_response, refused
from console.ui.orders import no_order_words
from console.ui.shell import notes_on

OWN = "inventory.view_own"


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def node_table(request: HttpRequest) -> HttpResponse:
    """All nodes that the viewer may see, by filter and order; htmx asks for the table alone."""
    orders = selectors.node_orders(request.user)
    view = read_table(request.GET, Filters.of(request.GET), orders, "name")
    page = _page(lambda: selectors.node_rows(request.user, view.filters, **_cut(view)))
    return _table(request, "nodes", view, page, headings(NODE_COLUMNS, view.query, view.sort, orders))


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def pod_table(request: HttpRequest) -> HttpResponse:
    """All pods that the viewer may see."""
    view = read_table(request.GET, Filters.of(request.GET), POD_SORTS, "namespace")
    page = _page(lambda: selectors.pod_rows(request.user, view.filters, **_cut(view)))
    return _table(request, "pods", view, page, headings(POD_COLUMNS, view.query, view.sort, POD_SORTS))


@require_safe
@permission_required(OWN, raise_exception=True)
def node_csv(request: HttpRequest) -> HttpResponseBase:
    orders = selectors.node_orders(request.user)
    view = read_table(request.GET, Filters.of(request.GET), orders, "name")
    if view.no_order:
        return refused(no_order_words(view.no_order, orders))
    rows = selectors.node_csv(request.user, view.filters, sort=view.sort)
    return csv_response("nodes", NODE_HEAD, csv_lines(rows))


@require_safe
@permission_required(OWN, raise_exception=True)
def pod_csv(request: HttpRequest) -> HttpResponseBase:
    view = read_table(request.GET, Filters.of(request.GET), POD_SORTS, "namespace")
    if view.no_order:
        return refused(no_order_words(view.no_order, POD_SORTS))
    rows = selectors.pod_csv(request.user, view.filters, sort=view.sort)
    return csv_response("pods", POD_HEAD, csv_lines(rows))


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def node(request: HttpRequest, cluster: str = "", name: str = "") -> HttpResponse:
    """One node with its pods."""
    card = _found(request, selectors.node_card, cluster, name)
    part = "#body" if request.headers.get("HX-Request") else ""
    notes = notes_on(request, "node", card.row.cluster, card.row.name)
    return render(
        request, f"inventory/node.html{part}", {"section": "nodes", "card": card, "row": card.row, "notes": notes}
    )


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def pod(request: HttpRequest, cluster: str = "", name: str = "") -> HttpResponse:
    """One pod."""
    card = _found(request, selectors.pod_card, cluster, name)
    part = "#body" if request.headers.get("HX-Request") else ""
    return render(request, f"inventory/pod.html{part}", {"section": "pods", "card": card, "row": card.row})


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def workload(request: HttpRequest, cluster: str = "", name: str = "") -> HttpResponse:
    """All pods that one owner made, with where they run."""
    card = _found(request, selectors.workload_card, cluster, name)
    part = "#body" if request.headers.get("HX-Request") else ""
    return render(request, f"inventory/workload.html{part}", {"section": "pods", "card": card})


@require_safe
@permission_required(OWN, raise_exception=True)
def node_why(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """What the map's bytes cannot say of a node, as one line of text for its hover card."""
    card = _found(request, selectors.node_card, cluster, name)
    return HttpResponse(selectors.why_words(card), content_type="text/plain; charset=utf-8")


def _cut(view: TableView[Filters]) -> dict[str, Any]:
    return {"sort": view.sort, "cursor": view.cursor, "size": view.size}


def _page(read: Any) -> Page[Any]:
    try:
        return read()  # type: ignore[no-any-return]
    except (BadCursorError, selectors.NotThereError) as error:
        raise Http404(f"This page of the table is no longer there: {error}.") from error


def _table(
    request: HttpRequest, section: str, view: TableView[Filters], page: Page[Any], heads: tuple[Heading, ...]
) -> HttpResponse:
    reading = selectors.fleet_age()
    context = {
        "section": section,
        "view": view,
        "page": page,
        "headings": heads,
        "reading": reading,
        "nothing": _nothing(section, bool(reading.revision)),
        **neighbours(view.query, page),
    }
    if request.headers.get("HX-Request"):
        return render(request, f"inventory/{section}.html#table", context)
    bar = {"filters": table_filters(request.user, view.filters), "clear": request.path if view.filters.any else ""}
    return render(request, f"inventory/{section}.html", context | bar)


def _nothing(section: str, observed: bool) -> tuple[str, str]:
    """What stands where there are no rows."""
    if observed:
        return f"No {section.removesuffix('s')} fits.", "Nothing that you may see matches these filters."
    return "Nothing was observed yet.", f"{section.capitalize()} show here after the first reading of a source."


def _found(request: HttpRequest, read: Any, cluster: str, name: str) -> Any:
    """The card of the named thing.  A slash may belong to either name, so each reading of the path is tried."""
    source = request.GET.get("source", "")
    if not name:
        cluster, name = request.GET.get("cluster", ""), request.GET.get("name", "")
        pairs = [(cluster, name)]
    else:
        words = f"{cluster}/{name}".split("/")
        pairs = [("/".join(words[:cut]), "/".join(words[cut:])) for cut in range(1, min(len(words), 6))]
    for pair in pairs:
        try:
            return read(request.user, *pair, source=source)
        except selectors.NotThereError:
            continue
    raise Http404("There is no such thing here, or it is not yours to see.")
