"""Pages of prices.  A page works without scripts; htmx fetches its parts anew when prices have news."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.prices import selectors, services, tables
from console.prices.forms import DecisionForm, PricesForm, SendForm, TermsForm
from console.prices.pages import list_page, proposal_page, terms_page
from console.rest.csv import csv_response
from console.rest.errors import Conflict, FieldError
from console.ui.forms import first_error

sees = permission_required(selectors.VIEW, raise_exception=True)
sees_proposals = permission_required(selectors.VIEW_PROPOSAL, raise_exception=True)
PARTS = ("quotes", "history", "proposals")
ACTIONS = {"approve": services.approve_proposal, "reject": services.reject_proposal}


@require_safe
@sees
def price_list(request: HttpRequest) -> HttpResponse:
    """Quotes, the history of one model, and proposals for those who may see them; ``part`` is one of these alone."""
    part = request.GET.get("part", "")
    context, ok = list_page(request)
    if part in PARTS and request.headers.get("HX-Request"):
        return render(request, f"prices/list.html#{part}", context)
    return render(request, "prices/list.html", context, status=200 if ok else 400)


@require_safe
@sees
def quotes_csv(request: HttpRequest) -> HttpResponseBase:
    rows = selectors.quote_rows(request.user, request.GET.get("q", "")[:253])
    return csv_response("spot-prices", tables.QUOTE_HEAD, (tables.quote_cells(one) for one in rows))


@require_safe
@sees
def history_csv(request: HttpRequest) -> HttpResponseBase:
    """Every price of one model, or of all, newest first."""
    rows = selectors.history_rows(request.user, request.GET.get("model", "")[:253])
    cells = (tables.change_cells(one) for one in rows.iterator(chunk_size=2000))
    return csv_response("spot-price-history", tables.CHANGE_HEAD, cells)


@require_safe
@sees_proposals
def proposal(request: HttpRequest, proposal_id: int) -> HttpResponse:
    """One proposal: what would change, what the last week would have been, and who may say yes."""
    context = proposal_page(request, proposal_id)
    if request.headers.get("HX-Request") and request.GET.get("version") == context["page_version"]:
        return HttpResponse(status=204)  # nothing new to say: what is being typed stays
    part = "#body" if request.headers.get("HX-Request") else ""
    return render(request, f"prices/proposal.html{part}", context)


@require_safe
@sees_proposals
def document(request: HttpRequest, proposal_id: int) -> HttpResponse:
    """The very bytes whose sha256 is signed."""
    found, digest = selectors.document_bytes(request.user, proposal_id)
    if not found:
        raise Http404("Nothing was worked out yet.")
    response = HttpResponse(found, content_type="application/json")
    response["ETag"] = f'"{digest}"'
    response["Content-Disposition"] = f'attachment; filename="price-proposal-{proposal_id}.json"'
    return response


@require_POST
@sees_proposals
def open_proposal(request: HttpRequest) -> HttpResponse:
    try:
        row = services.open_review(
            request.user, request.POST.getlist("model"), reason=request.POST.get("reason", "")[:2000]
        )
    except FieldError as wrong:
        messages.error(request, wrong.sentence)
        return redirect("prices:list")
    return redirect("prices:proposal", row.pk)


@require_POST
@sees_proposals
def edit(request: HttpRequest, proposal_id: int) -> HttpResponse:
    row = selectors.proposal_of(request.user, proposal_id)
    form = PricesForm(request.POST, lines=row.lines.all())
    if not form.is_valid():
        return _again(request, proposal_id, 400, first_error(form), form)
    said = form.cleaned_data
    return _done(
        request,
        proposal_id,
        lambda: services.edit_prices(
            request.user, proposal_id, form.cents(), reason=said["reason"], version=said["version"]
        ),
        form,
    )


@require_POST
@sees_proposals
def send(request: HttpRequest, proposal_id: int) -> HttpResponse:
    form = SendForm(request.POST)
    if not form.is_valid():
        return _again(request, proposal_id, 400, first_error(form))
    said = form.cleaned_data
    return _done(
        request,
        proposal_id,
        lambda: services.send_for_approval(
            request.user, proposal_id, effective_at=form.hour(), reason=said["reason"], version=said["version"]
        ),
    )


@require_POST
@sees_proposals
def act(request: HttpRequest, proposal_id: int, action: str) -> HttpResponse:
    """A yes, a no, or taking it back; the service decides whether it may happen."""
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _again(request, proposal_id, 400, first_error(form))
    digest, reason = form.cleaned_data["digest"], form.cleaned_data["reason"]
    if action == "withdraw":
        return _done(request, proposal_id, lambda: services.withdraw_proposal(request.user, proposal_id, reason))
    if action not in ACTIONS:
        raise Http404("There is no such action.")
    return _done(request, proposal_id, lambda: ACTIONS[action](request.user, proposal_id, digest, reason))


def _done(request: HttpRequest, proposal_id: int, service: Any, form: Any = None) -> HttpResponse:
    """The page with what is so now; where it was refused, with the reason on top."""
    try:
        service()
    except FieldError as wrong:
        return _again(request, proposal_id, 400, wrong.sentence, form)
    except Conflict as refused:
        return _again(request, proposal_id, 409, refused.reason)
    except services.VersionChangedError as changed:
        return _again(request, proposal_id, 412, changed.reason)
    except (services.VersionMissingError, services.DigestMissingError) as missing:
        return _again(request, proposal_id, 428, missing.reason)
    return redirect("prices:proposal", proposal_id)


def _again(request: HttpRequest, proposal_id: int, status: int, reason: str, form: Any = None) -> HttpResponse:
    context = {**proposal_page(request, proposal_id, form), "refused": reason}
    return render(request, "prices/proposal.html", context, status=status)


@sees_proposals
@require_http_methods(["GET", "HEAD", "POST"])
def terms(request: HttpRequest) -> HttpResponse:
    """What binds prices, of all models and of each; deciding is a plain form on top of the version that was read."""
    if request.method != "POST":
        return render(request, "prices/terms.html", terms_page(request))
    form = TermsForm(request.POST)
    status = 400
    if form.is_valid():
        said = form.cleaned_data
        try:
            row = services.set_terms(
                request.user, said["gpu_model"], form.values(), reason=said["reason"], version=said["version"]
            )
            messages.success(request, f"Decided for {row.gpu_model or 'all models'}: the next review goes by it.")
            return redirect(f"{reverse('prices:terms')}?model={row.gpu_model}")
        except FieldError as wrong:
            form.refuse(wrong.field, wrong.reason)
        except services.VersionMissingError as missing:
            form.refuse("", missing.reason)
            status = 428
        except services.VersionChangedError as changed:
            form.refuse("", changed.reason)
            status = 412
    return render(request, "prices/terms.html", terms_page(request, form), status=status)
