"""Pages of standby: saying when a workload sleeps, and the parts that other pages are made of."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.rest.errors import Conflict, FieldError
from console.rest.versions import PreconditionFailed
from console.standby import selectors, services
from console.standby.choices import RECALL, SET, VIEW_OWN, VIEW_POOL
from console.standby.forms import KINDS, WEEKLY, EditForm, MakeForm, initial_of

sees = permission_required(VIEW_OWN, raise_exception=True)
may_set = permission_required(SET, raise_exception=True)
may_recall = permission_required(RECALL, raise_exception=True)
PARTS = {
    "windows": selectors.windows_page,
    "pool": selectors.pool_page,
    "storms": selectors.storms_page,
    "recalls": selectors.recalls_page,
}
HOME = "/capacity/"
WIDTHS = tuple(f"sl-c{width}" for width in (4, 6, 8, 12))


@require_safe
@sees
def part(request: HttpRequest, part: str) -> HttpResponse:
    """One card, for whoever shows it on a page of its own."""
    if part not in PARTS:
        raise Http404("There is no such part.")
    if part == "storms" and not request.user.has_perm(VIEW_POOL):
        raise PermissionDenied("Storms tell of everybody's standby: only who sees the pool sees them.")
    found = PARTS[part](request.user)
    css = request.GET.get("css", "")
    css = css if css in WIDTHS else ""
    return render(request, f"standby/{part}.html", {part: found, "css": css, "now": timezone.now()})


@require_http_methods(["GET", "HEAD", "POST"])
@may_set
def new(request: HttpRequest) -> HttpResponse:
    """Which workload, when; what that would bring is shown before it is made."""
    workloads = selectors.workloads_to_mark(request.user)
    kind = (request.POST or request.GET).get("kind", WEEKLY)
    if request.method != "POST":
        return _new_page(request, MakeForm(kind=kind, workloads=workloads), kind)
    form = MakeForm(request.POST, kind=kind, workloads=workloads)
    expected = None
    if form.is_valid():
        try:
            if "preview" not in request.POST:
                row = services.make_window(request.user, **form.asked(), reason=form.cleaned_data["reason"])
                messages.success(request, f"{row.key} sleeps {row.words}.")
                return redirect(HOME)
            expected = services.preview_window(request.user, **form.asked())
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except Conflict as refused:
            form.refuse("", refused.reason)
    return _new_page(request, form, kind, expected)


def _new_page(request: HttpRequest, form: MakeForm, kind: str, expected: Any = None) -> HttpResponse:
    kinds = [{"label": label, "href": f"?kind={value}", "on": value == kind} for value, label in KINDS]
    context = {"section": "capacity", "form": form, "kinds": kinds, "expected": expected}
    return render(request, "standby/new.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@may_set
def edit(request: HttpRequest, window_id: int) -> HttpResponse:
    """Other times for a window, on top of the version that the page was drawn with."""
    window = selectors.window_for(request.user, window_id)
    initial = initial_of(window)
    form = EditForm(request.POST if request.method == "POST" else None, kind=initial["kind"], initial=initial)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            services.edit_window(request.user, window_id, said["version"], reason=said["reason"], **form.when())
            return redirect(HOME)
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except Conflict as refused:
            form.refuse("", refused.reason)
        except PreconditionFailed as old:
            form.refuse("", str(old.detail))
    context = {
        "section": "capacity", "form": form, "window": window, "row": selectors.window_row(request.user, window),
    }  # fmt: skip
    return render(request, "standby/edit.html", context, status=400 if form.errors else 200)


@require_POST
@may_set
def end(request: HttpRequest, window_id: int) -> HttpResponse:
    try:
        row = services.end_window(request.user, window_id, request.POST.get("reason", ""))
        messages.success(request, f"The window of {row.key} is over.")
    except Conflict as refused:
        messages.error(request, refused.reason)
    return redirect(HOME)


@require_POST
@may_recall
def recall_window(request: HttpRequest, window_id: int) -> HttpResponse:
    """All that sleeps under a window, now."""
    try:
        made = services.recall_window(request.user, window_id, request.POST.get("reason", ""))
        messages.success(request, f"{len(made)} recalled: they serve within about a minute.")
    except FieldError as wrong:
        messages.error(request, wrong.sentence)
    except Conflict as refused:
        messages.error(request, refused.reason)
    back = request.POST.get("next", "")
    return redirect(back if back.startswith("/") and not back.startswith("//") else HOME)
