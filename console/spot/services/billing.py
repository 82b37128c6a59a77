"""What runs cost, by the rule of the core: each second at its price, and nothing from a notice of others on."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.prices.selectors import quote_of, steps_between
from console.spot.models import Run, Seat
from scheduler.spot.billing import RUNNING, BillingRules, PriceFrom, bill
from scheduler.spot.billing import Run as Stretch

RULES = BillingRules()
EVERY = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Sum:
    """``charge_cents`` is before the credit; both whole cents of one run."""

    gpu_s: int
    charge_cents: int
    credit_cents: int


type Schedule = tuple[PriceFrom, ...]


def schedule_of(run: Run, until: datetime) -> Schedule:
    """Prices from its start on; where a model has no quote any more, what was in force last goes on."""
    begin = run.running_at or run.launched_at
    steps = steps_between(begin, until, [run.gpu_model]).get(run.gpu_model, [])
    found = [PriceFrom(from_s=_s(begin), cents=run.cents)]
    for at, cents in steps:
        if at > begin and cents is not None:
            found.append(PriceFrom(from_s=_s(at), cents=cents))
    return tuple(found)


def sum_of(run: Run, seats: Iterable[Seat], now: datetime, schedule: Schedule | None = None) -> Sum:
    """Of this run up to ``now``, or to its end."""
    if run.running_at is None:
        return Sum(0, 0, 0)
    stretches = [_stretch(run, seat, now) for seat in seats]
    prices = schedule if schedule is not None else schedule_of(run, now + timedelta(seconds=1))
    floor = quote_of(run.gpu_model, run.running_at).floor_cents or 0
    found = bill(stretches, prices, floor, RULES)
    return Sum(found.gpu_milli_seconds // 1000, found.charge_cents, found.credit_cents)


def bill_so_far(run: Run, now: datetime) -> None:
    """What a run has cost up to now, for pages; worked out anew every few seconds, never by who looks."""
    if run.running_at is None or (run.billed_at is not None and now - run.billed_at < EVERY):
        return
    found = sum_of(run, Seat.objects.filter(run=run).select_related("reclaim"), now)
    Run.objects.filter(pk=run.pk, ended_at=None).update(
        billed_at=now, gpu_s=found.gpu_s, charge_cents=found.charge_cents, credit_cents=found.credit_cents
    )


def _stretch(run: Run, seat: Seat, now: datetime) -> Stretch:
    """One pod from when the run serves until it is gone."""
    assert run.running_at is not None
    reclaim, gone = seat.reclaim, seat.gone_at
    began_s, guaranteed = _s(run.running_at), run.guaranteed_until
    ended_s = max(began_s, _s(gone or now))
    cause = ("" if gone is not None else RUNNING) if reclaim is None else str(reclaim.cause)
    noticed_s = None if reclaim is None else min(ended_s, max(began_s, _s(reclaim.noticed_at)))
    return Stretch(
        gpu_milli=1000 * run.lease.gpus_per_pod, started_s=began_s, ended_s=ended_s,
        guaranteed_s=0 if guaranteed is None else max(0, _s(guaranteed) - began_s),
        cause=cause, noticed_s=noticed_s, own=reclaim is not None and reclaim.own,
    )  # fmt: skip


def _s(at: datetime) -> int:
    return int(at.timestamp())
