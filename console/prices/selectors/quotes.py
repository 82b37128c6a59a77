"""What a GPU-hour of spot capacity costs: now, at an instant, hour by hour; and what comes next."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Max, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from console.inventory.selectors.measured import newest_measurements
from console.prices.choices import State
from console.prices.models import Line, Price
from console.prices.selectors.terms import Bounds, bounds_of

NEVER = "No price was ever set for {}."
type Step = tuple[datetime, int | None]


@dataclass(frozen=True, slots=True)
class Coming:
    """A price that is approved and told, and not in force yet."""

    proposal: int
    cents: int | None
    at: datetime
    held: str


@dataclass(frozen=True, slots=True)
class Quote:
    """``cents`` None: no quote, and ``why`` says the reason; else ``why`` is what moved the price last."""

    gpu_model: str
    cents: int | None
    why: str
    on_demand_cents: int | None
    floor_cents: int | None
    since: datetime | None
    was_cents: int | None
    next_review_at: datetime | None
    change_percent: int
    review_hours: int
    simulated: bool
    terms: list[dict[str, Any]] = field(default_factory=list)
    coming: Coming | None = None

    @property
    def off_percent(self) -> float | None:
        """How far below the on-demand price."""
        if self.cents is None or not self.on_demand_cents:
            return None
        return 100 * (1 - self.cents / self.on_demand_cents)

    @property
    def moved_percent(self) -> float | None:
        """Of its last change."""
        if self.cents is None or not self.was_cents:
            return None
        return 100 * (self.cents / self.was_cents - 1)


def models_known() -> list[str]:
    """GPU models that the fleet has, and those that were ever priced."""
    fleet = {pool["gpu_model"] for one in newest_measurements() for pool in one.pools if pool["gpu_model"]}
    return sorted(fleet | set(Price.objects.order_by().values_list("gpu_model", flat=True).distinct()))


def prices_in_force(models: Collection[str], at: datetime | None = None) -> dict[str, Price]:
    """The row that counts at an instant, by model; one query."""
    instant = at or timezone.now()
    rows = Price.objects.filter(gpu_model__in=sorted(models), since__lte=instant)
    newest = rows.annotate(place=Window(RowNumber(), partition_by=[F("gpu_model")], order_by=F("since").desc()))
    return {row.gpu_model: row for row in newest.filter(place=1)}


def quote_of(gpu_model: str, at: datetime | None = None) -> Quote:
    return quotes([gpu_model], at)[gpu_model]


def quotes(models: Iterable[str] | None = None, at: datetime | None = None) -> dict[str, Quote]:
    """Of these models, or of all that are known; a fixed number of queries."""
    wanted = models_known() if models is None else sorted(set(models))
    instant = at or timezone.now()
    rows, bounds = prices_in_force(wanted, instant), bounds_of(wanted)
    coming, reviews = _coming(wanted, instant), next_reviews(bounds)
    return {model: _quote(bounds[model], rows.get(model), coming.get(model), reviews[model]) for model in wanted}


def _quote(bounds: Bounds, row: Price | None, coming: Coming | None, review: datetime | None) -> Quote:
    why = bounds.missing or NEVER.format(bounds.gpu_model) if row is None else row.why
    return Quote(
        gpu_model=bounds.gpu_model,
        cents=None if row is None else row.cents,
        why=why,
        on_demand_cents=bounds.on_demand_cents,
        floor_cents=bounds.floor_cents,
        since=None if row is None else row.since,
        was_cents=None if row is None else row.was_cents,
        next_review_at=review,
        change_percent=bounds.change_percent,
        review_hours=bounds.review_hours,
        simulated=row is not None and row.simulated,
        terms=[] if row is None else row.terms,
        coming=coming,
    )


def _coming(models: Sequence[str], at: datetime) -> dict[str, Coming]:
    rows = Line.objects.filter(proposal__state=State.APPROVED, gpu_model__in=models).select_related("proposal")
    return {
        row.gpu_model: Coming(row.proposal_id, row.cents, row.proposal.takes_at, row.proposal.held)
        for row in rows
        if row.changes and row.proposal.takes_at is not None
    }


def next_reviews(bounds: Mapping[str, Bounds]) -> dict[str, datetime | None]:
    """When the clock asks for new prices; None where it never did, so that it will at its next look."""
    rows = Line.objects.filter(proposal__automatic=True, gpu_model__in=sorted(bounds)).order_by()
    last = dict(rows.values_list("gpu_model").annotate(Max("proposal__opened_at")))
    return {
        model: last[model] + timedelta(hours=one.review_hours) if model in last else None
        for model, one in bounds.items()
    }


# --- hour by hour -----------------------------------------------------------------------------------------------------
def steps_between(start: datetime, end: datetime, models: Collection[str] | None = None) -> dict[str, list[Step]]:
    """Model -> (from when, cents) in order, the first of them what was in force at ``start``.  Two queries.

    Models that had no price until ``end`` are not in it; of others that had none at ``start`` the first step is later.
    """
    rows = Price.objects.filter(Q(since__lt=end) | Q(since__lte=start)).order_by()
    if models is not None:
        rows = rows.filter(gpu_model__in=sorted(models))
    first = dict(rows.filter(since__lte=start).values_list("gpu_model").annotate(Max("since")))
    found: dict[str, list[Step]] = {}
    inside = rows.filter(since__gte=min(first.values(), default=start)).order_by("gpu_model", "since")
    for model, since, cents in inside.values_list("gpu_model", "since", "cents"):
        if since > start or since == first.get(model):
            found.setdefault(model, []).append((since, cents))
    return found


def cents_by_hour(gpu_model: str, start: datetime, end: datetime) -> list[Step]:
    return steps_between(start, end, [gpu_model]).get(gpu_model, [])


def changes(gpu_model: str = "") -> QuerySet[Price]:
    """Every price that there was, newest first."""
    rows = Price.objects.select_related("proposal")
    return rows.filter(gpu_model=gpu_model) if gpu_model else rows
