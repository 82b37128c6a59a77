"""Pages of campaigns."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.campaigns import charts, pages, selectors, services
from console.campaigns.choices import Selects
from console.campaigns.forms import CampaignForm, CountForm
from console.consolidation.selectors import scopes
from console.rest.errors import Conflict, FieldError
from console.ui.figures import clock

sees = permission_required("plans.view_plan", raise_exception=True)
may_request = permission_required("plans.request_plan", raise_exception=True)
LISTED = 50
PREFILLED = ("names", "model", "pair")
COUNTED = 8  # groups that the count names


@require_safe
@sees
def campaign_list(request: HttpRequest) -> HttpResponse:
    page = Paginator(selectors.campaigns(request.user), LISTED).get_page(request.GET.get("page"))
    return render(request, "campaigns/list.html", {"section": "plans", "page": page, "now": timezone.now()})


@require_safe
@sees
def detail(request: HttpRequest, campaign_id: int) -> HttpResponse:
    now = timezone.now()
    found = selectors.page_of(request.user, campaign_id, now)
    row = found.row
    groups = [one.group for one in found.groups]
    page = Paginator(found.groups, LISTED).get_page(request.GET.get("page"))
    context = {
        "section": "plans",
        "row": row,
        "found": found,
        "page": page,
        "rows": [(one, pages.next_step(row, one.group)) for one in page.object_list],
        "mark": clock(row.looked_at or row.since),
        "tiles": pages.tiles_of(found, now),
        "bars": charts.progress_bars(groups),
        "line": charts.time_line(groups, row.begun_at, now, found.end_at[0] if found.end_at else None),
        "legend": [(fill, words) for _name, fill, words in charts.PHASES],
        "order": selectors.order_words(row),
        "limit": selectors.limit_words(row),
        "happened": pages.happened(request.user, row.pk, 50),
        "may_change": selectors.may_change(request.user, row),
        "may_take_out": request.user.has_perm("plans.approve_plan") and row.owner_id != request.user.pk,
        "now": now,
    }
    return render(request, "campaigns/detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@may_request
def new(request: HttpRequest) -> HttpResponse:
    """Which nodes, in which groups, and how much may be out of service; it begins on its own page."""
    said = request.POST if request.method == "POST" else request.GET
    known = scopes(request.user)
    scope = next((one for one in known if one.key == said.get("scope")), known[0] if known else None)
    selects = said.get("selects", Selects.LABEL.value)
    options = selectors.options_of(scope)
    if request.method == "POST":
        form = CampaignForm(request.POST, options=options, selects=selects)
        if form.is_valid():
            try:
                return redirect("campaigns:detail", services.make_campaign(request.user, form.asked()).pk)
            except FieldError as wrong:
                form.refuse(wrong.field, wrong.reason)
        return render(request, "campaigns/new.html", _new_page(form, known, scope), status=400)
    initial = {"scope": scope.key if scope else "", **{name: said[name] for name in PREFILLED if name in said}}
    initial.setdefault("pair", selectors.usual_pair(options))
    form = CampaignForm(initial=initial, options=options, selects=selects)
    return render(request, "campaigns/new.html", _new_page(form, known, scope))


def _new_page(form: CampaignForm, known: list[Any], scope: Any) -> dict[str, Any]:
    kept = f"&scope={scope.key}" if scope else ""
    kinds = [
        {"label": label, "href": f"?selects={value}{kept}", "on": value == form.kind}
        for value, label in Selects.choices
    ]
    return {"section": "plans", "form": form, "kinds": kinds, "scopes": known, "scope": scope}


@require_POST
@may_request
def count(request: HttpRequest) -> HttpResponse:
    """How many nodes and groups that would be, while the form is filled in."""
    known = scopes(request.user)
    scope = next((one for one in known if one.key == request.POST.get("scope")), None)
    form = CountForm(request.POST, options=selectors.options_of(scope), selects=request.POST.get("selects", ""))
    context: dict[str, Any] = {"wrong": ""}
    if form.is_valid():
        try:
            found = services.draft(request.user, form.asked())
            context |= {"draft": found, "groups": found.groups[:COUNTED], "more": len(found.groups) - COUNTED}
        except FieldError as wrong:
            context["wrong"] = wrong.reason
    else:
        context["wrong"] = next(iter(next(iter(form.errors.values()))))
    return render(request, "campaigns/count.html", context)


@require_POST
@may_request
def act(request: HttpRequest, campaign_id: int, action: str) -> HttpResponse:
    """Begin, pause, resume, end, or look anew; the service decides whether it may happen."""
    user, reason = request.user, request.POST.get("reason", "")
    acts: dict[str, Callable[[], Any]] = {
        "begin": lambda: services.begin_campaign(user, campaign_id),
        "pause": lambda: services.pause_campaign(user, campaign_id, reason),
        "resume": lambda: services.resume_campaign(user, campaign_id, reason),
        "end": lambda: services.end_campaign(user, campaign_id, reason),
        "look": lambda: services.look_anew(user, campaign_id),
    }
    return _acted(request, campaign_id, acts[action])


@require_POST
@may_request
def act_on_group(request: HttpRequest, campaign_id: int, number: int, action: str) -> HttpResponse:
    user, reason, position = request.user, request.POST.get("reason", ""), number - 1
    acts: dict[str, Callable[[], Any]] = {
        "done": lambda: services.mark_done(user, campaign_id, position, reason),
        "take-out": lambda: services.take_out(user, campaign_id, position, reason),
        "skip": lambda: services.skip_group(user, campaign_id, position, reason),
        "again": lambda: services.try_again(user, campaign_id, position),
    }
    return _acted(request, campaign_id, acts[action])


def _acted(request: HttpRequest, campaign_id: int, do: Callable[[], Any]) -> HttpResponse:
    try:
        do()
    except Conflict as refused:
        messages.error(request, refused.reason)
    return redirect("campaigns:detail", campaign_id)
