"""Placement what-if: the question, and its answer beside a map."""

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.selectors import NotThereError
from console.placement import charts, selectors, services
from console.placement.forms import AskForm, TogetherForm, initial_of
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
    like = _like(request)
    form = AskForm(initial=_initial(request, scopes, None if like is None or like.together else like), scopes=scopes)
    jobs = TogetherForm(initial=_initial(request, scopes, like if like and like.together else None), scopes=scopes)
    return render(request, "placement/ask.html", _page(request, form, scopes, jobs))


@require_POST
@permission_required(OWN, raise_exception=True)
def together(request: HttpRequest) -> HttpResponse:
    """Several waiting jobs at once."""
    scopes = selectors.scopes(request.user)
    jobs = TogetherForm(request.POST, scopes=scopes)
    if jobs.is_valid():
        try:
            return redirect("placement:answer", services.ask_together(request.user, **jobs.asked()).pk)
        except FieldError as wrong:
            jobs.refuse(wrong.field, wrong.reason)
    return render(request, "placement/ask.html", _page(request, AskForm(scopes=scopes), scopes, jobs), status=400)


def _like(request: HttpRequest) -> selectors.AnswerRow | None:
    like = request.GET.get("like", "")
    if not like.isascii() or not like.isdigit() or len(like) > 15:
        return None
    try:
        return selectors.answer_row(request.user, int(like))
    except NotThereError as error:
        raise Http404(GONE) from error


def _initial(request: HttpRequest, scopes: list[selectors.Scope], like: selectors.AnswerRow | None) -> dict[str, Any]:
    if like is None:
        return {"scope": request.GET.get("scope", "")}
    scope = next((one.key for one in scopes if (one.source, one.cluster) == (like.source, like.cluster)), "")
    return {**like.asked, "scope": scope} if like.together else initial_of(like.asked, scope)


def _page(
    request: HttpRequest, form: AskForm, scopes: list[selectors.Scope], jobs: TogetherForm | None = None
) -> dict[str, Any]:
    return {
        "section": "placement",
        "form": form,
        "jobs": jobs or TogetherForm(scopes=scopes),
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
    shown = _joint(found) if row.together else _alone(found)
    context = {
        "section": "placement",
        "row": row,
        "found": found,
        "sees_fleet": request.user.has_perm(FLEET),
        "ramp": charts.ramp(),
        **shown,
    }
    if not request.headers.get("HX-Request"):
        return render(request, "placement/answer.html", context)
    response = render(request, "placement/answer.html#body", context)
    if not row.is_open:
        response["HX-Refresh"] = "true"  # the head of the page has its part of the answer, too
    return response


def _alone(found: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in (found.get("best"), *found.get("alternatives", ())) if option]
    return {
        "best": found.get("best"),
        "options": options,
        "terms": charts.terms(options),
        "steps": charts.steps(options),
    }


def _joint(found: dict[str, Any]) -> dict[str, Any]:
    return {"differences": charts.differences(found), "placed_nodes": charts.placed_nodes(found)}


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
