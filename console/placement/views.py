"""Placement what-if: the question, and its answer beside a map."""

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.selectors import NotThereError
from console.placement import charts, selectors, services
from console.placement.forms import AskForm, initial_of
from console.rest.errors import FieldError

OWN, FLEET = "inventory.view_own", "inventory.view_fleet"
LISTED = 12
GONE = "There is no such question, or it is not yours to see."


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(OWN, raise_exception=True)
def ask(request: HttpRequest) -> HttpResponse:
    """The form, and what was asked lately; ``?like=`` puts an earlier question into it."""
    scopes = selectors.scopes(request.user)
    if request.method == "POST":
        form = AskForm(request.POST, scopes=scopes)
        if form.is_valid():
            try:
                return redirect("placement:answer", services.ask(request.user, **form.asked()).pk)
            except FieldError as wrong:
                form.refuse(wrong.field, wrong.reason)
        return render(request, "placement/ask.html", _page(request, form, scopes), status=400)
    form = AskForm(initial=_initial(request, scopes), scopes=scopes)
    return render(request, "placement/ask.html", _page(request, form, scopes))


def _initial(request: HttpRequest, scopes: list[selectors.Scope]) -> dict[str, Any]:
    like = request.GET.get("like", "")
    if not like.isascii() or not like.isdigit() or len(like) > 15:
        return {"scope": request.GET.get("scope", "")}
    try:
        row = selectors.answer_row(request.user, int(like))
    except NotThereError as error:
        raise Http404(GONE) from error
    scope = next((one.key for one in scopes if (one.source, one.cluster) == (row.source, row.cluster)), "")
    return initial_of(row.asked, scope)


def _page(request: HttpRequest, form: AskForm, scopes: list[selectors.Scope]) -> dict[str, Any]:
    return {
        "section": "placement",
        "form": form,
        "scopes": scopes,
        "rows": selectors.answer_rows(request.user, LISTED),
        "groups": (
            (
                "Shape",
                [form[name] for name in ("pods", "gpus", "cpu_cores", "memory_gib", "model", "mix_models", "tier")],
            ),
            ("Topology", [form[name] for name in ("required", "preferred", "slice_pods", "slice_level")]),
            ("Training step", [form[name] for name in ("billions", "tp", "pp", "ep")]),
        ),
    }


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def answer(request: HttpRequest, question_id: int) -> HttpResponse:
    try:
        row = selectors.answer_row(request.user, question_id)
    except NotThereError as error:
        raise Http404(GONE) from error
    found = row.answer or {}
    options = [option for option in (found.get("best"), *found.get("alternatives", ())) if option]
    context = {
        "section": "placement",
        "row": row,
        "found": found,
        "best": found.get("best"),
        "options": options,
        "terms": charts.terms(options),
        "steps": charts.steps(options),
        "sees_fleet": request.user.has_perm(FLEET),
        "ramp": charts.ramp(),
    }
    if not request.headers.get("HX-Request"):
        return render(request, "placement/answer.html", context)
    response = render(request, "placement/answer.html#body", context)
    if not row.is_open:
        response["HX-Refresh"] = "true"  # the head of the page has its part of the answer, too
    return response


@require_safe
@permission_required(FLEET, raise_exception=True)
def answer_map(request: HttpRequest, question_id: int) -> HttpResponse:
    body = charts.map_bytes(_drawing(request, question_id))
    return _unchanging(HttpResponse(body, content_type="application/octet-stream"))


@require_safe
@permission_required(FLEET, raise_exception=True)
def map_layout(request: HttpRequest, question_id: int) -> HttpResponse:
    drawing = _drawing(request, question_id)
    return _unchanging(JsonResponse({"groups": drawing["groups"], "names": drawing["names"]}))


def _drawing(request: HttpRequest, question_id: int) -> dict[str, Any]:
    try:
        return selectors.drawing(request.user, question_id)
    except NotThereError as error:
        raise Http404("This question has no map.") from error


def _unchanging(response: HttpResponse) -> HttpResponse:
    """An answer's map never changes; only those who may see the fleet may keep it."""
    patch_cache_control(response, private=True, immutable=True, max_age=86400)
    return response
