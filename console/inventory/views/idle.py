"""What is allocated and does nothing, what is not well, and the endpoint that tells."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory import selectors, services
from console.inventory.filters import TableView, neighbours, read_table
from console.inventory.forms import TelemetryForm
from console.inventory.selectors.idling import GROUPS, WINDOWS
from console.inventory.selectors.paging import BadCursorError
from console.inventory.tables import IDLE_COLUMNS, IDLE_HEAD, csv_lines, headings
from console.rest.csv import csv_response, refused
from console.ui.filters import Filter, one_of
from console.ui.orders import no_order_words

OWN, LOAD = "inventory.view_own", "inventory.load_cluster"
WINDOW_WORDS = {"1h": "1 h", "24h": "24 h", "7d": "7 d"}
PARTS = ("tiles", "sick")
NO_FIT = ("Nothing fits.", "No GPU-hours of yours match these filters in this time.")
NOT_MEASURED = (
    "Nothing was measured in this time.",
    "GPU-hours come with the telemetry of a cluster: attach its Prometheus on the page of the source.",
)
secretive = sensitive_post_parameters("secret")


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def idle_table(request: HttpRequest) -> HttpResponse:
    """GPU-hours by owner over a window; htmx asks for the table alone."""
    view = _asked(request)
    filters, query = view.filters, view.query
    try:
        page = selectors.idle_rows(request.user, filters, sort=view.sort, cursor=view.cursor, size=view.size)
    except BadCursorError as error:
        raise Http404(f"This page of the table is no longer there: {error}.") from error
    context = {
        "section": "idle",
        "view": view,
        "page": page,
        "reading": selectors.fleet_age(),
        "headings": headings(IDLE_COLUMNS[filters.by], query, view.sort, selectors.idle_orders(filters.by)),
        "since_words": f"GPU-hours since {selectors.idle_since(filters):%-d %b %H:%M} UTC",
        "total": selectors.idle_total(request.user, filters),
        "nothing": NO_FIT if filters.text or filters.tenant else NOT_MEASURED,
        **neighbours(query, page),
    }
    asked = request.GET.get("part", "")
    if asked in PARTS:
        return render(request, f"inventory/idle.html#{asked}", context | _around(request, query))
    if request.headers.get("HX-Request"):
        return render(request, "inventory/idle.html#table", context)
    return render(request, "inventory/idle.html", context | _around(request, query) | _bar(request, filters))


def _bar(request: HttpRequest, filters: selectors.IdleFilters) -> dict[str, Any]:
    """The filters above the table; what else the address says is kept."""
    kept = {"window": filters.window, "by": filters.by}
    return {
        "filters": [
            Filter("text", "Name holds", filters.text, kind="search"),
            one_of("tenant", "Tenant", filters.tenant, selectors.idle_tenants(request.user)),
        ],
        "kept": (kept | ({"source": filters.source} if filters.source else {})).items(),
        "clear": f"?{urlencode(kept)}" if filters.text or filters.tenant or filters.source else "",
    }


def _around(request: HttpRequest, query: dict[str, str]) -> dict[str, Any]:
    """What stands beside the table."""
    sick, sick_total = selectors.sick_devices(request.user)
    telemetry = selectors.telemetry_states(request.user)
    unsorted = {name: value for name, value in query.items() if name != "sort"}
    return {
        "windows": _choices("window", tuple(WINDOWS), WINDOW_WORDS, query),
        "groups": _choices("by", tuple(GROUPS), {"workload": "Workload", "tenant": "Tenant"}, unsorted),
        "sick": sick,
        "sick_total": sick_total,
        "sick_known": sick_total if sick_total or telemetry else None,
        "watts": selectors.watts_now(request.user),
        "telemetry": telemetry,
    }


def _choices(name: str, words: tuple[str, ...], labels: dict[str, str], query: dict[str, str]) -> list[dict[str, Any]]:
    chosen = query.get(name)
    return [
        {"label": labels[word], "href": f"?{urlencode({**query, name: word})}", "on": word == chosen} for word in words
    ]


@require_safe
@permission_required(OWN, raise_exception=True)
def idle_csv(request: HttpRequest) -> HttpResponseBase:
    view = _asked(request)
    if view.no_order:
        return refused(no_order_words(view.no_order, selectors.idle_orders(view.filters.by)))
    return csv_response("idle", IDLE_HEAD, csv_lines(selectors.idle_csv(request.user, view.filters, sort=view.sort)))


@secretive
@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(LOAD, raise_exception=True)
def telemetry(request: HttpRequest, source_id: int) -> HttpResponse:
    """The endpoint of a cluster: its form, and what became of it."""
    found = _cluster(request, source_id)
    state = selectors.telemetry_state(found)
    form = TelemetryForm(request.POST) if request.method == "POST" else TelemetryForm(initial=_initial(state))
    if request.method == "POST" and form.is_valid():
        try:
            services.set_telemetry(request.user, found, services.TelemetryAsked(**form.asked()))
        except services.ClusterError as error:
            form.refuse(error.field, error.reason)
        else:
            messages.success(request, f"{found.name} is asked for telemetry from now on.")
            return redirect("inventory:source", source_id=found.pk)
    page = {"section": "sources", "form": form, "source": found, "state": state}
    return render(request, "inventory/telemetry.html", page, status=400 if form.errors else 200)


@secretive
@require_POST
@permission_required(LOAD, raise_exception=True)
def telemetry_test(request: HttpRequest, source_id: int) -> HttpResponse:
    """A dry test of what the form says, or of the endpoint that is kept where no form was sent; nothing is kept."""
    found = _cluster(request, source_id)
    form = TelemetryForm(request.POST) if "url" in request.POST else None
    probe = None
    if form is None or form.is_valid():
        asked = services.TelemetryAsked(**form.asked()) if form is not None else None
        try:
            probe = services.try_telemetry(request.user, found, asked)
        except services.ClusterError as error:
            form = form or TelemetryForm({})
            form.refuse(error.field, error.reason)
    page = {"section": "sources", "form": form, "source": found, "probe": probe}
    status = 200 if probe is not None else 400
    if request.headers.get("HX-Request"):
        return render(request, "inventory/telemetry_outcome.html", {**page, "alone": True}, status=status)
    page["state"] = state = selectors.telemetry_state(found)
    page["form"] = form or TelemetryForm(initial=_initial(state))
    return render(request, "inventory/telemetry.html", page, status=status)


@require_POST
@permission_required(LOAD, raise_exception=True)
def telemetry_remove(request: HttpRequest, source_id: int) -> HttpResponse:
    found = _cluster(request, source_id)
    services.drop_telemetry(request.user, found)
    messages.success(request, f"{found.name} has no telemetry any more; its secret is forgotten.")
    return redirect("inventory:source", source_id=found.pk)


def _initial(state: Any) -> dict[str, Any]:
    if state is None:
        return {}
    plain = {name: getattr(state, name) for name in ("url", "means", "user", "ca", "idle_below")}
    return {**plain, "node_labels": ", ".join(state.node_labels), "matchers": ", ".join(state.matchers)}


def _asked(request: HttpRequest) -> TableView[selectors.IdleFilters]:
    filters = selectors.IdleFilters.of(request.GET)
    return read_table(request.GET, filters, selectors.idle_orders(filters.by), "-idle")


def _cluster(request: HttpRequest, source_id: int) -> Any:
    try:
        return selectors.cluster_for(request.user, source_id)
    except selectors.NotThereError as error:
        raise Http404("There is no such cluster.") from error
