"""A past for a demo: supply and demand of ninety-odd days drawn from a seed, and the prices that the core's rule gives.

Nothing of it happened; every row that comes of it says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import pi, sin
from random import Random
from typing import Any

from console.prices.services.replayed import pair_of, whole_of
from scheduler.spot.preview import preview
from scheduler.spot.pricing import Quote, Standing, quote
from scheduler.spot.readings import PriceRules, Readings
from scheduler.spot.terms import Term
from scheduler.spot.week import PastAsk, Week

MILLI = 1000
WEEK_DAYS, DAY_HOURS = 7, 24
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Market:
    """One GPU model: its GPUs, on-demand price and bounds, and where its luck comes from."""

    gpu_model: str
    gpus: int
    on_demand_cents: int
    floor_percent: int
    change_percent: int
    seed: int


@dataclass(frozen=True, slots=True)
class Past:
    """A price that the rule set at an instant."""

    at: datetime
    was_cents: int | None
    found: Quote


def prices_of(market: Market, start: datetime, days: int) -> Iterator[Past]:
    """The days on which the price changed, in order; the last of them may be the day that ``days`` leads to."""
    rules = PriceRules(floor_percent=market.floor_percent, step_percent=market.change_percent)
    luck = Random(f"{market.gpu_model} {market.seed}")
    standing: Standing | None = None
    levels = [1.0, 1.0]
    phase = luck.uniform(0, 2 * pi)
    for day in range(days + 1):
        at = start + day * DAY
        levels = [0.9 * level + 0.1 + luck.gauss(0, 0.06) for level in levels]
        readings = _readings(market, day, phase, levels)
        found = quote(market.gpu_model, readings, standing, int(at.timestamp()), rules)
        if found.cents is not None and found.changed:
            yield Past(at, None if standing is None else standing.cents, found)
            standing = Standing(found.cents, int(at.timestamp()), readings)


def _readings(market: Market, day: int, phase: float, levels: list[float]) -> Readings:
    """A third of the fleet can be lent; the week and slow waves move it, and jolts of supply or demand last."""
    week = 1 + 0.12 * sin(2 * pi * day / WEEK_DAYS + phase)
    slow = 1 + 0.25 * sin(2 * pi * day / 61 + phase)
    supply, demand = (max(0.2, level) for level in levels)
    lendable = market.gpus * MILLI / 3
    return Readings(
        on_demand_cents=market.on_demand_cents,
        standby_milli=int(0.7 * lendable * supply * week),
        idle_milli=int(0.3 * lendable * supply),
        paid_milli=int(0.7 * lendable * demand * slow),
        waiting_milli=int(0.15 * lendable * demand * slow * slow),
        payers_before=8,
        payers_again=7,
        reclaimed_permille=40,
    )


def terms_of(terms: tuple[Term, ...]) -> list[dict[str, Any]]:
    """As rows keep them, what moved the price most on top."""
    moving = sorted((term for term in terms if term.share), key=lambda term: -abs(term.share or 0))
    return [
        {
            "name": term.name,
            "label": term.label,
            "value": term.value,
            "unit": term.unit,
            "was": term.before,
            "effect_cents": term.cents,
            "words": term.said,
        }
        for term in moving
    ]


def week_of(market: Market, end: datetime) -> Week:
    """The week before an instant, drawn from the same seed: what could be lent by the hour, and who asked."""
    luck = Random(f"week {market.gpu_model} {market.seed}")
    start = end - WEEK_DAYS * DAY
    hours = WEEK_DAYS * DAY_HOURS
    lendable = [
        int(market.gpus / 3 * (1 + 0.35 * sin(2 * pi * (hour - 4) / DAY_HOURS)) * luck.uniform(0.92, 1.08)) * MILLI
        for hour in range(hours)
    ]
    asks, wanted, number = [], 0.9 * sum(lendable) / MILLI, 0
    while wanted > 0:
        gpus, work_h = luck.choice((1, 2, 4, 8, 8, 16)), luck.uniform(1, 12)
        wanted -= gpus * work_h
        asks.append(
            PastAsk(
                key=f"ask {number}",
                tenant=f"dept-{1 + int(12 * luck.random() ** 2):02d}",
                gpu_milli=gpus * MILLI,
                asked_s=int(start.timestamp()) + luck.randrange(hours * 3600),
                work_s=int(work_h * 3600),
                limit_cents=_limit(luck, market),
                checkpoint_s=luck.choice((600, 1800, 3600)),
            )
        )
        number += 1
    return Week(
        gpu_model=market.gpu_model, from_s=int(start.timestamp()), lendable_milli=tuple(lendable), asks=tuple(asks)
    )


def _limit(luck: Random, market: Market) -> int | None:
    """Half of them pay every price, the others between a fifth and all of the on-demand price."""
    return None if luck.random() < 0.5 else int(market.on_demand_cents * luck.uniform(0.2, 1.0))


def preview_of(markets: Sequence[tuple[Market, int | None, int, int]], end: datetime) -> dict[str, Any]:
    """(market, cents now, cents then, floor) each: the drawn week replayed under both, as proposals keep it."""
    models: list[dict[str, Any]] = []
    assumptions: list[str] = []
    for market, now, then, floor in markets:
        found = preview(week_of(market, end), now, then, floor)
        models.append({"gpu_model": market.gpu_model, **pair_of(found)})
        assumptions += [one for one in found.assumptions if one not in assumptions]
    return {
        "from": (end - WEEK_DAYS * DAY).isoformat(),
        "to": end.isoformat(),
        "assumptions": assumptions,
        "seed": markets[0][0].seed if markets else 0,
        "models": models,
        "whole": whole_of(models),
    }
