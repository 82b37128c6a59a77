"""*My capacity*: ask, estimate, leases, reclaims, and what others' rooms say of standby and prices."""

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.selectors import NotThereError
from console.prices.selectors import price_card
from console.prices.selectors.terms import VIEW
from console.rest.errors import Conflict, FieldError
from console.spot import selectors, services
from console.spot.forms import AskForm, form_values, use_query
from console.spot.views import forecasting
from console.spot.views.calibration import shown
from console.standby.selectors import windows_page

LISTED = 25
sees_own = permission_required(selectors.OWN, raise_exception=True)
asks = permission_required(selectors.ASK, raise_exception=True)
GONE = "There is no such estimate, or it is not yours to see."


@require_safe
@sees_own
@vary_on_headers("HX-Request")
def capacity(request: HttpRequest) -> HttpResponse:
    """The page, or with ``?part=`` one of its live parts."""
    part = request.GET.get("part", "")
    if part in PARTS:
        return render(request, f"spot/capacity.html#{part}", PARTS[part](request))
    places, tenants = selectors.places(), selectors.own_tenants(request.user)
    form = AskForm(initial=_initial(request), places=places, tenants=tenants)
    return render(request, "spot/capacity.html", _page(request, form, places, tenants))


@require_POST
@asks
def ask(request: HttpRequest) -> HttpResponse:
    """A lease, or a draft of one."""
    places, tenants = selectors.places(), selectors.own_tenants(request.user)
    form = AskForm(request.POST, places=places, tenants=tenants)
    draft = "draft" in request.POST
    if form.is_valid():
        try:
            row, _ = services.make_lease(request.user, **form.asked(), **form.made(), draft=draft)
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except Conflict as refused:
            form.add_error(None, refused.reason)
        else:
            words = "is saved as a draft" if draft else "is asked for"
            messages.success(request, f"Lease {row.number} {words}.")
            return redirect("spot:capacity")
    return render(request, "spot/capacity.html", _page(request, form, places, tenants), status=400)


@require_POST
@asks
def estimate(request: HttpRequest) -> HttpResponse:
    """Asks a worker for the form as it stands; the answer comes into the page by itself."""
    form = AskForm(request.POST, places=selectors.places(), tenants=selectors.own_tenants(request.user))
    if not form.is_valid():
        return render(request, "spot/estimate.html", {"errors": form.errors, "form": form})
    try:
        row = services.ask_estimate(request.user, **form.asked())
    except FieldError as wrong:
        form.refuse(wrong.field, wrong.reason)
        return render(request, "spot/estimate.html", {"errors": form.errors, "form": form})
    return _estimate(request, row)


@require_safe
@sees_own
def estimate_part(request: HttpRequest, estimate_id: int) -> HttpResponse:
    try:
        return _estimate(request, selectors.estimate_for(request.user, estimate_id))
    except NotThereError as error:
        raise Http404(GONE) from error


def _estimate(request: HttpRequest, row: Any) -> HttpResponse:
    told = selectors.told_of(row)
    place = f"{row.source_id}|{row.cluster}"
    others = [(one, use_query(row.asked, one["change"], place, row.tenant)) for one in told.alternatives]
    return render(request, "spot/estimate.html", {"row": row, "told": told, "others": others, "now": timezone.now()})


def _initial(request: HttpRequest) -> dict[str, Any]:
    """What the address says, or a draft that is to be changed; a key of its own, so that it is not sent twice."""
    said: dict[str, Any] = {"request_key": uuid.uuid4().hex, "model": selectors.model_of_interest(request.user)}
    like = request.GET.get("like", "")
    if like.isascii() and like.isdigit() and len(like) < 16:
        try:
            row = selectors.lease_for(request.user, int(like))
            said |= {"place": f"{row.source_id}|{row.cluster}", "tenant": row.tenant, "name": row.name}
            said |= form_values(services.ask_of(row))
        except NotThereError as error:
            raise Http404("There is no such lease, or it is not yours to see.") from error
    fields = AskForm.base_fields
    return said | {name: value for name, value in request.GET.items() if name in fields and name != "request_key"}


def _page(request: HttpRequest, form: AskForm, places: Any, tenants: Any) -> dict[str, Any]:
    return {
        **_live(request),
        "calibration": shown(request),
        "forecast": forecasting.shown(request),
        "section": "capacity",
        "form": form,
        "places": places,
        "tenants": tenants,
    }


def _price(request: HttpRequest, model: str) -> Any:
    """The price of one model; None where the fleet has none."""
    return price_card(request.user, model) if model and request.user.has_perm(VIEW) else None


def _live(request: HttpRequest) -> dict[str, Any]:
    """All that the parts show."""
    found = {name: value for part in PARTS.values() for name, value in part(request).items()}
    card = _price(request, selectors.model_of_interest(request.user, request.GET.get("price", "")))
    return {**found, "card": card}


def _notices(request: HttpRequest) -> dict[str, Any]:
    now = timezone.now()
    return {"notices": selectors.notices(request.user, now), "now": now}


def _tiles(request: HttpRequest) -> dict[str, Any]:
    now = timezone.now()
    return {"board": selectors.board(request.user, now), "windows": windows_page(request.user, now), "now": now}


def _leases(request: HttpRequest) -> dict[str, Any]:
    now = timezone.now()
    shown_state = request.GET.get("state", "open")
    rows = selectors.filtered(request.user, state=shown_state if shown_state in selectors.SHOWN else "")
    page = Paginator(rows, LISTED).get_page(request.GET.get("page"))
    return {
        "page": page,
        "rows": selectors.rows_of(request.user, list(page.object_list), now),
        "month": selectors.summary(request.user, now=now),
        "others": selectors.others_sum(request.user),
        "shown": shown_state,
        "states": selectors.SHOWN,
        "query": f"state={shown_state}",
        "now": now,
    }


PARTS = {"notices": _notices, "tiles": _tiles, "leases": _leases}
