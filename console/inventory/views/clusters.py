"""One source by itself, and adding, testing, changing a Kubernetes cluster."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.inventory import selectors, services
from console.inventory.forms import ClusterForm
from console.inventory.tables import UNHELD_HEAD, csv_lines
from console.rest.csv import csv_response

FLEET, LOAD = "inventory.view_fleet", "inventory.load_cluster"
PARTS = ("state", "kinds", "facts", "unheld")
SHOWN = 200  # objects on the page; the CSV has all that are kept
# The one parameter that holds secrets; whoever logs or shows requests leaves it out.
secretive = sensitive_post_parameters("pasted")


@require_safe
@permission_required(FLEET, raise_exception=True)
def source(request: HttpRequest, source_id: int) -> HttpResponse:
    """How one source fares; of a cluster also how it is reached, followed, and what its readings could not hold."""
    card = _card(request, source_id)
    asked = request.GET.get("part", "")
    part = f"#{asked}" if asked in PARTS else ""
    what, kind = request.GET.get("what", ""), request.GET.get("kind", "")
    rows = selectors.unheld_rows(request.user, source_id, what=what, kind=kind) if what or kind else ()
    page = {
        "section": "sources",
        "card": card,
        "row": card.row,
        "what": what,
        "kind": kind,
        "rows": rows[:SHOWN],
        "matching": len(rows),
        "query": urlencode({"what": what, "kind": kind}),
    }
    return render(request, f"inventory/source.html{part}", page)


@require_safe
@permission_required(FLEET, raise_exception=True)
def unheld_csv(request: HttpRequest, source_id: int) -> HttpResponseBase:
    card = _card(request, source_id)
    what, kind = request.GET.get("what", ""), request.GET.get("kind", "")
    rows = selectors.unheld_rows(request.user, source_id, what=what, kind=kind)
    return csv_response(f"not-held-{card.row.id}", UNHELD_HEAD, csv_lines(rows))


@require_safe
@permission_required(LOAD, raise_exception=True)
def cluster_role(request: HttpRequest) -> HttpResponse:
    """The rights that a cluster must give, as a file for kubectl."""
    headers = {"Content-Disposition": 'inline; filename="slackline-observer.yaml"'}
    return HttpResponse(services.cluster_role(), content_type="text/plain; charset=utf-8", headers=headers)


@secretive
@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(LOAD, raise_exception=True)
def add(request: HttpRequest) -> HttpResponse:
    """The form and what became of it.  htmx asks for the outcome alone, so that nobody has to type anything again."""
    if request.method != "POST":
        return _page(request, ClusterForm(), None)
    form = ClusterForm(request.POST, request.FILES)
    refusal = None
    if form.is_valid():
        try:
            made = services.add_cluster(request.user, services.Asked(**form.asked()))
        except services.ClusterError as error:
            refusal = error
        else:
            messages.success(request, f"{made.name} is added. The first reading comes when its lists are complete.")
            return _go(request, made.pk)
    return _outcome(request, form, None, refusal=refusal, status=400)


@secretive
@require_POST
@permission_required(LOAD, raise_exception=True)
def test_new(request: HttpRequest) -> HttpResponse:
    """A dry test of what the form says; nothing is kept."""
    form = ClusterForm(request.POST, request.FILES)
    return _test(request, form, None)


@secretive
@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(LOAD, raise_exception=True)
def change(request: HttpRequest, source_id: int) -> HttpResponse:
    """Other settings, or other credentials; without new ones the old ones stay."""
    found = _cluster(request, source_id)
    if request.method != "POST":
        return _page(request, ClusterForm(initial=_initial(found), known=True), found)
    form = ClusterForm(request.POST, request.FILES, known=True)
    refusal = None
    if form.is_valid():
        try:
            services.change_cluster(request.user, found, services.Asked(**form.asked(found.name)))
        except services.ClusterError as error:
            refusal = error
        else:
            messages.success(request, f"{found.name} is followed anew with these settings.")
            return _go(request, found.pk)
    return _outcome(request, form, found, refusal=refusal, status=400)


@secretive
@require_POST
@permission_required(LOAD, raise_exception=True)
def test_known(request: HttpRequest, source_id: int) -> HttpResponse:
    """A dry test with new credentials where the form has some, else with those that are kept."""
    found = _cluster(request, source_id)
    if "way" in request.POST:
        return _test(request, ClusterForm(request.POST, request.FILES, known=True), found)
    try:
        probe, refusal = services.try_source(request.user, found), None
    except services.ClusterError as error:
        probe, refusal = None, error
    return render(request, "inventory/outcome.html", {"probe": probe, "refusal": refusal, "source": found})


def _test(request: HttpRequest, form: ClusterForm, found: Any) -> HttpResponse:
    if not found and "name" not in request.POST:
        raise Http404
    probe = refusal = None
    if form.is_valid():
        asked = services.Asked(**form.asked(found.name if found else ""))
        try:
            probe = services.try_cluster(request.user, asked, found)
        except services.ClusterError as error:
            refusal = error
    # Which context is meant is a question, and no mistake of anybody.
    answered = probe is not None or (refusal is not None and bool(refusal.choices))
    return _outcome(request, form, found, probe=probe, refusal=refusal, status=200 if answered else 400)


def _outcome(request: HttpRequest, form: ClusterForm, found: Any, *, status: int, **words: Any) -> HttpResponse:
    """The answer to a form; for browsers without scripts the whole page, with its secrets left empty."""
    if request.headers.get("HX-Request"):
        page = {"form": form, "source": found, **words}
        return render(request, "inventory/outcome.html", page, status=status)
    return _page(request, form, found, status=status, **words)


def _page(request: HttpRequest, form: ClusterForm, found: Any, *, status: int = 200, **words: Any) -> HttpResponse:
    page = {"section": "sources", "form": form, "source": found, **words}
    return render(request, "inventory/cluster.html", page, status=status)


def _go(request: HttpRequest, source_id: int) -> HttpResponse:
    where = reverse("inventory:source", args=[source_id])
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": where})
    return redirect(where)


def _initial(found: Any) -> dict[str, Any]:
    reach = selectors.reach_of(found)
    return {
        "way": reach.way,
        "context": "",
        "period_s": found.period_s,
        "levels": reach.levels,
        "custom_levels": "\n".join(reach.custom_levels),
        "tenant_labels": ", ".join(reach.tenant_labels),
        "namespace_tenants": reach.namespace_tenants,
        "low_classes": ", ".join(reach.low_classes),
        "low_below": reach.low_below,
        "low_labels": ", ".join(reach.low_labels),
    }


def _card(request: HttpRequest, source_id: int) -> selectors.SourceCard:
    try:
        return selectors.source_card(request.user, source_id)
    except selectors.NotThereError as error:
        raise Http404("There is no such source.") from error


def _cluster(request: HttpRequest, source_id: int) -> Any:
    try:
        return selectors.cluster_for(request.user, source_id)
    except selectors.NotThereError as error:
        raise Http404("There is no such cluster.") from error
