"""Pages of plans.  A page works without scripts; htmx fetches its parts anew when the plan has news."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import condition, require_http_methods, require_POST, require_safe

from console.inventory.selectors import filter_choices
from console.plans import charts, selectors, services, tables
from console.plans.filters import KeptFilter, LockFilter, MoveFilter, PlanFilter
from console.plans.forms import BesideForm, CutForm, FreezeForm, PartForm, ReasonForm
from console.plans.pages import beside_page, list_page, lock_page, part_page, plan_page, with_waves
from console.rest.csv import csv_response, refused
from console.rest.errors import FieldError
from console.ui.figures import plural
from console.ui.orders import no_order_words, order_of, order_words

sees_plans = permission_required("plans.view_plan", raise_exception=True)
Page = Callable[..., HttpResponse]
PARTS = ("progress", "head", "stale", "tiles", "side", "pace", "record", "moves", "oncall")


def posted_from(page: str, *names: str) -> Callable[[Page], Page]:
    """An address that only takes posts.  Opened by GET (a reload, a bookmark) it leads to the page with the form."""

    def decorate(view: Page) -> Page:
        @wraps(view)
        def answer(request: HttpRequest, **given: Any) -> HttpResponse:
            if request.method not in ("GET", "HEAD"):
                return require_POST(view)(request, **given)
            query = request.GET.urlencode()
            place = reverse(page, kwargs={name: given[name] for name in names})
            return redirect(f"{place}?{query}" if query else place)

        return answer

    return decorate


@require_safe
@sees_plans
def plan_list(request: HttpRequest) -> HttpResponse:
    found = PlanFilter(request.GET, queryset=selectors.plans(request.user))
    wanted = "waiting" if request.GET.get("part") == "waiting" else "table"
    part = f"#{wanted}" if request.headers.get("HX-Request") else ""
    context = list_page(request, found)
    return render(request, f"plans/list.html{part}", context, status=200 if found.is_valid() else 400)


@require_safe
@sees_plans
def plan_detail(request: HttpRequest, plan_id: int) -> HttpResponse:
    """The whole page, or with ``part`` one of its parts."""
    part = request.GET.get("part", "")
    context = plan_page(request, plan_id)
    if part not in PARTS:
        return render(request, "plans/detail.html", context)
    if part == "side" and request.GET.get("version") == context["box_version"]:
        return HttpResponse(status=204)  # nothing new to say: what is being typed stays
    response = render(request, f"plans/detail.html#{part}", context)
    if part == "progress" and not context["computing"]:
        response["HX-Refresh"] = "true"  # the answer is there: the whole page differs
    return response


def page_with(request: HttpRequest, plan_id: int, refused: services.Conflict) -> HttpResponse:
    """The page again, with the refusal and the list of what changed on top."""
    said = {"refused": refused, "refused_changes": with_waves(request, plan_id, refused.changes[:12])}
    return render(request, "plans/detail.html", {**plan_page(request, plan_id), **said}, status=409)


@posted_from("plans:detail", "plan_id")
@sees_plans
def act(request: HttpRequest, plan_id: int, action: str) -> HttpResponse:
    """One of the actions of a plan's box; the service decides whether it may happen."""
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return HttpResponse(form.errors.as_text(), status=400, content_type="text/plain; charset=utf-8")
    try:
        plan = _perform(request.user, plan_id, action, form.cleaned_data)
    except services.Conflict as refused:
        return page_with(request, plan_id, refused)
    except services.DigestMissingError as missing:
        return HttpResponse(missing.reason, status=428, content_type="text/plain; charset=utf-8")
    return redirect("plans:detail", plan.pk)


def _perform(user: Any, plan_id: int, action: str, said: dict[str, Any]) -> Any:
    """The plan to show next.  No message: the page says what was done, and goes on saying what is so by then."""
    reason, digest = said["reason"], said["digest"]
    match action:
        case "approve":
            return services.approve_plan(user, plan_id, digest, reason, start=said["start"])
        case "reject":
            return services.reject_plan(user, plan_id, digest, reason)
        case "cancel":
            return services.cancel_plan(user, plan_id, reason)
        case "stop":
            return services.stop_planning(user, plan_id)
        case "start":
            return services.start_plan(user, plan_id, digest or None)
        case "pause":
            return services.pause_plan(user, plan_id, reason)
        case "resume":
            return services.resume_plan(user, plan_id, reason)
        case "leave-out":
            return services.leave_out_changed(user, plan_id, reason, digest)
        case "abort":
            return services.abort_plan(user, plan_id, reason)
        case "break-glass":
            return services.break_glass(user, plan_id, reason)
        case "extend-hold":
            return services.extend_hold(user, plan_id, said["hours"], reason)
        case "release-hold":
            return services.release_hold(user, plan_id, reason)
        case "roll-back":
            return services.roll_back(user, plan_id, reason)
        case _:
            return services.drop_stale_moves(user, plan_id)


@sees_plans
@require_http_methods(["GET", "HEAD", "POST"])
def part(request: HttpRequest, plan_id: int) -> HttpResponse:
    """What remains of a proposal without some tenants and chains: GET looks at it, POST approves it."""
    plan, chains = selectors.plan_detail(request.user, plan_id), selectors.chain_choices(request.user, plan_id)
    asked = request.POST if request.method == "POST" else request.GET
    form = PartForm(asked, tenants=[row["tenant"] for row in plan.impact], count=len(chains))
    context = part_page(request, plan, chains, form)
    if not form.is_valid():
        return render(request, "plans/part.html", context, status=400)
    try:
        if request.method == "POST":
            return redirect("plans:detail", _approved_part(request, plan_id, form.left_out()).pk)
        if any(form.left_out().values()):
            context["part"] = services.part_of(request.user, plan_id, **form.left_out())
    except services.Conflict as refused:
        return render(request, "plans/part.html", {**context, "refused": refused}, status=409)
    except services.DigestMissingError as missing:
        return HttpResponse(missing.reason, status=428, content_type="text/plain; charset=utf-8")
    return render(request, "plans/part.html", context)


def _approved_part(request: HttpRequest, plan_id: int, left_out: dict[str, Any]) -> Any:
    said, digest = request.POST, request.POST.get("part_digest", "")
    return services.approve_part(
        request.user, plan_id, said.get("digest", ""), digest, said.get("reason", ""), start="start" in said, **left_out
    )


@posted_from("plans:detail", "plan_id")
@sees_plans
def cut(request: HttpRequest, plan_id: int) -> HttpResponse:
    form = CutForm(request.POST)
    if not form.is_valid():
        refused = services.Conflict("Say how many moves to keep: a whole number from 1.")
        return page_with(request, plan_id, refused)
    try:
        plan = services.cut_plan(request.user, plan_id, form.cleaned_data["moves"])
    except services.Conflict as refused:
        return page_with(request, plan_id, refused)
    return redirect("plans:detail", plan.pk)


@require_safe
@sees_plans
def kept_list(request: HttpRequest, plan_id: int) -> HttpResponse:
    """All nodes that stay, with every blocker."""
    plan = selectors.plan_detail(request.user, plan_id)
    found = KeptFilter(request.GET, queryset=selectors.kept_nodes(request.user, plan_id))
    order, no_order = order_of(request.GET.get("sort", ""), tables.KEPT_ORDER)
    page = tables.page_of(tables.ordered(found.qs, order, tables.KEPT_ORDER), request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "section": "plans",
        "plan": plan,
        "filter": found,
        "page": page,
        "query": query.urlencode(),
        "reasons": selectors.kept_by_reason(request.user, plan),
        "reason": request.GET.get("reason", ""),
        "order": order,
        "no_order": no_order,
        "order_words": "in the planner's order" if order == "position" else order_words(order),
    }
    return render(request, "plans/kept.html", context, status=200 if found.is_valid() else 400)


@require_safe
@sees_plans
def moves_csv(request: HttpRequest, plan_id: int) -> HttpResponseBase:
    """All moves that the filter lets through."""
    plan = selectors.plan_detail(request.user, plan_id)
    stale = frozenset(tables.changed_moves(plan))
    found = MoveFilter(request.GET, queryset=selectors.moves(request.user, plan_id), stale_moves=stale)
    if not found.is_valid():
        return refused(found.errors.as_text())
    order, no_order = order_of(request.GET.get("sort", ""), tables.MOVE_ORDER)
    if no_order:
        return refused(no_order_words(no_order, tables.MOVE_ORDER))
    rows = tables.ordered(found.qs, order, tables.MOVE_ORDER).iterator(chunk_size=2000)
    return csv_response(f"plan-{plan_id}-moves", tables.MOVE_HEAD, (tables.move_cells(step) for step in rows))


@require_safe
@sees_plans
def kept_csv(request: HttpRequest, plan_id: int) -> HttpResponseBase:
    found = KeptFilter(request.GET, queryset=selectors.kept_nodes(request.user, plan_id))
    if not found.is_valid():
        return refused(found.errors.as_text())
    rows = (line for node in found.qs.iterator(chunk_size=2000) for line in tables.kept_cells(node))
    return csv_response(f"plan-{plan_id}-nodes-that-stay", tables.KEPT_HEAD, rows)


@require_safe
@sees_plans
def beside(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Two plans side by side; without ``plan``, the newest other one of the cluster."""
    form = BesideForm(request.GET)
    context = beside_page(request, plan_id, form.cleaned_data["plan"] if form.is_valid() else None)
    return render(request, "plans/beside.html", context, status=200 if form.is_valid() else 400)


@require_safe
@sees_plans
def plan_json(request: HttpRequest, plan_id: int) -> HttpResponse:
    """The canonical document: its sha256 is the digest that is signed."""
    document, digest = selectors.plan_document(request.user, plan_id)
    if not document:
        return HttpResponse("This plan has no answer yet.", status=404, content_type="text/plain; charset=utf-8")
    response = HttpResponse(document, content_type="application/json")
    response["ETag"] = f'"{digest}"'
    response["Content-Disposition"] = f'attachment; filename="plan-{plan_id}.json"'
    return response


def _tag_of_map(request: HttpRequest, plan_id: int) -> str:
    return f'"plan-{plan_id}-map"'


@require_safe
@sees_plans
@condition(etag_func=_tag_of_map)
def plan_map(request: HttpRequest, plan_id: int) -> HttpResponse:
    drawn = selectors.plan_map(request.user, plan_id)
    body = charts.map_bytes(bytes(drawn.before), bytes(drawn.after), bytes(drawn.marks), bytes(drawn.gpus))
    return _unchanging(HttpResponse(body, content_type="application/octet-stream"))


@require_safe
@sees_plans
@condition(etag_func=_tag_of_map)
def map_layout(request: HttpRequest, plan_id: int) -> HttpResponse:
    drawn = selectors.plan_map(request.user, plan_id)
    return _unchanging(JsonResponse({"groups": drawn.layout, "names": drawn.names.split("\n")}))


def _unchanging(response: HttpResponse) -> HttpResponse:
    """A plan's map never changes; only those who may see the plan may keep it."""
    patch_cache_control(response, private=True, immutable=True, max_age=86400)
    return response


@require_safe
@sees_plans
def lock_list(request: HttpRequest) -> HttpResponse:
    """Who keeps others off which nodes, until when, and who waits."""
    found = LockFilter(request.GET, queryset=selectors.locks(request.user))
    part = "#table" if request.headers.get("HX-Request") else ""
    context = lock_page(request, found)
    return render(request, f"plans/locks.html{part}", context, status=200 if found.is_valid() else 400)


@posted_from("plans:locks")
@sees_plans
def release(request: HttpRequest, plan_id: int) -> HttpResponse:
    try:
        count = services.release_locks(request.user, plan_id, request.POST.get("reason", ""))
    except services.Conflict as refused:
        messages.error(request, refused.reason)
        return redirect("plans:locks")
    messages.success(request, f"Released {plural(count, 'lock')} of plan {plan_id}. Other plans may start there now.")
    return redirect("plans:locks")


@require_safe
@sees_plans
def review_list(request: HttpRequest) -> HttpResponse:
    """Every time that somebody broke the glass; closing a review is a plain form."""
    rows = selectors.reviews(request.user)
    context = {
        "section": "plans",
        "page": tables.page_of(rows, request.GET.get("page")),
        "may_review": request.user.has_perm("plans.break_glass"),
    }
    return render(request, "plans/reviews.html", context)


@posted_from("plans:reviews")
@sees_plans
def close_review(request: HttpRequest, review_id: int) -> HttpResponse:
    try:
        row = services.close_review(request.user, review_id, request.POST.get("finding", ""))
    except services.Conflict as refused:
        messages.error(request, refused.reason)
        return redirect("plans:reviews")
    messages.success(request, f"Closed: the review of plan {row.plan_id}.")
    return redirect("plans:reviews")


@sees_plans
@require_http_methods(["GET", "HEAD", "POST"])
def freeze_list(request: HttpRequest) -> HttpResponse:
    """What is frozen and was; setting a freeze is a plain form."""
    form = FreezeForm(request.POST or None)
    status = 200
    if request.method == "POST":
        if form.is_valid():
            try:
                freeze = services.set_freeze(request.user, **form.freeze())
                messages.success(request, f"Frozen: {freeze.where}. What ran there is paused.")
                return redirect("plans:freezes")
            except FieldError as wrong:
                form.refuse(wrong.field, wrong.reason)
        status = 400
    context = {
        "section": "plans",
        "form": form,
        "active": selectors.active_freezes(),
        "page": tables.page_of(selectors.freezes(request.user), request.GET.get("page")),
        "may_set": request.user.has_perm("plans.set_freeze"),
        "known": filter_choices(request.user),
    }
    return render(request, "plans/freezes.html", context, status=status)


@posted_from("plans:freezes")
@sees_plans
def lift(request: HttpRequest, freeze_id: int) -> HttpResponse:
    try:
        freeze = services.lift_freeze(request.user, freeze_id, request.POST.get("reason", ""))
    except services.Conflict as refused:
        messages.error(request, refused.reason)
        return redirect("plans:freezes")
    except FieldError as wrong:
        messages.error(request, f"Not lifted: {wrong.reason}.")
        return redirect("plans:freezes")
    messages.success(request, f"Lifted: {freeze.where}. Plans that it paused wait for somebody to resume them.")
    return redirect("plans:freezes")
