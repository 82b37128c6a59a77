"""The demo's prices: a simulated past of ninety days, and one proposal that waits for another person's yes."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.inventory.selectors.measured import newest_measurements
from console.prices import selectors
from console.prices.choices import State
from console.prices.models import Line, Price, Proposal
from console.prices.services.computing import keep_document
from console.prices.services.past import Market, Past, preview_of, prices_of, terms_of
from console.prices.services.transition import tell
from console.prices.spans import HOUR, full_hour
from console.tenancy.services import person

DAYS, SEED = 95, 7
WHY = "The demo's first proposal: the simulated past goes on by one day."
ASSUMED = "Simulated: no lease ran here yet, so the replayed week is drawn from a seed, as the past of the prices is."


@transaction.atomic
def ensure_prices(user: Any, now: datetime | None = None) -> Proposal | None:
    """Once; None where there are prices, or no GPU model has an on-demand price."""
    if Price.objects.exists() or Proposal.objects.exists():
        return None
    at = now or timezone.now()
    start = full_hour(at) - timedelta(days=DAYS)
    markets = list(_markets())
    pasts = {market.gpu_model: list(prices_of(market, start, DAYS + 1)) for market in markets}
    kept = {name: [one for one in past if one.at < at] for name, past in pasts.items()}
    bounds = selectors.bounds_of(kept)
    Price.objects.bulk_create(_price(name, one, bounds[name]) for name, past in kept.items() for one in past)
    ahead = {name: past[-1] for name, past in pasts.items() if past and past[-1].at > at and kept[name]}
    if not ahead:
        return None
    by_model = {market.gpu_model: market for market in markets}
    weeks = [
        (by_model[name], past.was_cents, past.found.cents or 1, bounds[name].floor_cents or 1)
        for name, past in ahead.items()
    ]
    found = preview_of(weeks, full_hour(at))
    return _propose(user, at, ahead, bounds, {**found, "assumptions": [ASSUMED, *found["assumptions"]]})


def _markets() -> Any:
    """Every model of the fleet that has an on-demand price."""
    gpus: dict[str, int] = {}
    for one in newest_measurements():
        for pool in one.pools:
            gpus[pool["gpu_model"] or ""] = gpus.get(pool["gpu_model"] or "", 0) + int(pool["gpus"])
    bounds = selectors.bounds_of(model for model in gpus if model)
    for model, said in bounds.items():
        if said.on_demand_cents is not None and gpus[model]:
            yield Market(model, gpus[model], said.on_demand_cents, said.floor_percent, said.change_percent, SEED)


def _price(model: str, past: Past, bounds: selectors.Bounds) -> Price:
    return Price(
        gpu_model=model, since=past.at, cents=past.found.cents, was_cents=past.was_cents,
        on_demand_cents=bounds.on_demand_cents, floor_cents=bounds.floor_cents, why=past.found.said,
        terms=terms_of(past.found.terms), simulated=True,
    )  # fmt: skip


def _propose(
    user: Any, now: datetime, ahead: dict[str, Past], bounds: dict[str, selectors.Bounds], preview: dict[str, Any]
) -> Proposal:
    """As if the clock had asked for it, a worker had found it, and ``user`` had sent it."""
    prices = selectors.prices_in_force(ahead, now)
    latest = max(prices[name].since + bounds[name].review_hours * HOUR for name in ahead)
    hour = max(selectors.usual_hour((bounds[name] for name in ahead), now), latest)
    row = Proposal.objects.create(
        state=State.PROPOSED, title=f"Prices of {', '.join(sorted(ahead))}"[:200], automatic=True, simulated=True,
        proposer=person(user), seed=SEED, opened_at=now, sent_at=now, computed_at=now, proposed_at=now,
        effective_at=hour, takes_at=hour, said=WHY, expires_at=selectors.answer_by(bounds.values(), hour, now),
        preview=preview,
    )  # fmt: skip
    Line.objects.bulk_create(
        Line(
            proposal=row, gpu_model=name, base=prices[name], was_cents=prices[name].cents,
            computed_cents=past.found.cents, cents=past.found.cents, on_demand_cents=bounds[name].on_demand_cents,
            floor_cents=bounds[name].floor_cents, change_percent=bounds[name].change_percent, why=past.found.said,
            terms=terms_of(past.found.terms),
        )
        for name, past in ahead.items()
    )  # fmt: skip
    keep_document(row)
    tell(row, "proposal.proposed", actor=user, reason=WHY, detail={"simulated": True})
    return row
