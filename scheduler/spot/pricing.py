"""A quote per GPU model: what an LP GPU-hour costs, between a floor and the on-demand price, and why.

The level comes from ``readings``; here it becomes a price that moves little: at most ``step_percent`` at once, and not
again before ``period_s`` has passed.  Only the range is stronger than both: where the on-demand price or the floor has
moved past a price in force, the price follows at once.  No price where something that it is made of is unknown.
"""

from dataclasses import dataclass
from typing import Any

from scheduler.spot.money import nearest_cents
from scheduler.spot.readings import Level, PriceRules, Readings, level_of, neutral_level
from scheduler.spot.terms import Move, Term, explained, heaviest

# Why there is no quote.
NO_MODEL, NO_ANCHOR, SUPPLY_UNKNOWN, NO_SUPPLY, DEMAND_UNKNOWN, FLOOR_TOO_HIGH = (
    "no_model", "no_anchor", "supply_unknown", "no_supply", "demand_unknown", "floor_above_on_demand",
)  # fmt: skip
# What held the price, where something did.
FIRST, FREE, STEP, PERIOD, FLOOR, CEILING = "first", "free", "step", "period", "floor", "on_demand"
REFUSED = {
    NO_MODEL: "no node is known to have GPUs of this model",
    NO_ANCHOR: "nobody says what a GPU-hour of this model costs on demand; name that price first",
    SUPPLY_UNKNOWN: "how much of this model can be lent is not known",
    NO_SUPPLY: "nothing of this model can be lent, neither now nor as forecast",
    DEMAND_UNKNOWN: "how much of this model is wanted is not known",
    FLOOR_TOO_HIGH: "a GPU-hour of sleep costs its owner more than a GPU-hour on demand",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """The price in force, since when, and what was read for it (None: it was set without)."""

    cents: int
    since_s: int
    readings: Readings | None = None

    def __post_init__(self) -> None:
        if self.cents < 1:
            raise ValueError("a price in force is at least a cent")


@dataclass(frozen=True, slots=True)
class Quote:
    """``cents`` None: no quote, and ``reason`` is one of ``REFUSED``; else what held it.  ``said`` is a sentence."""

    gpu_model: str
    cents: int | None
    reason: str
    said: str
    target_cents: int | None = None  # where it would stand if nothing held it
    before_cents: int | None = None
    floor_cents: int | None = None
    on_demand_cents: int | None = None
    terms: tuple[Term, ...] = ()
    next_review_s: int | None = None  # from when it may change again; None: at any time

    @property
    def changed(self) -> bool:
        return self.cents is not None and self.cents != self.before_cents

    def document(self) -> dict[str, Any]:
        """The row of ``slackline quote --json``."""
        return {
            "gpu_model": self.gpu_model,
            "usd_per_gpu_hour": None if self.cents is None else self.cents / 100,
            "terms": {term.name: term.document() for term in self.terms},
            "reason": self.said,
        }


def no_quote(model: str, reason: str = NO_MODEL, on_demand_cents: int | None = None) -> Quote:
    """None of this model, and one of ``REFUSED`` why."""
    return Quote(model, None, reason, f"No quote: {REFUSED[reason]}.", on_demand_cents=on_demand_cents)


def price_range(on_demand_cents: int, rules: PriceRules, sleep_cents: int = 0) -> tuple[int, int]:
    """(floor, on-demand price): no GPU-hour costs less than ``floor_percent``, nor less than its sleep costs."""
    share = -(-on_demand_cents * rules.floor_percent // 100)
    return max(1, share, sleep_cents), on_demand_cents


def step_range(cents: int, rules: PriceRules, floor_cents: int, on_demand_cents: int) -> tuple[int, int]:
    """(lowest, highest) next price: one step from ``cents``, inside the range, which is stronger than the step."""
    step = max(1, cents * rules.step_percent // 100)
    low, high = (min(max(end, floor_cents), on_demand_cents) for end in (cents - step, cents + step))
    return low, high


def quote(
    model: str, readings: Readings, standing: Standing | None = None, at_s: int = 0,
    rules: PriceRules | None = None, within: tuple[int, int] | None = None,
) -> Quote:  # fmt: skip
    """The price that should be in force from ``at_s`` on.

    ``within``: (lowest, highest) that its keeper allows beside the rules' own step, as where several prices of one
    period bind; like the step it gives way to the range.
    """
    rules = rules or PriceRules()
    level = level_of(readings, rules)
    reason = _refusal(model, readings, level, rules)
    if reason or level is None or readings.on_demand_cents is None:
        return no_quote(model, reason, readings.on_demand_cents)
    floor, ceiling = price_range(readings.on_demand_cents, rules, readings.sleep_cents)
    wish = nearest_cents(level.target)
    cents, reason = _bounded(wish, standing, at_s, (floor, ceiling), rules, within)
    earlier = standing.readings if standing else None
    then = level_of(earlier, rules) if earlier else None
    then, earlier = (then, earlier) if then is not None else (neutral_level(level, rules), None)
    bound = _bound_said(reason, floor, ceiling, standing, at_s, rules)
    move = Move(float(standing.cents) if standing else then.target, cents, bound, standing is None)
    terms = explained(level, then, move, readings, earlier, rules)
    return Quote(
        model, cents, reason, _sentence(cents, standing, terms, bound), wish, standing.cents if standing else None,
        floor, ceiling, terms, standing.since_s + rules.period_s if standing else None,
    )  # fmt: skip


def _refusal(model: str, readings: Readings, level: Level | None, rules: PriceRules) -> str:
    if not model:
        return NO_MODEL
    if readings.on_demand_cents is None:
        return NO_ANCHOR
    if readings.standby_milli is None or readings.idle_milli is None:
        return SUPPLY_UNKNOWN
    if readings.paid_milli is None or readings.waiting_milli is None:
        return DEMAND_UNKNOWN
    if level is None:
        return NO_SUPPLY
    floor, ceiling = price_range(readings.on_demand_cents, rules, readings.sleep_cents)
    return FLOOR_TOO_HIGH if floor > ceiling else ""


def _bounded(
    wish: int, standing: Standing | None, at_s: int, ends: tuple[int, int], rules: PriceRules,
    within: tuple[int, int] | None,
) -> tuple[int, str]:  # fmt: skip
    """(price, what held it)."""
    floor, ceiling = ends
    aim = min(max(wish, floor), ceiling)
    end = FREE if aim == wish else FLOOR if aim == floor and wish < floor else CEILING
    if standing is None:
        return aim, FIRST if end == FREE else end
    kept = min(max(standing.cents, floor), ceiling)
    if aim == kept:
        return aim, end
    if at_s - standing.since_s < rules.period_s:
        return kept, PERIOD if kept == standing.cents else FLOOR if kept == floor else CEILING
    low, high = step_range(standing.cents, rules, floor, ceiling)
    if within is not None and within[0] <= within[1]:
        low, high = (min(max(end, within[0]), within[1]) for end in (low, high))
    cents = min(max(min(max(aim, low), high), floor), ceiling)
    return cents, end if cents == aim else STEP


def _bound_said(reason: str, floor: int, ceiling: int, standing: Standing | None, at_s: int, rules: PriceRules) -> str:
    if reason == PERIOD and standing is not None:
        left = (standing.since_s + rules.period_s - at_s) / 3600
        return f"no change for another {left:.0f} h: one in {rules.period_s / 3600:g} h at most"
    return {
        STEP: f"no more than {rules.step_percent} % at once",
        FLOOR: f"not below the floor of {floor} cents",
        CEILING: f"not above the on-demand price of {ceiling} cents",
    }.get(reason, "")


def _sentence(cents: int, standing: Standing | None, terms: tuple[Term, ...], bound: str) -> str:
    """What moved it, heaviest first, and what held it."""
    causes = [term.said for term in heaviest(terms) if term.name not in ("bound", "held_back")]
    if standing is None:
        head = f"First quote, {cents} cents"
    elif cents == standing.cents:
        head = f"Stays at {cents} cents"
    else:
        change = (cents / standing.cents - 1) * 100
        head = f"{'Up' if change > 0 else 'Down'} {abs(change):.0f} % to {cents} cents"
    why = "; ".join(part for part in (", ".join(causes), bound) if part)
    return f"{head}: {why}." if why else f"{head}."
