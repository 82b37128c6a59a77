"""What a tenant's page of spot capacity shows beside its leases."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils import timezone

from console.spot import lifecycle
from console.spot.choices import SeatState
from console.spot.models import Seat
from console.spot.selectors.bills import MonthBill, this_month
from console.spot.selectors.reclaims import Summary, summary
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
    at: datetime


def board(viewer: Any, now: datetime | None = None) -> Board:
    at = now or timezone.now()
    return Board(held(viewer), this_month(viewer, at), summary(viewer, now=at), at)


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
