"""Locks by owners: what they strand, and asking for a release."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from console.inventory import selectors, services
from console.inventory.choices import ReleaseState
from console.inventory.filters import TableView, neighbours, read_table
from console.inventory.forms import AnswerForm, ReleaseForm, WithdrawForm
from console.inventory.selectors.idling import WINDOWS
from console.inventory.selectors.owner_locks import GROUPS
from console.inventory.selectors.paging import BadCursorError
from console.inventory.tables import OWNER_LOCK_COLUMNS, OWNER_LOCK_HEAD, csv_lines, headings
from console.inventory.views.idle import WINDOW_WORDS
from console.rest.csv import csv_response, refused
from console.rest.errors import Conflict, FieldError
from console.ui.filters import Filter, one_of
from console.ui.orders import no_order_words

OWN, ASK, ANSWER = "inventory.view_own", "inventory.ask_release", "inventory.answer_release"
NO_FIT = ("Nothing fits.", "No lock of yours matches these filters in this time.")
NO_LOCKS = ("Nothing is locked.", "Owners lock pods with a mark in the cluster; what they keep so is listed here.")
SOON, LONG = timedelta(hours=1), timedelta(hours=4)


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def ledger(request: HttpRequest) -> HttpResponse:
    """What locks strand, by owner; htmx asks for the table alone."""
    view = _asked(request)
    filters, query = view.filters, view.query
    try:
        page = selectors.owner_lock_rows(request.user, filters, sort=view.sort, cursor=view.cursor, size=view.size)
    except BadCursorError as error:
        raise Http404(f"This page of the table is no longer there: {error}.") from error
    context = {
        "section": "owner-locks",
        "view": view,
        "page": page,
        "reading": selectors.fleet_age(),
        "headings": headings(OWNER_LOCK_COLUMNS[filters.by], query, view.sort, selectors.owner_lock_orders(filters.by)),
        "since_words": f"GPU-hours since {selectors.owner_locks_since(filters):%-d %b %H:%M} UTC",
        "total": selectors.owner_lock_total(request.user, filters),
        "to_answer": list(selectors.releases_to_answer(request.user)),
        "nothing": NO_FIT if filters.text or filters.tenant else NO_LOCKS,
        "now": timezone.now(),
        **neighbours(query, page),
    }
    if request.GET.get("part") == "tiles":
        return render(request, "inventory/owner_locks.html#tiles", context)
    if request.headers.get("HX-Request"):
        return render(request, "inventory/owner_locks.html#table", context)
    return render(request, "inventory/owner_locks.html", context | _bar(request, filters, query))


def _bar(request: HttpRequest, filters: selectors.OwnerLockFilters, query: dict[str, str]) -> dict[str, Any]:
    """The filters above the table; what else the address says is kept."""
    kept = {"window": filters.window, "by": filters.by}
    unsorted = {name: value for name, value in query.items() if name != "sort"}
    more = {name: getattr(filters, name) for name in ("source", "cluster") if getattr(filters, name)}
    return {
        "filters": [
            Filter("text", "Name holds", filters.text, kind="search"),
            one_of("tenant", "Tenant", filters.tenant, selectors.owner_lock_tenants(request.user)),
        ],
        "kept": (kept | more).items(),
        "clear": f"?{urlencode(kept)}" if filters.text or filters.tenant or more else "",
        "windows": [_choice("window", word, WINDOW_WORDS[word], query) for word in WINDOWS],
        "groups": [_choice("by", word, word.capitalize(), unsorted) for word in GROUPS],
    }


def _choice(name: str, word: str, label: str, query: dict[str, str]) -> dict[str, Any]:
    return {"label": label, "href": f"?{urlencode({**query, name: word})}", "on": word == query.get(name)}


@require_safe
@permission_required(OWN, raise_exception=True)
def ledger_csv(request: HttpRequest) -> HttpResponseBase:
    view = _asked(request)
    if view.no_order:
        return refused(no_order_words(view.no_order, selectors.owner_lock_orders(view.filters.by)))
    rows = selectors.owner_lock_csv(request.user, view.filters, sort=view.sort)
    return csv_response("locks-by-owners", OWNER_LOCK_HEAD, csv_lines(rows))


@require_safe
@permission_required(OWN, raise_exception=True)
def lock(request: HttpRequest, lock_id: int) -> HttpResponse:
    """One owner's lock, every question that was asked about it, and the form for the next one."""
    return _lock_page(request, lock_id, None)


def _lock_page(request: HttpRequest, lock_id: int, form: Form | None, refused: str = "") -> HttpResponse:
    found, row = _found(request, lock_id)
    now = timezone.now().replace(second=0, microsecond=0)
    releases = list(selectors.releases_of(request.user, found))
    context = {
        "section": "owner-locks",
        "row": row,
        "releases": releases,
        "open": next((one for one in releases if one.shown_state == ReleaseState.ASKED), None),
        "form": form if form is not None else ReleaseForm(initial={"begins_at": now + SOON, "ends_at": now + LONG}),
        "refused": refused,
        "reading": selectors.fleet_age(),
        "may_ask": request.user.has_perm(ASK) and row.share == "workload" and row.tenant and row.lifted_at is None,
        "now": timezone.now(),
    }
    return render(request, "inventory/owner_lock.html", context, status=409 if refused else 400 if form else 200)


@require_POST
@permission_required(ASK, raise_exception=True)
def ask(request: HttpRequest, lock_id: int) -> HttpResponse:
    found, _ = _found(request, lock_id)
    form = ReleaseForm(request.POST)
    if form.is_valid():
        try:
            row = services.ask_release(request.user, found, **form.cleaned_data)
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except Conflict as over:
            return _lock_page(request, lock_id, form, over.reason)
        else:
            messages.success(request, f"{row.tenant} is asked to release {row.key} until {row.ends_at:%F %R} UTC.")
            return redirect("inventory:owner-lock", lock_id)
    return _lock_page(request, lock_id, form)


@require_POST
@permission_required(ANSWER, raise_exception=True)
def answer(request: HttpRequest, release_id: int) -> HttpResponse:
    form = AnswerForm(request.POST)
    return _act(request, form, lambda said: services.answer_release(request.user, release_id, **said))


@require_POST
@permission_required(ANSWER, raise_exception=True)
def take_back(request: HttpRequest, release_id: int) -> HttpResponse:
    form = WithdrawForm(request.POST)
    return _act(request, form, lambda said: services.take_back_release(request.user, release_id, **said))


@require_POST
@permission_required(ASK, raise_exception=True)
def withdraw(request: HttpRequest, release_id: int) -> HttpResponse:
    form = WithdrawForm(request.POST)
    return _act(request, form, lambda said: services.withdraw_release(request.user, release_id, **said))


def _act(request: HttpRequest, form: Form, act: Any) -> HttpResponse:
    """Back to the ledger with what was done, or with what speaks against it."""
    if not form.is_valid():
        messages.error(request, "Say yes or no, and why.")
        return redirect("inventory:owner-locks")
    try:
        row = act(form.cleaned_data)
        messages.success(request, f"{row.key}: {row.get_state_display().lower()}.")
    except FieldError as wrong:
        messages.error(request, wrong.sentence)
    except Conflict as over:
        messages.error(request, over.reason)
    except selectors.NotThereError as error:
        raise Http404("There is no such release.") from error
    return redirect("inventory:owner-locks")


def _asked(request: HttpRequest) -> TableView[selectors.OwnerLockFilters]:
    filters = selectors.OwnerLockFilters.of(request.GET)
    return read_table(request.GET, filters, selectors.owner_lock_orders(filters.by), "-stranded")


def _found(request: HttpRequest, lock_id: int) -> tuple[Any, selectors.OwnerLockRow]:
    try:
        return selectors.owner_lock_for(request.user, lock_id)
    except selectors.NotThereError as error:
        raise Http404("There is no such lock.") from error
