"""*Spot*: the pool, everybody's leases, what comes, and what it costs, for those who see the fleet."""

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from console.spot import selectors
from console.spot.views import calibration, forecasting
from console.standby import selectors as standby

LISTED = 25


@require_safe
@permission_required(selectors.POOL, raise_exception=True)
@vary_on_headers("HX-Request")
def overview(request: HttpRequest) -> HttpResponse:
    """The page, or with ``?part=`` one of its live parts."""
    part = request.GET.get("part", "")
    template = f"spot/overview.html#{part}" if part in PARTS else "spot/overview.html"
    if part in PARTS:
        return render(request, template, PARTS[part](request))
    return render(request, template, {**_tiles(request), **_leases(request), **_beside(request), "section": "spot"})


def _beside(request: HttpRequest) -> dict[str, Any]:
    """What other rooms say, each with an age of its own."""
    viewer = request.user
    return {
        "pool": standby.pool_page(viewer),
        "storms": standby.storms_page(viewer),
        "recalls": standby.recalls_page(viewer),
        "forecast": forecasting.shown(request),
        "calibration": calibration.shown(request),
        "quotes": selectors.quotes_now(),
    }


def _tiles(request: HttpRequest) -> dict[str, Any]:
    now = timezone.now()
    return {"board": selectors.board(request.user, now), "notices": selectors.notices(request.user, now), "now": now}


def _leases(request: HttpRequest) -> dict[str, Any]:
    now = timezone.now()
    shown, tenant = request.GET.get("state", "open"), request.GET.get("tenant", "")[:253]
    rows = selectors.filtered(request.user, state=shown if shown in selectors.SHOWN else "", tenant=tenant)
    page = Paginator(rows, LISTED).get_page(request.GET.get("page"))
    return {
        "page": page,
        "rows": selectors.rows_of(request.user, list(page.object_list), now),
        "everybody": True,
        "tenants": selectors.tenants_of(request.user),
        "tenant": tenant,
        "shown": shown,
        "states": selectors.SHOWN,
        "query": f"state={shown}&tenant={tenant}",
        "now": now,
    }


PARTS = {"tiles": _tiles, "leases": _leases}
