"""Whether estimates hold: a card of *My capacity* and *Spot*, and by itself for its live refresh."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.spot.charts.calibration import figure_of
from console.spot.services.judging import USUAL_S, calibration_card


@require_safe
def calibration(request: HttpRequest) -> HttpResponse:
    return render(request, "spot/calibration.html", {"calibration": shown(request)})


def shown(request: HttpRequest) -> dict[str, Any]:
    """For ``spot/calibration.html``; ``?within=`` chooses the horizon in seconds.  Raises ``Denied``."""
    said = request.GET.get("within", "")
    horizon = int(said) if said.isascii() and said.isdigit() and len(said) < 6 else USUAL_S
    found = calibration_card(request.user, horizon)
    return {"card": found, "figure": figure_of(found.found.bins)}
