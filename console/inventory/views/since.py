"""What changed between two instants: the page, its rows as a file, and its map."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory import selectors, services, since_words
from console.inventory.ledgers import CHANGES
from console.inventory.sending import encoding_for, send
from console.inventory.spans import Span, default_span, kept_filters, moment, presets, read_span
from console.inventory.tables import CHANGE_HEAD, TENANT_CHANGE_HEAD, csv_lines
from console.rest.csv import csv_response
from console.rest.errors import FieldError
from console.ui.figures import signed
from console.ui.filters import Filter, one_of

OWN, FLEET = "inventory.view_own", "inventory.view_fleet"
MEASURES = (("schedulable", "Schedulable"), ("free", "Free"))
PENDING = 202
FIELD = "%Y-%m-%dT%H:%M:%S"  # as fields for instants want them
NOT_KEPT = (
    "A reading of every ten minutes is kept for a day, one of every hour for a week; see which in the list below, or "
    "choose a later beginning."
)


@never_cache
@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def since(request: HttpRequest) -> HttpResponse:
    """The page; an address without its instants is sent to one with them."""
    now = timezone.now()
    kept = kept_filters(request.GET)
    try:
        span = read_span(request.GET, now)
    except FieldError as error:
        frame = _frame(now, default_span(now, selectors.oldest_instant()), kept)
        page = {**frame, "refusal": error.reason, **_bar(request, frame["span"], kept)}
        return render(request, "inventory/since.html", page, status=400)
    if span is None:
        span = default_span(now, selectors.oldest_instant())
        return redirect(f"{reverse('inventory:since')}?{urlencode({**span.query, **kept})}")
    page = {**_frame(now, span, kept), **_board(request, now, span)}
    if request.headers.get("HX-Request"):
        return render(request, "inventory/since.html#board", page)
    return render(request, "inventory/since.html", page | _bar(request, span, kept))


@never_cache
@require_safe
@permission_required(OWN, raise_exception=True)
def since_csv(request: HttpRequest) -> HttpResponseBase:
    """Every node of every cause, or with ?ledger=tenants every tenant; 202 while that is worked out."""
    now = timezone.now()
    try:
        span = read_span(request.GET, now) or default_span(now, selectors.oldest_instant())
    except FieldError as error:
        return _words(error.reason, 400)
    filters = selectors.Filters.of(request.GET)
    found, pairs = _compared(request, span)
    if found.pending:
        answer = _words("The readings are being compared: ask again in a second.", PENDING)
        answer["Retry-After"] = "1"
        return answer
    if request.GET.get("ledger") == "tenants":
        return csv_response("tenants-since", TENANT_CHANGE_HEAD, csv_lines(found.tenants))
    rows = selectors.changed_nodes(request.user, filters, pairs)
    return csv_response("nodes-since", CHANGE_HEAD, _lines(rows))


@require_safe
@permission_required(FLEET, raise_exception=True)
def since_map(request: HttpRequest, pairs: str) -> HttpResponse:
    """What changed on each node as bytes: ?measure=schedulable or free."""
    change = request.GET.get("measure", CHANGES[0])
    if change not in CHANGES:
        return _words(f"There is no measure {change[:40]}; there are {', '.join(CHANGES)}.", 400)
    return _send(request, "application/octet-stream", lambda how: selectors.change_map(pairs, change, how))


@require_safe
@permission_required(FLEET, raise_exception=True)
def since_layout(request: HttpRequest, pairs: str) -> HttpResponse:
    return _send(request, "application/json", lambda how: selectors.change_layout(pairs, how))


@require_safe
@permission_required(FLEET, raise_exception=True)
def since_names(request: HttpRequest, pairs: str) -> HttpResponse:
    return _send(request, "text/plain; charset=utf-8", lambda how: selectors.change_names(pairs, how))


def _compared(request: HttpRequest, span: Span) -> tuple[Any, Any]:
    """What is known of the span, after asking a worker for what is not."""
    pairs = selectors.since_pairs(span.start, span.end)
    services.ask_for_comparisons(selectors.to_compare(pairs))
    return selectors.since(request.user, selectors.Filters.of(request.GET), span.start, span.end, pairs), pairs


def _frame(now: datetime, span: Span, kept: dict[str, str]) -> dict[str, Any]:
    return {
        "section": "since",
        "span": span,
        "presets": presets(now, span, kept),
        "query": urlencode({**span.query, **kept}),
        "chosen": kept,
        "not_kept": NOT_KEPT,
    }


def _bar(request: HttpRequest, span: Span, kept: dict[str, str]) -> dict[str, Any]:
    """Instants and filters; the source has no field of its own and is kept."""
    found = selectors.filter_choices(request.user)
    return {
        "filters": [
            Filter("from", "From, UTC", f"{span.start:{FIELD}}", kind="datetime-local", required=True),
            Filter("to", "To", f"{span.end:{FIELD}}" if span.end else "", kind="datetime-local"),
            one_of("cluster", "Cluster", kept.get("cluster", ""), found.clusters),
            one_of("model", "Model", kept.get("model", ""), found.models),
        ],
        "kept": [("source", kept["source"])] if "source" in kept else [],
        "clear": f"?{urlencode(span.query)}" if kept else "",
    }


def _board(request: HttpRequest, now: datetime, span: Span) -> dict[str, Any]:
    found, pairs = _compared(request, span)
    own = not request.user.has_perm(FLEET)
    line = _headline(found, own)
    pools = [row for row in found.pools if _moved(row)]
    measure = request.GET.get("measure", "")
    return {
        "found": found,
        "own": own,
        "from_words": moment(span.start, now),
        "to_words": "" if span.end is None else moment(span.end, now),
        # Of a span that has ended every figure bears the time of its reading, which may be earlier than its end.
        "frozen": "" if span.end is None else moment(found.observed_at or span.end, now),
        "headline": line,
        "change_words": since_words.signed_milli(line.gpus) if own else signed(line.gpus),
        "most": max((abs(place.gpus) for cause in found.causes for place in cause.places), default=0),
        "adds_up": "" if own else since_words.equation(found.then, found.now, found.causes),
        "demand_adds_up": since_words.demand_equation(found.then, found.now, found.tenants),
        "pools": pools,
        "unchanged": len(found.pools) - len(pools),
        "map": selectors.name_of_map(pairs, found),
        "measures": MEASURES,
        "measure": measure if measure in CHANGES else CHANGES[0],
    }


def _headline(found: Any, own: bool) -> since_words.Headline:
    if own:
        return since_words.own_headline(found.then, found.now, found.tenants)
    return since_words.headline(found.then, found.now, found.causes)


def _moved(row: Any) -> bool:
    return bool(row.schedulable_now != row.schedulable_then or row.free_now != row.free_then)


def _lines(rows: Any) -> Iterator[tuple[Any, ...]]:
    return (
        (cause["cause"], node.source, node.cluster, cause["model"], cause["asw"], node.name, node.gpus)
        for cause, node in rows
    )


def _send(request: HttpRequest, content_type: str, read: Any) -> HttpResponse:
    try:
        body = read(encoding_for(request))
    except selectors.UnknownRevisionError as error:
        return _words(str(error), 404)
    return send(request, body, content_type, fixed=True)


def _words(text: str, status: int) -> HttpResponse:
    response = HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
    response["Cache-Control"] = "no-store"
    return response
