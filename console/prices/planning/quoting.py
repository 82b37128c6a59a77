"""One line of a proposal per GPU model, and the week replayed under what it says."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from console.prices import selectors
from console.prices.choices import Wanted
from console.prices.planning.market import WEEK_H, Market
from console.prices.services import Asked, Line, Work
from console.prices.services.replayed import others_of, pair_of, whole_of
from console.prices.spans import full_hour
from scheduler.cluster.errors import ParamError
from scheduler.spot.preview import preview
from scheduler.spot.pricing import Quote, Standing, quote, step_range
from scheduler.spot.readings import PriceRules, Readings
from scheduler.spot.terms import LABELS, Term

WAYS = 2  # steps up and down that are shown beside the proposed price


def line_of(work: Work, asked: Asked, market: Market) -> Line:
    """By the core's rule; a price that a person named stays as it was named."""
    if work.wanted == Wanted.PREVIEW:
        return Line(asked.gpu_model, asked.cents_asked, "")
    if asked.missing:
        return Line(asked.gpu_model, None, asked.missing)
    found = _quote(work, asked, market)
    return Line(asked.gpu_model, found.cents, found.said, rows_of(found.terms))


def _quote(work: Work, asked: Asked, market: Market) -> Quote:
    """The floor that its keeper named stands for the rule's; the period is kept by what is allowed."""
    rules = PriceRules(floor_percent=1, step_percent=asked.change_percent, period_s=0)
    readings = _above(market.readings, asked.floor_cents)
    standing = None
    if asked.cents_now is not None:
        since = work.now_at if asked.since is None else asked.since
        standing = Standing(asked.cents_now, int(since.timestamp()), _earlier(asked, work))
    allowed = None if asked.low_cents is None or asked.high_cents is None else (asked.low_cents, asked.high_cents)
    return quote(asked.gpu_model, readings, standing, int(work.now_at.timestamp()), rules, allowed)


def _above(readings: Readings, floor_cents: int | None) -> Readings:
    fields = {name: getattr(readings, name) for name in Readings.__dataclass_fields__}
    return Readings(**fields | {"sleep_cents": floor_cents or 0})


def _earlier(asked: Asked, work: Work) -> Readings | None:
    """What was read for the price in force, from the numbers of its terms; None where they are not all there."""
    row = selectors.prices_in_force([asked.gpu_model], work.now_at).get(asked.gpu_model)
    return None if row is None or row.simulated else readings_of(row.terms)


def rows_of(terms: Sequence[Term]) -> list[dict[str, Any]]:
    """All of them, those that moved it most first: their numbers are what the next review compares with."""
    order = sorted(terms, key=lambda term: -abs(term.share or 0))
    return [
        {
            "name": term.name, "label": term.label, "value": term.value, "unit": term.unit, "was": term.before,
            "effect_cents": term.cents, "words": term.said,
        }
        for term in order
    ]  # fmt: skip


def readings_of(rows: Sequence[Mapping[str, Any]]) -> Readings | None:
    said = {row.get("name"): row.get("value") for row in rows}
    if not set(LABELS) <= set(said) or said["on_demand"] is None:
        return None
    acceptance, reclaims = said["acceptance"], said["reclaims"]
    try:
        return Readings(
            on_demand_cents=round(said["on_demand"]),
            standby_milli=_milli(said["standby"]),
            idle_milli=_milli(said["idle"]),
            paid_milli=_milli(said["use"]),
            waiting_milli=_milli(said["queue"]),
            forecast_milli=_milli(said["forecast"]),
            payers_before=0 if acceptance is None else 1000,
            payers_again=0 if acceptance is None else round(acceptance * 10),
            reclaimed_permille=None if reclaims is None else round(reclaims * 10),
        )
    except ParamError:
        return None


def _milli(gpus: float | None) -> int | None:
    return None if gpus is None else round(gpus * 1000)


def preview_of(
    work: Work, lines: Sequence[Line], markets: Mapping[str, Market], wanted: Callable[[], bool]
) -> dict[str, Any] | None:
    """The document that a proposal keeps, without models that have no price; None where nobody wants it any more."""
    asked = {one.gpu_model: one for one in work.models}
    pairs: list[dict[str, Any]] = []
    assumptions: list[str] = []
    for line in lines:
        if line.cents is None:
            continue
        if not wanted():
            return None
        one, market = asked[line.gpu_model], markets[line.gpu_model]
        floor = one.floor_cents or 1
        found = preview(market.week, one.cents_now, line.cents, floor, alternatives=_beside(one, line.cents))
        pairs.append({"gpu_model": line.gpu_model, **pair_of(found), "others": others_of(found)})
        if found.seen_occupancy is not None:
            held = f"{100 * found.seen_occupancy:.0f} %"
            assumptions.append(f"{line.gpu_model}: {held} of what could be lent was held, as seen.")
        assumptions += [said for said in (*market.notes, *found.assumptions) if said not in assumptions]
    end = full_hour(work.now_at)
    start = end - timedelta(hours=WEEK_H)
    return {
        "from": start.isoformat(), "to": end.isoformat(), "assumptions": assumptions, "seed": work.seed,
        "models": pairs, "whole": whole_of(pairs),
    }  # fmt: skip


def _beside(asked: Asked, cents: int) -> list[int]:
    """Steps up and down from the proposed price, inside its range."""
    rules = PriceRules(floor_percent=1, step_percent=asked.change_percent)
    floor, ceiling = asked.floor_cents or 1, asked.on_demand_cents or cents
    found, low, high = [], cents, cents
    for _ in range(WAYS):
        low, high = step_range(low, rules, floor, ceiling)[0], step_range(high, rules, floor, ceiling)[1]
        found += [low, high]
    return found
