"""The prices of one model over the last days, as a card draws them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.prices.models import Price
from console.prices.selectors.quotes import Quote, quote_of
from console.prices.selectors.terms import VIEW
from console.tenancy.services import require

DAYS = 90


@dataclass(frozen=True, slots=True)
class Card:
    """``changes``: in time order, the first of them what was in force when the days began."""

    quote: Quote
    days: int
    start: datetime
    end: datetime
    changes: list[Price]

    @property
    def newest_first(self) -> list[Price]:
        return self.changes[::-1]

    @property
    def simulated(self) -> bool:
        return any(one.simulated for one in self.changes)


def price_card(viewer: Any, gpu_model: str, days: int = DAYS, now: datetime | None = None) -> Card:
    require(viewer, VIEW)
    end = now or timezone.now()
    start = end - timedelta(days=days)
    rows = Price.objects.filter(gpu_model=gpu_model)
    before = rows.filter(since__lte=start).order_by("-since").first()
    inside = list(rows.filter(since__gt=start, since__lte=end).order_by("since"))
    return Card(quote_of(gpu_model, end), days, start, end, [*([before] if before else []), *inside])
