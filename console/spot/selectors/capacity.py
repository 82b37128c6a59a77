"""What a tenant's page of spot capacity shows beside its leases."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils import timezone

from console.prices.selectors import Quote, models_known, prices_in_force, quotes
from console.spot import lifecycle
from console.spot.choices import SeatState
from console.spot.models import Run, Seat
from console.spot.selectors.bills import MonthBill, this_month
from console.spot.selectors.reclaims import Summary, summary
from console.spot.selectors.rows import others_sum
from console.spot.selectors.viewing import leases


@dataclass(frozen=True, slots=True)
class Held:
    """GPUs of a viewer's leases now."""

    by_model: tuple[tuple[str, int], ...]
    lent_gpus: int  # borrowed from sleepers
    waiting: int  # asks
    waiting_gpus: int
    waiting_since: datetime | None
    running: int  # leases

    @property
    def gpus(self) -> int:
        return sum(gpus for _, gpus in self.by_model)


@dataclass(frozen=True, slots=True)
class Board:
    held: Held
    bill: MonthBill
    month: Summary
    others: dict[str, int] | None
    at: datetime


def board(viewer: Any, now: datetime | None = None) -> Board:
    at = now or timezone.now()
    return Board(held(viewer), this_month(viewer, at), summary(viewer, now=at), others_sum(viewer), at)


def held(viewer: Any) -> Held:
    mine = leases(viewer)
    seats = Seat.objects.filter(run__lease__in=mine, state__in=(SeatState.UP, SeatState.LEAVING))
    by_model: Counter[str] = Counter()
    lent = 0
    rows = seats.order_by().values_list("run__gpu_model", "run__lease__gpus_per_pod", "lent_by").annotate(Count("pk"))
    for model, each, lender, pods in rows:
        by_model[model] += each * pods
        lent += each * pods if lender else 0
    waiting = list(mine.filter(state__in=lifecycle.IN_LINE).values_list("gpus_per_pod", "pods", "since"))
    return Held(
        by_model=tuple(by_model.most_common()), lent_gpus=lent, waiting=len(waiting),
        waiting_gpus=sum(each * pods for each, pods, _ in waiting),
        waiting_since=min((since for _, _, since in waiting), default=None),
        running=mine.filter(state__in=lifecycle.HOLDING).count(),
    )  # fmt: skip


def model_of_interest(viewer: Any, wanted: str = "") -> str:
    """Of which a card shows the price: the one that is asked for, else what runs, else the first that has a quote."""
    if wanted:
        return wanted[:253]
    mine = leases(viewer).order_by("-pk")
    runs = Run.objects.filter(lease__in=mine, ended_at=None).order_by("-pk").values_list("gpu_model", flat=True)
    found = runs.first() or next((models[0] for models in mine.values_list("gpu_models", flat=True)[:1]), "")
    if found:
        return str(found)
    known = models_known()
    priced = prices_in_force(known)
    return next((one for one in known if one in priced and priced[one].cents is not None), "")


def quotes_now() -> list[Quote]:
    """Of every GPU model of the fleet, those with a quote first."""
    return sorted(quotes().values(), key=lambda one: (one.cents is None, one.gpu_model))
