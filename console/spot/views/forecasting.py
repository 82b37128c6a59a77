"""Forecast against actual: a card of *Spot* and *My capacity*, and by itself for its live refresh."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.spot.charts.forecasting import figure_of
from console.spot.selectors.forecasting import MEANINGS, panel

LONGEST = 253


@require_safe
def forecast(request: HttpRequest) -> HttpResponse:
    return render(request, "spot/forecast.html", {"forecast": shown(request)})


def shown(request: HttpRequest) -> dict[str, Any]:
    """For ``spot/forecast.html``; ``?model=`` and ``?of=`` (a tenant) choose.  Raises ``Denied``."""
    tenant = request.GET.get("of", "")[:LONGEST]
    found = panel(request.user, request.GET.get("model", "")[:LONGEST], tenant or None)
    judged = [] if found.judged is None else [*found.judged.of(""), *found.judged.of(found.model)]
    return {"panel": found, "figure": figure_of(found), "scores": judged, "meanings": MEANINGS}
