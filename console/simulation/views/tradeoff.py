"""The five figures of each policy: fronts, all five side by side, and two policies set against each other."""

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from console.inventory.selectors import NotThereError
from console.simulation import charts, selectors, tables
from console.simulation.choices import FIGURES, UPWARD
from console.simulation.selectors import VIEW

AXES = ("utilisation", "large_start_s")


@require_safe
@permission_required(VIEW, raise_exception=True)
def trade_off(request: HttpRequest, study_id: int) -> HttpResponse:
    """``?x=&y=`` choose the axes, ``?first=&second=`` the two that are compared."""
    try:
        row = selectors.study_row(request.user, study_id)
        found = selectors.outcomes_of(request.user, study_id)
    except NotThereError as error:
        raise Http404("There is no such study.") from error
    if found is None:
        return redirect("simulation:study", study_id)
    x, y = (_one_of(request.GET.get(axis, ""), FIGURES, usual) for axis, usual in zip("xy", AXES, strict=True))
    front = selectors.front_of(found.policies, x, y)
    names = [one["name"] for one in found.policies]
    first = _one_of(request.GET.get("first", ""), names, names[0])
    others = [name for name in names if name != first]
    second = _one_of(request.GET.get("second", ""), others, others[0]) if others else ""
    looks = charts.looks(found.policies)
    pair = selectors.pair_of(found, first, second) if second else None
    context = {
        "section": "simulation",
        "row": row,
        "x": x,
        "y": y,
        "axes": (("x", x, "Across"), ("y", y, "Up")),
        "front": front,
        "looks": looks,
        "columns": [_column(figure) for figure in FIGURES],
        "rows": [_row(one, look, front.on) for one, look in zip(found.policies, looks, strict=True)],
        "choices": [(figure, label) for figure, (label, _) in FIGURES.items()],
        "figures": {
            "points": charts.points(found.policies, x, y, front.on, _apart(pair)),
            "parallel": charts.parallel(found.policies),
        },
        "names": names,
        "pair": pair,
        "changes": _changes(pair),
        "units": [(figure, label, charts.unit_of(figure)) for figure, (label, _) in FIGURES.items()],
        "apart": found.apart,
        "causes": tables.CAUSES,
    }
    return render(request, "simulation/trade_off.html", context)


def _apart(pair: selectors.PairRow | None) -> dict[str, Any]:
    """Of the two that are compared, the differences seed by seed, at the second."""
    return {} if pair is None or pair.found is None else {pair.second: pair.found["figures"]}


def _changes(pair: selectors.PairRow | None) -> list[tuple[str, list[dict[str, Any]]]]:
    if pair is None or pair.found is None:
        return []
    return [("Jobs that gain most", pair.found["gained"]), ("Jobs that lose most", pair.found["lost"])]


def _one_of(asked: str, allowed: Any, usual: str) -> str:
    return asked if asked in allowed else usual


def _column(figure: str) -> dict[str, Any]:
    label, words = FIGURES[figure]
    return {"figure": figure, "label": label, "words": words, "up": figure in UPWARD}


def _row(policy: dict[str, Any], look: dict[str, str], front: list[str]) -> dict[str, Any]:
    return {
        "look": look,
        "name": policy["name"],
        "efficient": policy["efficient"],
        "front": policy["name"] in front,
        "cells": [(policy["figures"][figure], charts.unit_of(figure)) for figure in FIGURES],
    }
