"""One lease, what can be done with it, and the reclaim log."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.selectors import NotThereError
from console.rest.csv import csv_response
from console.rest.errors import Conflict
from console.spot import selectors, services
from console.spot.choices import Cause
from console.spot.filters import reclaim_filters

GONE = "There is no such lease, or it is not yours to see."
LISTED = 50


def _sees(request: HttpRequest) -> None:
    selectors.require_seeing(request.user)


@require_safe
@vary_on_headers("HX-Request")
def lease(request: HttpRequest, lease_id: int) -> HttpResponse:
    _sees(request)
    now = timezone.now()
    try:
        found = selectors.detail(request.user, lease_id, now)
    except NotThereError as error:
        raise Http404(GONE) from error
    told = None if found.estimate is None else selectors.told_of(found.estimate)
    context = {"section": _section(request), "found": found, "row": found.row, "told": told, "now": now}
    template = "spot/lease.html#body" if request.GET.get("part") == "body" else "spot/lease.html"
    return render(request, template, context)


@require_POST
@permission_required(selectors.ASK, raise_exception=True)
def act(request: HttpRequest, lease_id: int, action: str) -> HttpResponse:
    """Ask for a draft, withdraw, give back; the service decides whether it may happen."""
    version = request.POST.get("version", "")
    turn = int(version) if version.isascii() and version.isdigit() and len(version) < 16 else None
    try:
        row = _DO[action](request.user, lease_id, turn)
        messages.success(request, f"Lease {row.number}: {row.get_state_display().lower()}.")
    except NotThereError as error:
        raise Http404(GONE) from error
    except Conflict as refused:
        messages.error(request, refused.reason)
    return redirect("spot:lease", lease_id) if request.POST.get("stay") else redirect("spot:capacity")


_DO: dict[str, Any] = {"ask": services.ask_for, "withdraw": services.withdraw, "give-back": services.give_back}


@require_safe
def reclaim_log(request: HttpRequest) -> HttpResponse:
    _sees(request)
    said = selectors.ReclaimFilters.of(request.GET)
    page = Paginator(selectors.reclaims(request.user, said), LISTED).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    filters = reclaim_filters(said, selectors.tenants_of(request.user))
    context = {
        "section": _section(request), "page": page, "filters": filters, "kept": [], "query": query.urlencode(),
        "clear": request.path, "summary": selectors.summary(request.user), "causes": Cause.choices,
        "now": timezone.now(), "rows": [(one, selectors.cause_words(one)) for one in page.object_list],
    }  # fmt: skip
    return render(request, "spot/reclaims.html", context)


@require_safe
def reclaims_csv(request: HttpRequest) -> HttpResponseBase:
    """The log as it is filtered, newest first."""
    _sees(request)
    rows = selectors.reclaims(request.user, selectors.ReclaimFilters.of(request.GET))
    return csv_response("reclaims", selectors.HEAD, selectors.lines(rows))


@require_safe
def bills(request: HttpRequest) -> HttpResponse:
    """Spot spend by month and tenant."""
    _sees(request)
    rows = selectors.month_bills(request.user)
    return render(request, "spot/bills.html", {"section": _section(request), "rows": rows, "now": timezone.now()})


def _section(request: HttpRequest) -> str:
    return "spot" if request.user.has_perm(selectors.POOL) else "capacity"
