"""What is known of the last week of each GPU model: what could be lent, who had it, who asked, and what waits."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.inventory import archive
from console.inventory.selectors.instants import standing
from console.inventory.selectors.lendable import Lendable, lendable_by_hour
from console.prices.record import Asked as Lease
from console.prices.record import asked_between
from console.prices.services import Asked
from console.prices.spans import HOUR, full_hour
from console.tenancy.selectors.spot_use import SpotUse, spot_use
from scheduler.spot.demand import TenantUse, counted
from scheduler.spot.readings import Readings
from scheduler.spot.sighted import Seen, seen_of
from scheduler.spot.week import HOUR_S, PastAsk, Week

WEEK_H = 168
AHEAD_H = 24  # of the week before stand for the day to come
LEAST_AHEAD_H = 12  # of them known, else nothing is said of it


@dataclass(frozen=True, slots=True)
class Market:
    """``notes``: sentences of what stands for what."""

    readings: Readings
    week: Week
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    start: datetime
    end: datetime
    lendable: dict[str, list[Lendable | None]]
    use: SpotUse
    before: SpotUse  # of the week before
    seen: dict[str, Seen]  # now
    leases: dict[str, list[Lease]]


def markets_of(models: Iterable[Asked], now: datetime) -> dict[str, Market]:
    """One look at the records for all models."""
    end = full_hour(now)
    start = end - WEEK_H * HOUR
    leases: defaultdict[str, list[Lease]] = defaultdict(list)
    for lease in asked_between(start, end):
        leases[lease.gpu_model].append(lease)
    known = _Known(
        start, end, lendable_by_hour(start, end), spot_use(start, end), spot_use(start - WEEK_H * HOUR, start),
        _seen(), dict(leases),
    )  # fmt: skip
    return {asked.gpu_model: _market(asked, known) for asked in models}


def _seen() -> dict[str, Seen]:
    """The newest readings of all sources together; what cannot be read any more is left out."""
    found: dict[str, Seen] = {}
    for source in standing(None):
        if not source.digest:
            continue
        try:
            here = seen_of(archive.load(source.digest))
        except archive.GoneError:
            continue
        for model, one in here.items():
            found[model] = _both(found[model], one) if model in found else one
    return found


def _both(one: Seen, other: Seen) -> Seen:
    return Seen(
        one.standby_milli + other.standby_milli,
        one.idle_milli + other.idle_milli,
        _sum(one.held, other.held),
        _sum(one.waiting, other.waiting),
    )


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}


def _market(asked: Asked, known: _Known) -> Market:
    model = asked.gpu_model
    hours = known.lendable.get(model, [None] * WEEK_H)
    leases = known.leases.get(model, [])
    supply = _mean(hours)
    standby = None if supply is None else round(supply * _asleep(known.seen.get(model), hours))
    wanted = counted(_uses(asked, known, leases), supply or 0)
    before = set(known.before.tenants_of(model))
    measured = any(known.use.covered_s)
    readings = Readings(
        on_demand_cents=asked.on_demand_cents,
        standby_milli=standby,
        idle_milli=None if supply is None or standby is None else supply - standby,
        paid_milli=wanted.paid_milli if measured else None,
        waiting_milli=wanted.waiting_milli if measured else None,
        forecast_milli=_mean(hours[:AHEAD_H], LEAST_AHEAD_H),
        payers_before=len(before),
        payers_again=len(before & set(known.use.tenants_of(model))),
        reclaimed_permille=_reclaimed(leases),
    )
    week, note = _week(model, hours, known, leases)
    return Market(readings, week, (note, *_gaps(hours)))


def _mean(hours: list[Lendable | None], least: int = 1) -> int | None:
    seen = [one.total_milli for one in hours if one is not None]
    return sum(seen) // len(seen) if len(seen) >= least else None


def _asleep(seen: Seen | None, hours: list[Lendable | None]) -> float:
    """Share of what can be lent that sleeps: as now, where a lent sleeper is told apart; else as the week's mean."""
    if seen is not None and seen.standby_milli + seen.idle_milli:
        return seen.standby_milli / (seen.standby_milli + seen.idle_milli)
    there = [one for one in hours if one is not None]
    total = sum(one.total_milli for one in there)
    return sum(one.standby_milli for one in there) / total if total else 0.0


def _uses(asked: Asked, known: _Known, leases: list[Lease]) -> list[TenantUse]:
    """What each tenant had on the mean; and waits for: leases by the time they waited, other LP pods as they do now.

    A lease whose limit is below the price waits for nothing at this price.
    """
    model, period_s = asked.gpu_model, WEEK_H * HOUR_S
    waits: defaultdict[str, int] = defaultdict(int)
    for lease in leases:
        if lease.limit_cents is None or asked.cents_now is None or lease.limit_cents >= asked.cents_now:
            waits[lease.tenant] += lease.gpu_milli * lease.waited_s // period_s
    seen = known.seen.get(model)
    for tenant, milli in (seen.waiting if seen else {}).items():
        waits[tenant] += milli
    tenants = {*waits, *known.use.tenants_of(model)}
    return [TenantUse(name, known.use.mean_milli(name, model) or 0, waits[name]) for name in sorted(tenants)]


def _reclaimed(leases: list[Lease]) -> int | None:
    """GPU-hours in which others reclaimed, in thousandths of those that ran; None where none ran."""
    ran = sum(lease.gpu_milli * lease.ran_s for lease in leases)
    ended = sum(lease.gpu_milli * lease.reclaims * HOUR_S for lease in leases)
    return min(1000, ended * 1000 // ran) if ran else None


def _week(model: str, hours: list[Lendable | None], known: _Known, leases: list[Lease]) -> tuple[Week, str]:
    """Asks as they were recorded; where there are none, LP use by the hour stands for them."""
    asks = tuple(_past(lease) for lease in leases) or tuple(_blocks(model, known))
    note = (
        f"{model}: asks of leases, as they were recorded."
        if leases
        else f"{model}: no lease was recorded; use of LP pods by the hour stands for asks, and nobody's limit is known."
    )
    from_s = int(known.start.timestamp())
    lendable = tuple(None if one is None else one.total_milli for one in hours)
    held = tuple(None if one is None else one.lp_milli for one in hours)
    return Week(gpu_model=model, from_s=from_s, lendable_milli=lendable, asks=asks, held_milli=held), note


def _past(lease: Lease) -> PastAsk:
    return PastAsk(
        key=lease.key, tenant=lease.tenant, gpu_milli=lease.gpu_milli, asked_s=int(lease.asked_at.timestamp()),
        work_s=max(1, lease.work_s), limit_cents=lease.limit_cents, guaranteed_s=lease.guaranteed_s,
        checkpoint_s=lease.checkpoint_s or None,
    )  # fmt: skip


def _blocks(model: str, known: _Known) -> Iterable[PastAsk]:
    for (tenant, of), used in sorted(known.use.milli_s.items()):
        for hour, milli_s in enumerate(used if of == model else ()):
            milli = round(milli_s / known.use.covered_s[hour]) if known.use.covered_s[hour] else 0
            if milli:
                at_s = int((known.start + timedelta(hours=hour)).timestamp())
                yield PastAsk(key=f"{tenant} {hour:03d}", tenant=tenant, gpu_milli=milli, asked_s=at_s, work_s=HOUR_S)


def _gaps(hours: list[Lendable | None]) -> tuple[str, ...]:
    missing = sum(one is None for one in hours)
    return (f"Of {missing} of {WEEK_H} hours nothing is kept; they are in no mean.",) if missing else ()
