"""Tenants as a tree, one tenant, and what is charged to whom."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from console.rest.csv import csv_response, refused
from console.tenancy import charts, selectors
from console.tenancy.periods import CHOICES, BadPeriodError, Period, asked_period, period_of
from console.ui.figures import plural
from console.ui.filters import Filter, one_of

OWN = "tenancy.view_own"
LISTED, LISTED_BY_MODEL = 120, 30
EDITIONS = 10
SPANS = {"24h": ("rolling-1", "24 h"), "7d": ("rolling-7", "7 d"), "30d": ("rolling-30", "30 d")}
SHOW_WORDS = {"all": "All", "over": "Over", "borrowing": "Borrowing", "pending": "Waiting"}
LINE_HEAD = (
    *("tenant", "cluster", "gpu_model", "tier", "gpu_hours", "usd_per_gpu_hour", "usd", "price_from", "from", "to"),
    *("department", "team_counted_since"),
)


@require_safe
@permission_required(OWN, raise_exception=True)
@vary_on_headers("HX-Request")
def tenant_list(request: HttpRequest) -> HttpResponse:
    """Guaranteed, borrowed and lent of every tenant on one scale; htmx asks for the board alone."""
    filters = selectors.TenantFilters.of(request.GET)
    tree = selectors.tenant_tree(request.user, filters)
    query = {name: value for name, value in _said(filters).items() if value}
    page = Paginator(tree.rows, LISTED_BY_MODEL if filters.by == "model" else LISTED).get_page(request.GET.get("page"))
    burns = selectors.burns(request.user)
    context = {
        "section": "tenants",
        "tree": tree,
        "page": page,
        "rows": charts.drawn(list(page.object_list), filters.by == "model", charts.scale_of(tree.rows)),
        "scale": charts.scale_of(tree.rows),
        "legend": charts.LEGEND,
        "query": urlencode(query),
        "stopped": {burn.tenant: burn for burn in burns if burn.state == "stopped"},
        "warned": {burn.tenant: burn for burn in burns if burn.state == "warning"},
        "budget_note": f"of {plural(len(burns), 'limit')}; {sum(burn.state == 'warning' for burn in burns)} warn",
        "by_model": filters.by == "model",
        "bys": _choices(query, "by", {"sum": "All models", "model": "By model"}, filters.by),
        "over_unit": "tenant" if tree.over == 1 else "tenants",
        "filters_on": bool(filters.text or filters.model or filters.cohort or filters.show != "all"),
    }
    if request.headers.get("HX-Request"):
        return render(request, "tenancy/tenants.html#board", context)
    return render(request, "tenancy/tenants.html", {**context, **_bar(request, filters, tree, query)})


def _said(filters: selectors.TenantFilters) -> dict[str, str]:
    said = {"text": filters.text, "model": filters.model, "cohort": filters.cohort}
    return said | {
        "show": filters.show if filters.show != "all" else "",
        "by": filters.by if filters.by != "sum" else "",
    }


def _bar(
    request: HttpRequest, filters: selectors.TenantFilters, tree: selectors.Tree, query: dict[str, str]
) -> dict[str, Any]:
    kept = {name: value for name, value in query.items() if name in ("show", "by")}
    return {
        "filters": [
            Filter("text", "Name holds", filters.text, kind="search"),
            one_of("model", "GPU model", filters.model, tree.models, always=True),
            *([one_of("cohort", "Cohort", filters.cohort, tree.cohorts)] if tree.cohorts else []),
        ],
        "kept": kept.items(),
        "clear": f"?{urlencode(kept)}" if filters.text or filters.model or filters.cohort else "",
        "shows": _choices(query, "show", SHOW_WORDS, filters.show),
        "may_edit": request.user.has_perm("tenancy.set_quotas") or request.user.has_perm("tenancy.divide_quotas"),
    }


def _choices(query: dict[str, str], name: str, words: dict[str, str], chosen: str) -> list[dict[str, Any]]:
    rest = {key: value for key, value in query.items() if key != name}
    return [
        {"label": label, "href": f"?{urlencode({**rest, name: word})}", "on": word == chosen}
        for word, label in words.items()
    ]


@require_safe
@permission_required(OWN, raise_exception=True)
def tenant_page(request: HttpRequest, name: str) -> HttpResponse:
    """One tenant: quotas by model, use over time, budgets, what it is charged, its teams, people and versions."""
    found = selectors.tenant_of(request.user, name)
    if found is None:
        raise Http404("There is no such tenant among those that you may see.")
    period, bad = _period(request)
    key = ("tenant", name)
    editions = list(selectors.editions(request.user, key)[:EDITIONS])
    context = {
        "section": "tenants",
        "one": found,
        "row": found.row,
        "models": _models(found),
        "teams": charts.drawn(found.teams, by_model=False, whole=charts.scale_of([found.row, *found.teams])),
        "shares": charts.shares(found.row.whole, found.teams) if found.teams else [],
        "legend": charts.LEGEND,
        "lines": charts.LINES,
        "burns": charts.burn_bars(found.budgets),
        "theirs": selectors.theirs_of(request.user, name),
        "people": selectors.members_of(request.user, name),
        "editions": [selectors.edition_row(request.user, row, key) for row in editions],
        "may_edit": selectors.may_edit(request.user, name),
        "bill": selectors.bill(request.user, period, name),
        "bad_period": bad,
        "periods": _periods(request, period),
        "export": _export(request, name),
        **_history(request, found),
    }
    return render(request, "tenancy/tenant.html", context)


def _models(found: selectors.OneTenant) -> list[charts.Drawn]:
    """Each model on the scale of the largest of them."""
    whole = max((max(one.nominal or 0, one.hp + one.lp) for _, one in found.row.models), default=0) or 1000
    return [
        charts.Drawn(found.row, model, one, charts.bar(one, whole, None), first=True) for model, one in found.row.models
    ]


def _history(request: HttpRequest, found: selectors.OneTenant) -> dict[str, Any]:
    """The chart of the span and model that the address names; what is none becomes the first."""
    span = request.GET.get("span", "24h")
    span = span if span in SPANS else "24h"
    names = [model for model, _ in found.row.models if model]
    model = request.GET.get("model", "")
    model = model if model in names else ""
    period = period_of(SPANS[span][0], selectors.counting_now())
    stretches = selectors.history_of(request.user, found.row.name, period, model, days=span == "30d")
    nominal = dict(found.row.models)[model].nominal if model else found.row.whole.nominal
    query = {**_query_of(request), "span": span, "model": model}
    return {
        "spans": _choices(query, "span", {word: label for word, (_, label) in SPANS.items()}, span),
        "model": model,
        "model_choices": _choices(query, "model", {"": "All models", **{one: one for one in names}}, model),
        "series": charts.series(stretches, period, nominal, span == "30d"),
        "series_words": charts.series_words(stretches),
        "stretches": stretches,
        "whole_from": None if found.since is None else selectors.first_whole(found.since, days=span == "30d"),
    }


@require_safe
@permission_required(OWN, raise_exception=True)
def chargeback(request: HttpRequest) -> HttpResponse:
    """GPU-hours and money by tenant over a period."""
    period, bad = _period(request)
    bill = selectors.bill(request.user, period, request.GET.get("tenant", ""))
    context = {
        "section": "tenants",
        "bill": bill,
        "bad_period": bad,
        "periods": _periods(request, period),
        "export": _export(request, request.GET.get("tenant", "")),
        "tenant": request.GET.get("tenant", ""),
    }
    return render(request, "tenancy/chargeback.html", context, status=400 if bad else 200)


@require_safe
@permission_required(OWN, raise_exception=True)
def chargeback_csv(request: HttpRequest) -> HttpResponseBase:
    """Every line; the sums are those of the lines."""
    period, bad = _period(request)
    if bad:
        return refused(bad)
    bill = selectors.bill(request.user, period, request.GET.get("tenant", ""))
    lines = (
        (
            line.tenant, line.cluster, line.gpu_model, line.tier, f"{line.milli_hours / 1000:.3f}",
            _dollars(line.cents_per_gpu_hour), _dollars(line.cents), line.price_from, period.start.date(), period.last,
            line.department, f"{since:%Y-%m-%dT%H:%M:%SZ}" if (since := bill.teams_since.get(line.tenant)) else None,
        )
        for line in bill.lines
    )  # fmt: skip
    return csv_response("chargeback", LINE_HEAD, lines)


def _dollars(cents: int | None) -> str | None:
    return None if cents is None else f"{cents / 100:.2f}"


def _query_of(request: HttpRequest) -> dict[str, str]:
    names = ("period", "from", "to", "tenant", "span", "model")
    return {name: value for name in names if (value := request.GET.get(name, "")[:300])}


def _export(request: HttpRequest, tenant: str) -> str:
    """What a file or the API is asked for: the period, and whose."""
    query = {name: value for name, value in _query_of(request).items() if name in ("period", "from", "to")}
    return urlencode(query | ({"tenant": tenant} if tenant else {}))


def _period(request: HttpRequest) -> tuple[Period, str]:
    """The period of the address, and what is wrong with it; then it is this month."""
    now = selectors.counting_now()
    try:
        said = request.GET
        return asked_period(said.get("period", ""), said.get("from", ""), said.get("to", ""), now), ""
    except BadPeriodError as wrong:
        return period_of("month", now), f"{wrong.field}: {wrong.reason}"


def _periods(request: HttpRequest, period: Period) -> list[dict[str, Any]]:
    query = {name: value for name, value in _query_of(request).items() if name not in ("from", "to")}
    words = {name: period_of(name, selectors.counting_now()).words for name in CHOICES}
    return _choices(query, "period", {name: text[:1].upper() + text[1:] for name, text in words.items()}, period.name)
