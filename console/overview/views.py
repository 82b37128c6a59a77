"""The first page, whole or only its board for a live refresh."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.filters import hardware_filters
from console.inventory.selectors import filter_choices
from console.overview import selectors
from console.overview.charts import GPU_LEGEND, HEALTH_LEGEND, HEAT_TOP, LEGENDS, ramp
from console.overview.filters import FleetView

MODULES = tuple(
    f"console/js/{name}.js"
    for name in ("map", "charts", "cursor", "gpus", "heat", "lanes", "live", "newest", "wire", "ages")
)


@never_cache
@vary_on_headers("HX-Request")
@require_safe
def fleet(request: HttpRequest) -> HttpResponse:
    view = FleetView.of(request.GET)
    page: dict[str, Any] = {
        "section": "fleet",
        "view": view,
        "board": selectors.board(request.user, view),
        "legends": LEGENDS,
        "health_legend": HEALTH_LEGEND,
        "gpu_legend": GPU_LEGEND,
        "heat_top": HEAT_TOP,
        "ramp": ramp(),
        "addresses": _addresses(),
    }
    if request.headers.get("HX-Request"):
        return render(request, "overview/fleet.html#board", page)
    return render(request, "overview/fleet.html", page | _bar(request, view) | {"modules": MODULES})


def _bar(request: HttpRequest, view: FleetView) -> dict[str, Any]:
    return {
        "filters": hardware_filters(filter_choices(request.user), view, model_always=True),
        "kept": view.kept,
        "clear": request.path if view.filtered else "",
    }


def _addresses() -> dict[str, str]:
    """Addresses for the map's script, with words that it replaces."""
    return {
        "map": reverse("inventory:map-nodes", args=[0]),
        "gpus": reverse("inventory:map-gpus", args=[0]),
        "layout": reverse("inventory:map-layout", args=["DIGEST"]),
        "names": reverse("inventory:map-names", args=["DIGEST"]),
        "node": reverse("inventory:node-named"),
        "why": reverse("inventory:node-why", args=["CLUSTER", "NODE"]),
        "nodes": reverse("inventory:nodes"),
        "load": reverse("inventory:load"),
        "plan": reverse("consolidation:new"),
    }
