"""The book of quotas: editing one tenant, many at once from a file, and going back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from console.rest.csv import csv_response
from console.tenancy import selectors, services
from console.tenancy.addresses import edit_address, tenant_address
from console.tenancy.choices import EditionKind
from console.tenancy.entries import BUDGET, LIMITS, Given, Wrong, flat, name_fault
from console.tenancy.forms import PERIODS, BookForm, ReasonForm, document_of, given_of_text
from console.tenancy.twin import HEAD, table_of

OWN, SET = "tenancy.view_own", "tenancy.set_quotas"
LISTED = 20


@dataclass(slots=True)
class Outcome:
    """What became of an edit: a redirect where it is kept, else what to say beside the form."""

    status: int = 200
    wrongs: tuple[Wrong, ...] = ()
    refusal: str = ""
    changed: tuple[dict[str, Any], ...] = ()
    changes: list[selectors.Change] = field(default_factory=list)
    preview: services.Preview | None = None
    edition: Any = None

    @property
    def by_field(self) -> dict[str, str]:
        return {wrong.field: wrong.reason for wrong in self.wrongs}

    @property
    def is_empty(self) -> bool:
        return self.preview is not None and not self.changes


def _try(user: Any, given: list[Given], version: int | None, *, keep: bool, **more: Any) -> Outcome:
    """Previews an edit, or makes it where it is to be kept."""
    try:
        if keep:
            return Outcome(edition=services.edit_book(user, given, version, **more))
        planned = services.plan_edit(user, given, version, whole=more.get("whole", False))
        changes = [selectors.Change(*change) for change in planned.changes]
        return Outcome(changes=changes, preview=services.preview(user, planned))
    except services.BookError as wrong:
        return Outcome(400, wrong.wrongs)
    except services.VersionMissingError as missing:
        return Outcome(428, refusal=missing.reason)
    except services.VersionChangedError as changed:
        return Outcome(412, refusal=changed.reason, changed=changed.changes)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(OWN, raise_exception=True)
def edit_tenant(request: HttpRequest, name: str) -> HttpResponse:
    """What the book says of a tenant; htmx asks for what an edit would change while it is typed."""
    parent = request.GET.get("parent", "")
    if request.method != "POST" and not selectors.may_edit(request.user, name, parent):
        services.require(request.user, SET)
    page = selectors.seen_by(request.user)
    document = page.docs.get(("tenant", name))
    version = page.versions.get(("tenant", name), 0)
    if request.method != "POST":
        said = flat(document) if document is not None else {"parent": parent}
        return render(request, "tenancy/edit.html", _form(request, name, said, version, Outcome(), document))
    wish = request.POST.get("do", "preview")
    reason = request.POST.get("reason", "")
    read = request.POST.get("version", "")
    given = [Given("tenant", name, document_of(request.POST.dict()), removed=wish == "remove")]
    on_top_of = int(read) if read.isascii() and read.isdigit() and len(read) < 10 else None
    outcome = _try(request.user, given, on_top_of, keep=wish in ("set", "remove"), reason=reason)
    if outcome.edition is not None:
        messages.success(request, f"Kept as version {outcome.edition.number}. It counts from now on.")
        return redirect("tenancy:tenants" if wish == "remove" else tenant_address(name) or "tenancy:tenants")
    said = {key: value for key, value in request.POST.items() if value}
    context = _form(request, name, said, read, outcome, document)
    if request.headers.get("HX-Request"):
        return render(request, "tenancy/edit.html#preview", context)
    return render(request, "tenancy/edit.html", context, status=outcome.status)


def _form(
    request: HttpRequest,
    name: str,
    said: Mapping[str, Any],
    version: Any,
    outcome: Outcome,
    document: Mapping[str, Any] | None,
) -> dict[str, Any]:
    tree = selectors.tenant_tree(request.user)
    wrong = outcome.by_field
    fixed = () if request.user.has_perm(SET) else tuple(one for one in LABELS if one not in services.DIVIDED)
    models = sorted({*tree.models, *(document or {}).get("quotas", ())} - {""})
    periods = [*PERIODS, *(word for word in (document or {}).get("budgets", ()) if word not in PERIODS)]
    row = next((one for one in tree.rows if one.kind == "tenant" and one.name == name), None)
    held = dict(row.models) if row is not None else {}
    return {
        "section": "tenants",
        "name": name,
        "said": said,
        "version": version,
        "outcome": outcome,
        "in_book": document is not None,
        "own": [_field(one, said, wrong, fixed) for one in LABELS],
        "models": [
            (model, held.get(model), [_field(f"quotas.{model}.{one}", said, wrong) for one in LIMITS])
            for model in models
        ],
        "budgets": [(word, [_field(f"budgets.{word}.{one}", said, wrong) for one in BUDGET]) for word in periods],
        "others": [wrong for wrong in outcome.wrongs if wrong.field == "" or wrong.field == "reason"],
        "tenants": [one.name for one in tree.rows if one.kind == "tenant" and one.name != name],
        "cohorts": tree.cohorts,
        "address": tenant_address(name) if document is not None else "",
    }


LABELS = {
    "parent": "Department above it",
    "cohort": "Cohort",
    "weight": "Weight of its fair share",
    "cap_gpus": "Cap (GPUs, all models)",
    "guarantee_gpus": "Guarantee (GPUs, all models)",
    "min_runtime_s": "Borrowed: left alone for (s)",
    "namespaces": "Namespaces of the team",
}


def _field(name: str, said: Mapping[str, Any], wrong: Mapping[str, str], fixed: Collection[str] = ()) -> dict[str, Any]:
    """``fixed``: shown, and for operators to set."""
    label = LABELS.get(name) or name.replace("quotas.", "").replace("budgets.", "").replace(".", " ").replace("_", " ")
    value = said.get(name)
    ident = "f-" + "".join(letter if letter.isalnum() else "-" for letter in name)
    shown = "" if value is None else ", ".join(value) if isinstance(value, list) else value
    known = {"id": ident, "fixed": name in fixed, "is_name": name in ("parent", "cohort", "namespaces")}
    return {"name": name, "label": label, "value": shown, "error": wrong.get(name, ""), **known}


@require_safe
@permission_required(SET, raise_exception=True)
def add_tenant(request: HttpRequest) -> HttpResponse:
    """To the form of a name that the book does not have yet."""
    name = request.GET.get("name", "").strip()
    fault = name_fault(name)
    if fault or not edit_address(name):
        messages.error(request, f"A tenant's name {fault or 'must begin with a letter, a digit, - or _'}.")
        return redirect("tenancy:book")
    return redirect(edit_address(name))


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(OWN, raise_exception=True)
def book_page(request: HttpRequest) -> HttpResponse:
    """The whole book, its editions, and editing many entries at once."""
    outcome, form, status = Outcome(), BookForm(), 200
    if request.method == "POST":
        form = BookForm(request.POST, request.FILES)
        outcome = _from_file(request, form)
        if outcome.edition is not None:
            messages.success(request, f"Kept as version {outcome.edition.number}. It counts from now on.")
            return redirect("tenancy:book")
        status = outcome.status
    page = selectors.seen_by(request.user)
    editions = Paginator(selectors.editions(request.user), LISTED).get_page(request.GET.get("page"))
    context = {
        "section": "tenants",
        "book": page,
        "entries": _counted(page),
        "cohorts": [(name, document) for (kind, name), document in sorted(page.docs.items()) if kind == "cohort"],
        "classes": [(name, document) for (kind, name), document in sorted(page.docs.items()) if kind == "class"],
        "prices": [(name, document) for (kind, name), document in sorted(page.docs.items()) if kind == "price"],
        "form": form,
        "text": form.cleaned_data.get("text", "") if form.is_bound and hasattr(form, "cleaned_data") else "",
        "outcome": outcome,
        "page": editions,
        "editions": [selectors.edition_row(request.user, row) for row in editions.object_list],
        "may_set": request.user.has_perm(SET),
    }
    return render(request, "tenancy/book.html", context, status=status)


def _counted(page: selectors.Page) -> dict[str, int]:
    found: dict[str, int] = {}
    for kind, _ in page.docs:
        found[kind] = found.get(kind, 0) + 1
    return found


def _from_file(request: HttpRequest, form: BookForm) -> Outcome:
    services.require(request.user, SET)
    if not form.is_valid():
        reasons = [Wrong("", name.removeprefix("__all__"), str(one[0])) for name, one in form.errors.items()]
        return Outcome(400, tuple(reasons))
    said = form.cleaned_data
    try:
        given = given_of_text(said["text"])
    except services.BookError as wrong:
        return Outcome(400, wrong.wrongs)
    keep = request.POST.get("do") == "set"
    more = {"whole": said["whole"], "reason": said["reason"], "kind": EditionKind.FILE}
    return _try(request.user, given, said["version"], keep=keep, **more)


@require_safe
@permission_required(OWN, raise_exception=True)
def book_csv(request: HttpRequest) -> HttpResponseBase:
    """The CSV twin of what the viewer may see of the book."""
    return csv_response("quotas", HEAD, table_of(selectors.seen_by(request.user).docs))


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(OWN, raise_exception=True)
def edition_page(request: HttpRequest, number: int) -> HttpResponse:
    """What one edition changed, and what going back to its state would change now."""
    if request.method == "POST":
        services.require(request.user, SET)
    edition = selectors.edition_of(request.user, number)
    if edition is None:
        raise Http404("There is no such version.")
    now = selectors.book_now().version
    outcome, status = Outcome(), 200
    if request.method == "POST":
        form = ReasonForm(request.POST)
        said: dict[str, Any] = form.cleaned_data if form.is_valid() else {"reason": "", "version": None}
        outcome = _back(request.user, number, said["version"], said["reason"], keep=True)
        if outcome.edition is not None:
            messages.success(request, f"The book is again as it was at version {number}.")
            return redirect("tenancy:book")
        status = outcome.status
    elif request.user.has_perm(SET) and number < now:
        outcome = _back(request.user, number, now, "", keep=False)
    context = {
        "section": "tenants", "edition": edition, "now": now, "outcome": outcome,
        "may_set": request.user.has_perm(SET) and number < now,
    }  # fmt: skip
    return render(request, "tenancy/edition.html", context, status=status)


def _back(user: Any, number: int, version: int | None, reason: str, *, keep: bool) -> Outcome:
    services.require(user, SET)
    more = {"reason": reason, "kind": EditionKind.BACK, "back_to": number}
    return _try(user, services.given_back(number), version, keep=keep, **more)
