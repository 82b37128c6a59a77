"""The map's bytes by revision, for people who see the whole fleet."""

from collections.abc import Callable

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.inventory import selectors
from console.inventory.choices import Measure
from console.inventory.selectors.maps import Body
from console.inventory.sending import encoding_for, send

FLEET = "inventory.view_fleet"


@require_safe
@permission_required(FLEET, raise_exception=True)
def map_nodes(request: HttpRequest, revision: str) -> HttpResponse:
    """The node map as bytes: ?measure=free&from=<revision>."""
    measure = request.GET.get("measure", Measure.FREE.value)
    if measure not in Measure.values:
        return _refuse(f"There is no measure {measure[:40]}; there are {', '.join(Measure.values)}.", 400)
    since = _number(request.GET.get("from"))
    return _map(request, revision, lambda wanted, how: selectors.node_map(wanted, Measure(measure), since, how))


@require_safe
@permission_required(FLEET, raise_exception=True)
def map_gpus(request: HttpRequest, revision: str) -> HttpResponse:
    """One byte per GPU."""
    since = _number(request.GET.get("from"))
    return _map(request, revision, lambda wanted, how: selectors.gpu_map(wanted, since, how))


@require_safe
@permission_required(FLEET, raise_exception=True)
def map_layout(request: HttpRequest, digest: str) -> HttpResponse:
    body = selectors.layout_json(digest, encoding_for(request))
    if body is None:
        return _refuse("There is no such layout: ask for the latest map.", 404)
    return send(request, body, "application/json", fixed=True)


@require_safe
@permission_required(FLEET, raise_exception=True)
def map_names(request: HttpRequest, digest: str) -> HttpResponse:
    body = selectors.layout_names(digest, encoding_for(request))
    if body is None:
        return _refuse("There is no such layout: ask for the latest map.", 404)
    return send(request, body, "text/plain; charset=utf-8", fixed=True)


def _map(request: HttpRequest, revision: str, read: Callable[[int, str], Body]) -> HttpResponse:
    """``latest`` is an address that changes its answer; a number never does."""
    number = selectors.newest_map_revision() if revision == "latest" else _number(revision)
    if number is None:
        return _refuse("Nothing was observed yet." if revision == "latest" else "A revision is a number.", 404)
    try:
        body = read(number, encoding_for(request))
    except selectors.UnknownRevisionError as error:
        return _refuse(str(error), 404)
    return send(request, body, "application/octet-stream", fixed=revision != "latest")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 16 else None


def _refuse(reason: str, status: int) -> HttpResponse:
    response = HttpResponse(reason, status=status, content_type="text/plain; charset=utf-8")
    response["Cache-Control"] = "no-store"
    return response
