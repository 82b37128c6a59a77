"""What the templates of prices are given."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils import timezone

from console.prices import charts, selectors
from console.prices.choices import BOUNDS, HISTORY_DAYS, State
from console.prices.filters import ProposalFilter
from console.prices.forms import PricesForm, SendForm, TermsForm
from console.ui.filters import Choice, Filter
from console.ui.orders import order_of

LISTED, CHANGES = 20, 15
SECTION = "prices"


def list_page(request: HttpRequest) -> tuple[dict[str, Any], bool]:
    """(context, whether the address could be read)."""
    user, asked = request.user, request.GET
    order, no_order = order_of(asked.get("sort", ""), dict.fromkeys(selectors.ORDERS, ()))
    quotes = selectors.quote_rows(user, asked.get("q", "")[:253], order or "model")
    names = [one.gpu_model for one in quotes]
    model = asked.get("model", "")
    model = model if model in names else next((one.gpu_model for one in quotes if one.cents is not None), "")
    model = model or next(iter(names), "")
    days = int(asked["days"]) if asked.get("days", "") in map(str, HISTORY_DAYS) else 90
    query = asked.copy()
    for name in ("part", "page", "changes"):
        query.pop(name, None)
    context: dict[str, Any] = {
        "section": SECTION,
        "quotes": quotes,
        "model": model,
        "announced": selectors.announced(user),
        "no_order": no_order,
        "query": query.urlencode(),
        "now": timezone.now(),
        "may_propose": user.has_perm(selectors.PROPOSE),
        "may_see_proposals": user.has_perm(selectors.VIEW_PROPOSAL),
        "filters": [Filter("q", "GPU model", asked.get("q", ""), always=True)],
        **card_of(request, model, days),
    }
    if not context["may_see_proposals"]:
        return context, True
    found = ProposalFilter(asked, queryset=selectors.proposals(user))
    context["filter"] = found
    context["proposals"] = Paginator(found.qs, LISTED).get_page(asked.get("page"))
    states = [Choice(state.value, str(state.label)) for state in State]
    context["filters"].append(Filter("state", "Proposals", asked.get("state", ""), "All", states, always=True))
    return context, found.is_valid()


def card_of(request: HttpRequest, model: str, days: int) -> dict[str, Any]:
    """The history of one model: chart, its table, and the choice of days."""
    if not model:
        return {"card": None}
    card = selectors.price_card(request.user, model, days)
    kept = {name: request.GET[name] for name in ("q", "sort", "state") if request.GET.get(name)}
    return {
        "card": card,
        "figure": charts.figure_of(card),
        "changes": Paginator(card.newest_first, CHANGES).get_page(request.GET.get("changes")),
        "spans": [
            {"label": f"{one} d", "href": f"?{urlencode({**kept, 'model': model, 'days': one})}", "on": one == days}
            for one in HISTORY_DAYS
        ],
    }


def proposal_page(request: HttpRequest, proposal_id: int, form: PricesForm | None = None) -> dict[str, Any]:
    user, now = request.user, timezone.now()
    row = selectors.proposal_of(user, proposal_id)
    lines = list(row.lines.all())
    draft, waits = row.state == State.DRAFT, row.state == State.PROPOSED
    hour = row.effective_at
    if hour is None:
        hour = selectors.usual_hour(selectors.bounds_of(line.gpu_model for line in lines).values(), now)
    spans = selectors.spans_of([line.gpu_model for line in lines], hour)
    checks = selectors.checks(user, row, now) if waits else []
    may_approve = user.has_perm(selectors.APPROVE)
    mine = user.pk in selectors.hands(row)
    fields = form or PricesForm(initial=_initial(lines), lines=lines)
    return {
        "section": SECTION,
        "row": row,
        "lines": [
            {
                "line": line,
                "span": spans[line.gpu_model],
                "field": fields[f"price_{at}"],
                "percent": _percent(line.was_cents, line.cents),
            }
            for at, line in enumerate(lines)
        ],
        "changed": sum(line.changes for line in lines),
        "preview": preview_rows(row.preview),
        "checks": checks,
        "failing": [one.why for one in checks if not one.holds],
        "may_edit": draft and user.has_perm(selectors.PROPOSE),
        "may_approve": waits and may_approve and all(one.holds for one in checks),
        "may_reject": waits and may_approve and user.pk != row.proposer_id,
        "may_withdraw": row.state in (State.COMPUTING, State.DRAFT, State.PROPOSED, State.APPROVED)
        and user.has_perm(selectors.PROPOSE)
        and (row.state != State.APPROVED or may_approve or row.proposer_id == user.pk),
        "mine": mine,
        "send": SendForm(initial={"effective_at": hour, "version": row.version}),
        "seconds_left": (row.expires_at - now).total_seconds() if waits and row.expires_at else None,
        "page_version": f"{row.version}-{row.state}-{row.held[:1]}-{sum(one.holds for one in checks)}",
        "now": now,
    }


def _initial(lines: list[Any]) -> dict[str, Any]:
    return {f"price_{at}": f"{line.cents / 100:.2f}" for at, line in enumerate(lines) if line.cents is not None}


def _percent(was: int | None, now: int | None) -> float | None:
    return None if not was or now is None else 100 * (now / was - 1)


def preview_rows(preview: dict[str, Any] | None) -> dict[str, Any] | None:
    """Models in order, and all of them together last."""
    if preview is None:
        return None
    rows = [
        {"name": one["gpu_model"], "now": one["now"], "then": one["then"], "beside": _beside(one)}
        for one in preview.get("models", [])
    ]
    whole = preview.get("whole")
    if whole is not None and len(rows) > 1:
        rows.append({"name": "", "now": whole["now"], "then": whole["then"]})
    out = sorted({name for one in preview.get("models", []) for name in one["then"].get("tenants_out") or []})
    return {**preview, "rows": rows, "begins": preview.get("from"), "ends": preview.get("to"), "out": out}


def _beside(one: dict[str, Any]) -> list[dict[str, Any]]:
    """The price of now, the proposed one and others, the lowest first; empty where only two were replayed."""
    if not one.get("others"):
        return []
    marked = [{**one["now"], "mark": "now"}, *one["others"]]
    if one["then"]["cents"] != one["now"]["cents"]:
        marked.append({**one["then"], "mark": "proposed"})
    return sorted(marked, key=lambda figures: figures["cents"])


def terms_page(request: HttpRequest, form: TermsForm | None = None) -> dict[str, Any]:
    user = request.user
    known = selectors.models_known()
    model = (form.data.get("gpu_model", "") if form else request.GET.get("model", "")).strip()
    model = model if model in known else ""
    said = selectors.terms_at(user, model)
    initial = {name: getattr(said, name) for name in BOUNDS} if said is not None else {}
    version = 0 if said is None else said.version
    fields = form or TermsForm(initial={"gpu_model": model, "version": version, **initial})
    return {
        "section": SECTION,
        "model": model,
        "models": known,
        "bounds": selectors.bounds_of(known).values(),
        "shared": selectors.shared_bounds(),
        "said": said,
        "form": fields,
        "bound_fields": [fields[name] for name, one in BOUNDS.items() if model or not one.of_model],
        "may_set": user.has_perm("prices.set_terms"),
        "page": Paginator(selectors.terms_history(user), LISTED).get_page(request.GET.get("page")),
        "names": list(BOUNDS.values()),
    }
