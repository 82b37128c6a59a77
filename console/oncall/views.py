"""Pages of on-call: rotas and alerts, one's own address, and the decision by phone."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.oncall import pages, selectors, services
from console.oncall.forms import ContactForm, CoverForm, DecisionForm, RotaForm
from console.plans import services as plans
from console.rest.errors import Conflict, FieldError
from console.ui.forms import first_error

sees = permission_required("oncall.view_rota", raise_exception=True)
sees_plans = permission_required("plans.view_plan", raise_exception=True)
sets = permission_required("oncall.set_rota", raise_exception=True)
answers = permission_required("oncall.answer", raise_exception=True)
LISTED = 25


@require_safe
@sees
def now(request: HttpRequest) -> HttpResponse:
    return render(request, "oncall/now.html", pages.now_page(request))


@require_http_methods(["GET", "HEAD", "POST"])
@sets
def new_rota(request: HttpRequest) -> HttpResponse:
    form = RotaForm(request.POST or None)
    if request.method != "POST":
        return render(request, "oncall/rota.html", pages.rota_page(request, form))
    return _write(request, form, None, lambda said: services.make_rota(request.user, **said))


@require_http_methods(["GET", "HEAD", "POST"])
@sets
def rota(request: HttpRequest, rota_id: int) -> HttpResponse:
    """One rota as a form, on top of the version that was read."""
    row = selectors.rota_detail(request.user, rota_id)
    if request.method != "POST":
        form = RotaForm(initial=pages.rota_initial(row), placed=True)
        return render(request, "oncall/rota.html", pages.rota_page(request, form, row))
    form = RotaForm(request.POST, placed=True)

    def change(said: dict[str, Any]) -> Any:
        version = form.cleaned_data["version"] or 0
        return services.change_rota(request.user, rota_id, version=version, **said)

    return _write(request, form, row, change)


def _write(request: HttpRequest, form: RotaForm, row: Any, act: Callable[[dict[str, Any]], Any]) -> HttpResponse:
    status = 400
    if form.is_valid():
        try:
            done = act(form.asked())
            messages.success(request, f"Set for {done.place}. It counts from now on.")
            return redirect("oncall:now")
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except Conflict as refused:
            form.refuse("", refused.reason)
            status = 409
    return render(request, "oncall/rota.html", pages.rota_page(request, form, row), status=status)


@require_POST
@sets
def end_rota(request: HttpRequest, rota_id: int) -> HttpResponse:
    return _act(
        request, lambda: services.end_rota(request.user, rota_id, request.POST.get("reason", "")), "The rota has ended."
    )


@require_POST
@answers
def take_over(request: HttpRequest, rota_id: int) -> HttpResponse:
    form = CoverForm(request.POST)
    if not form.is_valid():
        messages.error(request, first_error(form))
        return redirect("oncall:now")
    asked = form.asked()
    return _act(
        request, lambda: services.take_over(request.user, rota_id, **asked), f"{asked['who']} takes over as you said."
    )


@require_POST
@answers
def end_cover(request: HttpRequest, cover_id: int) -> HttpResponse:
    return _act(request, lambda: services.end_cover(request.user, cover_id), "The rota's own turn counts again.")


def _act(request: HttpRequest, act: Callable[[], Any], done: str) -> HttpResponse:
    try:
        act()
        messages.success(request, done)
    except FieldError as wrong:
        messages.error(request, wrong.sentence)
    except Conflict as refused:
        messages.error(request, refused.reason)
    return redirect("oncall:now")


@require_POST
@answers
def contact(request: HttpRequest, action: str) -> HttpResponse:
    """One's own address: set, forgotten or tried.  The secret of a webhook is on the answer and nowhere else."""
    if action == "forget":
        return _act(
            request, lambda: services.forget_contact(request.user, request.POST.get("kind", "")), "It is forgotten."
        )
    if action == "try":
        return _act(request, lambda: services.try_contact(request.user), "A trial is on its way to you.")
    form = ContactForm(request.POST)
    if not form.is_valid():
        messages.error(request, first_error(form))
        return redirect("oncall:now")
    try:
        secret = services.set_contact(request.user, **form.cleaned_data)
    except FieldError as wrong:
        messages.error(request, wrong.sentence)
        return redirect("oncall:now")
    if not secret:
        messages.success(request, "Set: calls reach you there.")
        return redirect("oncall:now")
    return render(request, "oncall/now.html", {**pages.now_page(request), "secret": secret})


@require_POST
@answers
def about_alert(request: HttpRequest, alert_id: int, action: str) -> HttpResponse:
    """Take an alert or hand it on, back to the page of what it is about."""
    alert = selectors.alert_detail(request.user, alert_id)
    try:
        if action == "acknowledge":
            services.acknowledge(request.user, alert_id)
        else:
            services.hand_on(request.user, alert_id, request.POST.get("reason", ""))
    except Conflict as refused:
        messages.error(request, refused.reason)
    return redirect(alert.path)


@require_safe
@answers
def outbox(request: HttpRequest) -> HttpResponse:
    """Every message as it was written, and what became of it."""
    page = Paginator(selectors.outbox(request.user), LISTED).get_page(request.GET.get("page"))
    return render(request, "oncall/outbox.html", {"section": "oncall", "page": page})


# --- by phone -------------------------------------------------------------------------------------------------------
@never_cache
@require_safe
@sees_plans
def decide(request: HttpRequest, plan_id: int) -> HttpResponse:
    """What a decision needs, in little: made for 390 px, without scripts that must load first."""
    return render(request, "oncall/decide.html", pages.decide_page(request, plan_id))


@sees_plans
def answer(request: HttpRequest, plan_id: int, action: str) -> HttpResponse:
    """A decision by the same services as on the large page; a refusal is said on the page itself."""
    if request.method in ("GET", "HEAD"):
        return redirect("oncall:decide", plan_id)  # a reload of an answer
    return _answer(request, plan_id, action)


@require_POST
def _answer(request: HttpRequest, plan_id: int, action: str) -> HttpResponse:
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _again(request, plan_id, first_error(form), 400)
    try:
        _decide(request.user, plan_id, action, form)
    except plans.DigestMissingError as missing:
        return _again(request, plan_id, missing.reason, 428)
    except Conflict as refused:
        return _again(request, plan_id, refused.reason, 409)
    return redirect("plans:detail" if request.POST.get("back") == "plan" else "oncall:decide", plan_id)


def _again(request: HttpRequest, plan_id: int, reason: str, status: int) -> HttpResponse:
    context = {**pages.decide_page(request, plan_id), "refused": reason, "typed": request.POST.get("reason", "")}
    return render(request, "oncall/decide.html", context, status=status)


def _decide(user: Any, plan_id: int, action: str, form: DecisionForm) -> None:
    digest, reason = form.cleaned_data["digest"], form.said(action)
    match action:
        case "approve":
            plans.approve_plan(user, plan_id, digest, reason)
        case "approve-and-start":
            plans.approve_plan(user, plan_id, digest, reason, start=True)
        case "reject":
            plans.reject_plan(user, plan_id, digest, reason)
        case "start":
            plans.start_plan(user, plan_id, digest or None)
        case "resume":
            plans.resume_plan(user, plan_id, reason)
        case "abort":
            plans.abort_plan(user, plan_id, reason)
        case _:
            _about_alert(user, plan_id, action, reason)


def _about_alert(user: Any, plan_id: int, action: str, reason: str) -> None:
    alert = selectors.open_alert_of(user, plan_id)
    if alert is None:
        raise Conflict(f"Plan {plan_id} calls nobody any more.")
    if action == "acknowledge":
        services.acknowledge(user, alert.pk)
    else:
        services.hand_on(user, alert.pk, reason)
