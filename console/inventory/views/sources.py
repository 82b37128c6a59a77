"""Sources: how they fare, and how a new one is loaded."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.inventory import selectors, services
from console.inventory.choices import UploadKind
from console.inventory.forms import FORMS, LoadForm, NameForm, ReasonForm

FLEET, LOAD = "inventory.view_fleet", "inventory.load_cluster"


@require_safe
@permission_required(FLEET, raise_exception=True)
def source_list(request: HttpRequest) -> HttpResponse:
    """Every source with the age of its last reading, and its error where it fails."""
    part = "#list" if request.headers.get("HX-Request") else ""
    page = {"section": "sources", "rows": selectors.source_states(request.user)}
    return render(request, f"inventory/sources.html{part}", page)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(LOAD, raise_exception=True)
def load(request: HttpRequest) -> HttpResponse:
    """The forms; a refused file comes back with path, value and reason, and nothing of it is kept."""
    kind = request.POST.get("kind", request.GET.get("kind", UploadKind.SNAPSHOT))
    kind = kind if kind in FORMS else UploadKind.SNAPSHOT.value
    if request.method != "POST":
        return _forms(request, kind, FORMS[kind](), None, 200)
    form = FORMS[kind](request.POST, request.FILES)
    if not form.is_valid():
        return _forms(request, kind, form, None, 400)
    try:
        upload = _receive(request.user, kind, form)
    except services.InputError as error:
        return _forms(request, kind, form, error, 400)
    return redirect("inventory:upload", upload_id=upload.pk)


def _receive(user: Any, kind: str, form: LoadForm) -> Any:
    name, params, contents = form.cleaned_data["name"], form.params(), form.contents()
    if kind == UploadKind.SNAPSHOT:
        file_name, content = contents["snapshot"]
        return services.load_snapshot_file(user, name, content, behaviour=params["behaviour"], file_name=file_name)
    return services.receive_files(user, name, kind, contents, params)


def _forms(request: HttpRequest, kind: str, form: LoadForm, error: Any, status: int) -> HttpResponse:
    page = {
        "section": "sources",
        "kind": kind,
        "kinds": UploadKind.choices,
        "form": form,
        "refusal": _as_refusal(error),
        "limit": services.MAX_BYTES,
    }
    return render(request, "inventory/load.html", page, status=status)


def _as_refusal(error: Any) -> dict[str, Any] | None:
    if error is None:
        return None
    shown = None if error.value is None else str(error.value)[:300]
    return {"path": error.path, "value": error.value, "shown": shown, "reason": error.reason}


@require_safe
@permission_required(LOAD, raise_exception=True)
def upload(request: HttpRequest, upload_id: int) -> HttpResponse:
    """What became of the files: counts, warnings and unknown fields, or the refusal."""
    try:
        found = selectors.upload_for(request.user, upload_id)
    except selectors.NotThereError as error:
        raise Http404("There is no such upload.") from error
    part = "#result" if request.headers.get("HX-Request") else ""
    return render(request, f"inventory/upload.html{part}", {"section": "sources", "upload": found})


@require_POST
@permission_required(LOAD, raise_exception=True)
def retry(request: HttpRequest, source_id: int) -> HttpResponse:
    source = _source(request, source_id)
    services.retry_source(request.user, source)
    messages.success(request, f"{source.name} is read again now.")
    return redirect("inventory:sources")


@require_POST
@permission_required(LOAD, raise_exception=True)
def rename(request: HttpRequest, source_id: int) -> HttpResponse:
    """Another name for people; addresses that hold the old one find nothing any more."""
    source, form = _source(request, source_id), NameForm(request.POST)
    if not form.is_valid():
        messages.error(request, "A source needs a name of 1 to 100 characters.")
    else:
        try:
            renamed = services.rename_source(request.user, source, form.cleaned_data["name"])
            messages.success(request, f"{source.name} is called {renamed.name} from now on.")
        except services.ClusterError as error:
            messages.error(request, f"Not renamed: {error.reason}.")
    return redirect("inventory:source", source_id=source_id)


@require_POST
@permission_required(LOAD, raise_exception=True)
def remove(request: HttpRequest, source_id: int) -> HttpResponse:
    """Needs a reason, which stays in the audit log."""
    source, form = _source(request, source_id), ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, "A source is removed with a reason only.")
    else:
        services.remove_source(request.user, source, form.cleaned_data["reason"])
        messages.success(request, f"{source.name} is removed.")
    return redirect("inventory:sources")


def _source(request: HttpRequest, source_id: int) -> Any:
    try:
        return selectors.source_for(request.user, source_id)
    except selectors.NotThereError as error:
        raise Http404("There is no such source.") from error
