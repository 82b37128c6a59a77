"""Pages of routines."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.rest.errors import Conflict, FieldError
from console.routines import selectors, services
from console.routines.choices import Kind
from console.routines.forms import RoutineForm, days_in

sees = permission_required("plans.view_plan", raise_exception=True)
may_request = permission_required("plans.request_plan", raise_exception=True)
LISTED = 50


@require_safe
@sees
def routine_list(request: HttpRequest) -> HttpResponse:
    page = Paginator(selectors.routines(request.user), LISTED).get_page(request.GET.get("page"))
    rows = [(row, selectors.when_words(row)) for row in page.object_list]
    return render(
        request, "routines/list.html", {"section": "plans", "page": page, "rows": rows, "now": timezone.now()}
    )


@require_safe
@sees
def detail(request: HttpRequest, routine_id: int) -> HttpResponse:
    row = selectors.routine_for(request.user, routine_id)
    context = {
        "section": "plans",
        "row": row,
        "when": selectors.when_words(row),
        "runs": selectors.next_runs(row),
        "page": Paginator(selectors.openings(request.user, row.pk), LISTED).get_page(request.GET.get("page")),
        "may_change": request.user.has_perm("plans.request_plan")
        and (row.owner_id == request.user.pk or request.user.has_perm("plans.approve_plan")),
        "outlook": selectors.outlook_of(request.user, row),
        "now": timezone.now(),
    }
    return render(request, "routines/detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@may_request
def new(request: HttpRequest) -> HttpResponse:
    """Which question, when, and why; the question is that of a plan that was asked for before."""
    plans = selectors.plans_to_repeat(request.user)
    kind = (request.POST or request.GET).get("kind", Kind.SCHEDULE.value)
    if request.method == "POST":
        form = RoutineForm(request.POST, plans=plans, kind=kind)
        if form.is_valid():
            try:
                return redirect("routines:detail", services.make_routine(request.user, **form.asked()).pk)
            except FieldError as wrong:
                form.refuse(wrong.field, wrong.reason)
        return render(request, "routines/new.html", _new_page(form, kind, plans), status=400)
    form = RoutineForm(initial={"plan": request.GET.get("plan", "")}, plans=plans, kind=kind)
    return render(request, "routines/new.html", _new_page(form, kind, plans))


def _new_page(form: RoutineForm, kind: str, plans: list[Any]) -> dict[str, Any]:
    kinds = [{"label": label, "href": f"?kind={value}", "on": value == kind} for value, label in Kind.choices]
    return {"section": "plans", "form": form, "kinds": kinds, "plans": plans}


@require_POST
@may_request
def act(request: HttpRequest, routine_id: int, action: str) -> HttpResponse:
    """Pause, resume, end, or say which days to skip; the service decides whether it may happen."""
    reason = request.POST.get("reason", "")
    try:
        match action:
            case "pause":
                services.pause_routine(request.user, routine_id, reason)
            case "resume":
                services.resume_routine(request.user, routine_id)
            case "end":
                services.end_routine(request.user, routine_id, reason)
            case _:
                services.skip_days_of(request.user, routine_id, days_in(request.POST.get("days", "")), reason)
    except FieldError as wrong:
        messages.error(request, wrong.sentence)
    except Conflict as refused:
        messages.error(request, refused.reason)
    return redirect("routines:detail", routine_id)
