"""Traces of our own: uploaded, or recorded from readings."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.selectors import NotThereError
from console.rest.errors import Conflict, FieldError
from console.simulation import selectors, services
from console.simulation.choices import DRAWN, MOST_BYTES, MOST_FILES, MOST_JOBS
from console.simulation.forms import RecordForm, UploadForm
from console.simulation.selectors import RUN, VIEW
from console.ui.forms import FieldForm

may_run = permission_required(RUN, raise_exception=True)


@require_safe
@permission_required(VIEW, raise_exception=True)
@vary_on_headers("HX-Request")
def traces(request: HttpRequest) -> HttpResponse:
    """What can arrive in a study, and the ways to more of it; htmx asks for the table alone."""
    if request.headers.get("HX-Request"):
        return render(request, "simulation/traces.html#table", _listed(request))
    return render(request, "simulation/traces.html", _page(request))


@require_POST
@may_run
def upload(request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST)
    if form.is_valid():
        files = {str(file.name): file.read() for file in request.FILES.getlist("files")}
        try:
            services.receive_files(request.user, form.cleaned_data["name"], files)
            return _sent(request)
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except Conflict as full:
            form.add_error(None, full.reason)
    return render(request, "simulation/traces.html", _page(request, upload_form=form), status=400)


@require_POST
@may_run
def record(request: HttpRequest) -> HttpResponse:
    form = RecordForm(request.POST, places=selectors.recordables(request.user))
    if form.is_valid():
        try:
            services.record_trace(request.user, **form.asked())
            return _sent(request)
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except Conflict as full:
            form.add_error(None, full.reason)
    return render(request, "simulation/traces.html", _page(request, record_form=form), status=400)


@require_POST
@may_run
def delete_trace(request: HttpRequest, trace_id: int) -> HttpResponse:
    try:
        services.delete_trace(request.user, trace_id)
        messages.success(request, "The trace is deleted.")
    except NotThereError as error:
        raise Http404("There is no such trace.") from error
    except Conflict as used:
        messages.error(request, used.reason)
    return redirect("simulation:traces")


def _sent(request: HttpRequest) -> HttpResponse:
    messages.success(request, "A worker reads it; what it finds shows in the table.")
    return redirect("simulation:traces")


def _listed(request: HttpRequest) -> dict[str, Any]:
    return {"rows": selectors.trace_rows(request.user), "now": timezone.now(), "may_run": request.user.has_perm(RUN)}


def _page(
    request: HttpRequest, upload_form: FieldForm | None = None, record_form: FieldForm | None = None
) -> dict[str, Any]:
    places = selectors.recordables(request.user)
    return {
        **_listed(request),
        "section": "simulation",
        "drawn": list(DRAWN.values()),
        "places": places,
        "upload_form": upload_form or UploadForm(),
        "record_form": record_form or RecordForm(places=places),
        "most_bytes": MOST_BYTES,
        "most_files": MOST_FILES,
        "most_jobs": MOST_JOBS,
    }
