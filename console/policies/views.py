"""The page of policies: what counts where, what is decided, and deciding it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.inventory.selectors import filter_choices
from console.policies import selectors, services, windowing, windows
from console.policies.choices import SETTINGS
from console.policies.forms import SettingForm, WindowForm, asked_place
from console.rest.errors import Conflict, FieldError
from console.ui.filters import one_of

sees = permission_required("policies.view_policy", raise_exception=True)
decides = permission_required("policies.set_policy", raise_exception=True)
LISTED = 20


@require_safe
@sees
def policy_list(request: HttpRequest) -> HttpResponse:
    """What counts for the place that the address names, what is decided by scope, and the history."""
    known = filter_choices(request.user)
    cluster, model, tenant = (request.GET.get(name, "") for name in ("cluster", "gpu_model", "tenant"))
    policy = selectors.effective(request.user, cluster, [model] if model else [], [tenant] if tenant else [])
    history = Paginator(selectors.history(request.user), LISTED).get_page(request.GET.get("page"))
    context = {
        "section": "policies",
        "filters": [
            one_of("cluster", "Cluster", cluster, list(known.clusters), always=True),
            one_of("gpu_model", "GPU model", model, list(known.models), always=True),
            one_of("tenant", "Tenant", tenant, list(known.tenants), always=True),
        ],
        "clear": request.path if cluster or model or tenant else "",
        "place": _place_words(cluster, model, tenant),
        "policy": list(policy.values()),
        "rows": [_row(row) for row in selectors.by_scope(request.user)],
        "page": history,
        "past": [_row(row) for row in history.object_list],
        "may_set": request.user.has_perm("policies.set_policy"),
    }
    return render(request, "policies/list.html", context)


def _row(row: Any) -> tuple[Any, Any, str]:
    """(the version, its setting, its value in words); a setting that is none any more has only its number."""
    setting = SETTINGS.get(row.name)
    if row.cleared:
        return row, setting, "cleared"
    return row, setting, str(row.value) if setting is None else setting.said(row.value)


def _place_words(cluster: str, model: str, tenant: str) -> str:
    where = [word for word in (model, f"in {cluster}" if cluster and model else cluster) if word]
    whose = [f"tenant {tenant}"] if tenant else []
    return ", ".join([" ".join(where), *whose] if where else whose) or "the fleet, where nothing nearer is decided"


@require_http_methods(["GET", "HEAD", "POST"])
@decides
def edit(request: HttpRequest) -> HttpResponse:
    """One setting at one place: its present version, what a value would change, and the decision."""
    if request.method != "POST":
        return _form_for(request)
    form = SettingForm(request.POST)
    lines: list[str] = []
    status = 400
    if form.is_valid():
        try:
            done, lines = _decide(request.user, form, request.POST.get("do", "preview"))
            if done:
                messages.success(request, f"Decided for {done.place.words}. It counts from now on.")
                return redirect("policies:list")
            form, status = _reread(request.user, form), 200
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except services.VersionMissingError as missing:
            form.refuse("", missing.reason)
            status = 428
        except services.VersionChangedError as changed:
            form.refuse("", changed.reason)
            status = 412
    return render(request, "policies/edit.html", _edit_page(request, form, lines), status=status)


def _decide(user: Any, form: SettingForm, wish: str) -> tuple[Any, list[str]]:
    """(the new version, or None where nothing was decided; what it would change).

    Who turned to another setting or place in the form has not read what is decided there: that is shown first.
    """
    said = form.cleaned_data
    place = services.place_of(**form.place())
    given = {"reason": said["reason"], "version": said["version"]}
    read = said["of"] == _key_of(said["name"], place)
    if read and wish == "set":
        return services.set_value(user, said["name"], place, said["value"], **given), []
    if read and wish == "clear":
        return services.clear_value(user, said["name"], place, **given), []
    return None, services.preview(said["name"], place, said["value"])


def _reread(user: Any, form: SettingForm) -> SettingForm:
    """The same words on top of what is decided now for the setting and place that they name."""
    place, name = services.place_of(**form.place()), form.cleaned_data["name"]
    now = selectors.setting_at(user, name, place)
    version = 0 if now is None else now.version
    return SettingForm({**dict(form.data.items()), "version": version, "of": _key_of(name, place)})


def _key_of(name: str, place: Any) -> str:
    return "|".join([name, place.scope, place.cluster, place.gpu_model, place.tenant])


def _form_for(request: HttpRequest) -> HttpResponse:
    """The form with what is decided there now; a place that is only half named asks for the rest."""
    asked = asked_place(request.GET)
    name = request.GET.get("name", "")
    given: dict[str, Any] = {**asked, "name": name if name in SETTINGS else next(iter(SETTINGS)), "version": 0}
    now = None
    try:
        place = services.place_of(**asked)
        now = selectors.setting_at(request.user, given["name"], place)
        given |= {"of": _key_of(given["name"], place), "version": 0 if now is None else now.version}
    except FieldError:
        pass  # the form asks for what is missing
    if now is not None and not now.cleared:
        given["value"] = now.value
    return render(request, "policies/edit.html", _edit_page(request, SettingForm(initial=given), [], now))


def _edit_page(request: HttpRequest, form: SettingForm, lines: list[str], now: Any = None) -> dict[str, Any]:
    return {
        "section": "policies",
        "form": form,
        "setting": SETTINGS.get(str(form["name"].value())),
        "lines": lines,
        "now": now,
        "known": filter_choices(request.user),
        "settings": list(SETTINGS.values()),
    }


@require_http_methods(["GET", "HEAD", "POST"])
@sees
def window_list(request: HttpRequest) -> HttpResponse:
    """When plans may run; setting a window is a plain form."""
    form = WindowForm(request.POST or None)
    status = 200
    if request.method == "POST":
        if form.is_valid():
            try:
                row = windowing.add_window(request.user, services.place_of(**form.place()), **form.asked())
                messages.success(request, f"Set for {row.place.words}.")
                return redirect("policies:windows")
            except FieldError as wrong:
                form.refuse(wrong.field, wrong.reason)
        status = 400
    ended = windows.windows(request.user).filter(ended_at__isnull=False)
    context = {
        "section": "policies",
        "form": form,
        "rows": windows.window_rows(request.user),
        "page": Paginator(ended, LISTED).get_page(request.GET.get("page")),
        "may_set": request.user.has_perm("policies.set_policy"),
        "known": filter_choices(request.user),
    }
    return render(request, "policies/windows.html", context, status=status)


@require_POST
@sees
def end(request: HttpRequest, window_id: int) -> HttpResponse:
    try:
        row = windowing.end_window(request.user, window_id, request.POST.get("reason", ""))
    except Conflict as refused:
        messages.error(request, refused.reason)
        return redirect("policies:windows")
    messages.success(request, f"Ended: it no longer counts for {row.place.words}.")
    return redirect("policies:windows")
