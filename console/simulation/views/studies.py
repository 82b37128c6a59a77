"""Studies: their list, a new one, what came of one, and its downloads."""

import json
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory.filters import read_table
from console.inventory.selectors import NotThereError
from console.inventory.tables import headings
from console.rest.csv import csv_response
from console.rest.errors import Conflict, FieldError
from console.simulation import charts, selectors, services, tables
from console.simulation.choices import DRAWN, KEPT, MOST_JOB_RUNS, MOST_OPEN_RUNS, StudyState
from console.simulation.forms import OWN, StudyForm, initial_of, left_out
from console.simulation.selectors import RUN, VIEW
from console.ui.figures import clock
from console.ui.filters import Choice, Filter, one_of

LISTED = 50
GONE = "There is no such study."
sees = permission_required(VIEW, raise_exception=True)
may_run = permission_required(RUN, raise_exception=True)


@require_safe
@sees
@vary_on_headers("HX-Request")
def studies(request: HttpRequest) -> HttpResponse:
    """All studies, newest first; htmx asks for the table alone."""
    filters = selectors.StudyFilters.of(request.GET)
    view = read_table(request.GET, filters, selectors.ORDERS, "newest")
    found = selectors.study_rows(request.user, filters, order=view.sort)
    page = Paginator(found, LISTED).get_page(request.GET.get("page"))
    context = {
        "section": "simulation",
        "view": view,
        "page": page,
        "query": urlencode(view.query),
        "rows": selectors.rows_of(page.object_list),
        "headings": headings(tables.COLUMNS, view.query, view.sort, selectors.ORDERS),
        "now": timezone.now(),
        "narrow": filters.narrow,
    }
    if request.headers.get("HX-Request"):
        return render(request, "simulation/list.html#table", context)
    return render(request, "simulation/list.html", context | _filters(request, filters))


def _filters(request: HttpRequest, chosen: selectors.StudyFilters) -> dict[str, Any]:
    names = selectors.study_names(request.user)
    states = [Choice(state.value, state.label) for state in StudyState]
    traces = [Choice(word, DRAWN[word].label if word in DRAWN else "Our own") for word in (*DRAWN, KEPT)]
    return {
        "filters": [
            Filter("text", "Name holds", chosen.text, always=True, kind="search"),
            Filter("state", "State", chosen.state, "All", states, always=True),
            Filter("trace", "Trace", chosen.trace, "All", traces),
            one_of("by", "By", chosen.by, names["by"]),
        ],
        "clear": "?" if chosen.narrow else "",
    }


@require_http_methods(["GET", "HEAD", "POST"])
@may_run
def new(request: HttpRequest) -> HttpResponse:
    """The form; ``?like=`` puts an earlier study into it."""
    traces = selectors.ready_traces(request.user)
    if request.method == "POST":
        form = StudyForm(request.POST, traces=traces)
        if form.is_valid():
            try:
                return redirect("simulation:study", services.make_study(request.user, **form.asked()).pk)
            except FieldError as wrong:
                form.refuse(wrong.field, wrong.reason)
            except Conflict as over:
                form.add_error(None, over.reason)
        return render(request, "simulation/new.html", _new_page(form), status=400)
    return render(request, "simulation/new.html", _new_page(StudyForm(initial=_like(request), traces=traces)))


def _like(request: HttpRequest) -> dict[str, Any]:
    like = request.GET.get("like", "")
    if not like.isascii() or not like.isdigit() or len(like) > 15:
        return {"source": f"{KEPT}:{request.GET['trace']}"} if request.GET.get("trace") else {}
    row = _row(request, int(like))
    missing = left_out(row)
    if missing:
        messages.warning(request, f"This form has no field for {', '.join(missing)}: the API can ask for it again.")
    return initial_of(row)


def _new_page(form: StudyForm) -> dict[str, Any]:
    own = [one for one in form.fields if one.startswith(OWN)]
    return {
        "section": "simulation",
        "form": form,
        "trace_fields": [form[name] for name in ("share_percent", "days", "fail_days", "seed_count", "first_seed")],
        "own_fields": [form[name] for name in own],
        "own_open": any(form[name].value() for name in own if name != "own_base") or any(form[n].errors for n in own),
        "most_open": MOST_OPEN_RUNS,
        "most_job_runs": MOST_JOB_RUNS,
    }


@require_safe
@may_run
def estimate(request: HttpRequest) -> HttpResponse:
    """How much the study in the form would be; a part of its page."""
    said = StudyForm(request.GET, traces=selectors.ready_traces(request.user)).sized()
    found = None if said is None else selectors.estimate_of(request.user, said)
    return render(request, "simulation/estimate.html", {"found": found, "most_job_runs": MOST_JOB_RUNS})


@require_safe
@sees
@vary_on_headers("HX-Request")
def study(request: HttpRequest, study_id: int) -> HttpResponse:
    """One study; htmx asks for its runs while they go on."""
    row = _row(request, study_id)
    runs = selectors.run_rows(request.user, row)
    context: dict[str, Any] = {
        "section": "simulation",
        "row": row,
        "runs": runs,
        "mark": "under way" if row.finished_at is None else clock(row.finished_at, today=timezone.now()),
        "cpu_seconds": sum(run.cpu_seconds for run in runs),
        "may_run": request.user.has_perm(RUN),
        "now": timezone.now(),
    }
    if request.headers.get("HX-Request"):
        response = render(request, "simulation/study.html#runs", context)
        if request.GET.get("was") == "open" and not row.is_open:
            response["HX-Refresh"] = "true"  # the rest of the page has figures now
        return response
    return render(request, "simulation/study.html", context | _figures(request, row))


def _figures(request: HttpRequest, row: selectors.StudyRow) -> dict[str, Any]:
    found = selectors.outcomes_of(request.user, row.id)
    if found is None:
        return {"found": None}
    measure = request.GET.get("blocks", "count")
    measure = measure if measure in tables.MEASURES else "count"
    label, unit, words = tables.MEASURES[measure]
    return {
        "found": found,
        "looks": charts.looks(found.policies),
        "lines": charts.lines(found.policies),
        "groups": tables.figure_groups(found.policies),
        "gangs": tables.gang_rows(found.policies),
        "waiting": tables.waiting_rows(found.policies),
        "blocks": tables.block_rows(found.policies, measure),
        "measure": {"label": label, "unit": unit, "words": words},
        "measures": [
            {"label": label, "href": f"?blocks={word}#blocks", "on": word == measure}
            for word, (label, _, _) in tables.MEASURES.items()
        ],
        "alike": [one["name"] for one in found.policies if one["runs"] > 1 and len(one["digests"]) == 1],
    }


@require_POST
@may_run
def cancel(request: HttpRequest, study_id: int) -> HttpResponse:
    try:
        services.cancel_study(request.user, study_id)
        messages.success(request, "Cancelled: runs under way stop within seconds, what is finished stays.")
    except NotThereError as error:
        raise Http404(GONE) from error
    except Conflict as over:
        messages.error(request, over.reason)
    return redirect("simulation:study", study_id)


@require_POST
@may_run
def delete(request: HttpRequest, study_id: int) -> HttpResponse:
    try:
        services.delete_study(request.user, study_id)
    except NotThereError as error:
        raise Http404(GONE) from error
    except Conflict as over:
        messages.error(request, over.reason)
        return redirect("simulation:study", study_id)
    messages.success(request, "The study is deleted, with its runs and results.")
    return redirect("simulation:list")


@require_safe
@sees
def report(request: HttpRequest, study_id: int) -> HttpResponse:
    """Everything that is kept of it, as a file."""
    try:
        found = selectors.report_of(request.user, selectors.study_of(request.user, study_id))
    except NotThereError as error:
        raise Http404(GONE) from error
    response = HttpResponse(json.dumps(found, indent=1), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="study-{study_id}.json"'
    return response


@require_safe
@sees
def figures_csv(request: HttpRequest, study_id: int) -> HttpResponseBase:
    row = _row(request, study_id)
    found = selectors.outcomes_of(request.user, row.id)
    lines = () if found is None else tables.figure_lines(found.policies)
    return csv_response(f"study-{study_id}", tables.FIGURE_HEAD, lines)


def _row(request: HttpRequest, study_id: int) -> selectors.StudyRow:
    try:
        return selectors.study_row(request.user, study_id)
    except NotThereError as error:
        raise Http404(GONE) from error
