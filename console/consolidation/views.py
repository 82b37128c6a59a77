"""Asking for a plan in the browser."""

import uuid
from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from console.consolidation import selectors, services
from console.consolidation.choices import GOALS, SHAPES
from console.consolidation.forms import RequestForm
from console.inventory.selectors import releases_ahead

PREFILLED = ("scope", "seed", "nodes", "name", "level", "slots")
may_request = permission_required("plans.request_plan", raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@may_request
def new(request: HttpRequest) -> HttpResponse:
    """The form; sent twice with one key it makes one plan."""
    scopes = selectors.scopes(request.user)
    if request.method == "POST":
        form = RequestForm(request.POST, scopes=scopes, goal=request.POST.get("goal", "nodes"))
        if form.is_valid():
            try:
                plan = services.request(request.user, **form.asked())
                return redirect("plans:detail", plan.pk)
            except services.RequestError as wrong:
                form.refuse(wrong.field, wrong.reason)
        return render(request, "consolidation/new.html", _page(request, form, scopes), status=400)
    goal = request.GET.get("goal", "nodes")
    asked = {name: request.GET[name] for name in PREFILLED if name in request.GET}
    scope, chosen = _place(request, scopes)
    asked = {"scope": scope, **asked}
    initial = {"request_key": uuid.uuid4().hex, "models": chosen, **asked}
    form = RequestForm(initial=initial, scopes=scopes, goal=goal if goal in GOALS else "nodes")
    return render(request, "consolidation/new.html", _page(request, form, scopes))


def _place(request: HttpRequest, scopes: list[selectors.Scope]) -> tuple[str, list[str]]:
    """Scope and models: links from other pages name source, cluster and pool, as people do."""
    source, cluster, models = (
        request.GET.get("source", ""),
        request.GET.get("cluster", ""),
        request.GET.getlist("models"),
    )
    pool = request.GET.get("pool", "").split("::")
    if len(pool) == 3:
        source, cluster, models = pool[0], pool[1], [pool[2]]
    elif pool != [""]:
        models = pool
    fitting = (one for one in scopes if one.cluster == cluster and source in ("", one.source))
    return next((one.key for one in fitting), ""), models


def _segment(key: str, scope: str | None, on: bool) -> dict[str, object]:
    kept = {"goal": key} | ({"scope": scope} if scope else {})
    return {"href": f"?{urlencode(kept)}", "label": GOALS[key].label, "on": on}


def _page(request: HttpRequest, form: RequestForm, scopes: list[selectors.Scope]) -> dict[str, object]:
    observed = any(not one.acts for one in scopes)
    goal = next(key for key, one in GOALS.items() if one is form.choice)
    return {
        "section": "plans",
        "form": form,
        "scopes": scopes,
        "observed": observed,
        "goal": goal,
        "choice": form.choice,
        "shapes": SHAPES,
        "releases": releases_ahead(request.user),
        "goals": [_segment(key, form["scope"].value(), key == goal) for key in GOALS],
    }


@require_POST
@may_request
def again(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Compute a new plan with the parameters of an old one."""
    plan = services.request_again(request.user, plan_id)
    return redirect("plans:detail", plan.pk)
