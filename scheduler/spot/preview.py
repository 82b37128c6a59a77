"""What a price would have done to the last week: occupancy, reclaims, revenue, tenants out; beside other prices.

The asks of the week are run again (``rerun``) at one price all week.  Two things answer to the price:

- a limit: who set one below the price is out; that is known, not assumed.
- *constant elasticity*, an assumption: who stays wants (price / present price)^(-e) times as many hours.  Nobody has
  measured e for a fleet of its own, so all figures are given for a low, a middle and a high one.

Deterministic; billed by the rules of ``billing``, so a preview and a bill of the same runs are the same money.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduler.cluster.errors import ParamError, within
from scheduler.spot.billing import BillingRules, PriceFrom, Run, bill, flat_grains
from scheduler.spot.money import down_to_cents
from scheduler.spot.rerun import Rerun, rerun
from scheduler.spot.week import HOUR_S, PastAsk, Week

MILLI_HOUR = 1000 * HOUR_S
MOST_ASKS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRules:
    """Elasticities in per cent: 100 means that a price 1 % higher is answered by 1 % fewer hours."""

    elasticity_percents: tuple[int, ...] = (20, 60, 120)  # low, middle, high
    billing: BillingRules = field(default_factory=BillingRules)

    def __post_init__(self) -> None:
        if not self.elasticity_percents or list(self.elasticity_percents) != sorted(set(self.elasticity_percents)):
            raise ParamError("elasticity_percents", self.elasticity_percents, "must rise, one at least")
        for percent in self.elasticity_percents:
            within("elasticity_percents", percent, 0, 1_000)

    @property
    def middle(self) -> int:
        return self.elasticity_percents[len(self.elasticity_percents) // 2]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One price at one elasticity.  Money in whole cents; ``tenants_out``: all of whose limits the price passes."""

    price_cents: int
    elasticity_percent: int
    held_gpu_hours: float
    lendable_gpu_hours: float
    unserved_gpu_hours: float
    lost_gpu_hours: float
    reclaims: int
    revenue_cents: int
    rebate_cents: int
    asks_out: int
    tenants: int  # that were served
    tenants_out: tuple[str, ...]

    @property
    def occupancy(self) -> float | None:
        """Held over lendable; None where nothing could be lent."""
        return self.held_gpu_hours / self.lendable_gpu_hours if self.lendable_gpu_hours else None


@dataclass(frozen=True, slots=True)
class Preview:
    """Outcomes by price, then by elasticity; ``seen_occupancy``: what was really held in the week, None: not seen."""

    present_cents: int
    proposed_cents: int
    outcomes: tuple[Outcome, ...]
    seen_occupancy: float | None
    assumptions: tuple[str, ...]

    def of(self, cents: int, elasticity_percent: int) -> Outcome:
        return next(
            one for one in self.outcomes if (one.price_cents, one.elasticity_percent) == (cents, elasticity_percent)
        )


def preview(
    week: Week, present_cents: int | None, proposed_cents: int, floor_cents: int, *,
    alternatives: Sequence[int] = (), rules: PreviewRules | None = None,
) -> Preview:  # fmt: skip
    """The proposed price, the present one and alternatives on the same asks.

    ``present_cents`` None: nothing was in force, and hours are as asked at the proposed price.
    """
    rules = rules or PreviewRules()
    if len(week.asks) > MOST_ASKS:
        raise ParamError("asks", len(week.asks), f"at most {MOST_ASKS}")
    start = proposed_cents if present_cents is None else present_cents
    prices = sorted({start, proposed_cents, *alternatives})
    for cents in prices:
        within("price_cents", cents, 1, 10_000_000)
    line = sorted(week.asks, key=lambda ask: (ask.asked_s, ask.key))
    outcomes = [
        _outcome(week, line, cents, start, elasticity, floor_cents, rules)
        for cents in prices
        for elasticity in rules.elasticity_percents
    ]
    return Preview(
        start, proposed_cents, tuple(outcomes), week.seen_occupancy, _assumptions(week, present_cents, rules)
    )


def _outcome(
    week: Week, line: Sequence[PastAsk], cents: int, start: int, elasticity: int, floor_cents: int, rules: PreviewRules
) -> Outcome:  # fmt: skip
    stay = [ask for ask in line if ask.pays(cents)]
    response = float((cents / start) ** (-elasticity / 100))
    ran = rerun(week, stay, [max(1, round(ask.work_s * response)) for ask in stay])
    inside = {ask.tenant for ask in stay}
    return Outcome(
        price_cents=cents,
        elasticity_percent=elasticity,
        held_gpu_hours=ran.held_milli_s / MILLI_HOUR,
        lendable_gpu_hours=ran.lendable_milli_s / MILLI_HOUR,
        unserved_gpu_hours=ran.unserved_milli_s / MILLI_HOUR,
        lost_gpu_hours=ran.lost_milli_s / MILLI_HOUR,
        reclaims=sum(one.reclaimed for one in ran.stretches),
        revenue_cents=_revenue(week, stay, ran, cents, floor_cents, rules.billing),
        rebate_cents=_rebate(ran, floor_cents, rules.billing),
        asks_out=len(line) - len(stay),
        tenants=len({stay[one.ask].tenant for one in ran.stretches}),
        tenants_out=tuple(sorted({ask.tenant for ask in line} - inside)),
    )


def _revenue(week: Week, asks: Sequence[PastAsk], ran: Rerun, cents: int, floor_cents: int, rules: BillingRules) -> int:
    """What the leases owe less their credits; a lease that runs on when the week ends is billed so far."""
    runs: dict[int, list[Run]] = defaultdict(list)
    for one in ran.stretches:
        ask = asks[one.ask]
        cause = "recall" if one.reclaimed else "running" if one.ended_s >= week.to_s else ""
        started, ended = one.started_s - week.from_s, one.ended_s - week.from_s
        runs[one.ask].append(
            Run(gpu_milli=ask.gpu_milli, started_s=started, ended_s=ended, guaranteed_s=ask.guaranteed_s, cause=cause)
        )
    schedule = (PriceFrom(0, cents),)
    return sum(bill(each, schedule, floor_cents, rules).due_cents for each in runs.values())


def _rebate(ran: Rerun, floor_cents: int, rules: BillingRules) -> int:
    """At most: as if all of it stood on sleepers' GPUs."""
    return down_to_cents(flat_grains(ran.held_milli_s, 1, floor_cents, rules))


def _assumptions(week: Week, present_cents: int | None, rules: PreviewRules) -> tuple[str, ...]:
    low, high = rules.elasticity_percents[0] / 100, rules.elasticity_percents[-1] / 100
    told = [
        f"Constant elasticity, assumed: a price 1 % higher is answered by {rules.middle / 100:g} % fewer hours; "
        f"shown for {low:g} to {high:g}. Nobody has measured it here.",
        "Limits are as they were set; nobody sets another one.",
        f"What can be lent is as it was in {len(week.lendable_milli) - week.unseen_hours} of "
        f"{len(week.lendable_milli)} hours" + ("; the others lend nothing." if week.unseen_hours else "."),
        "An ask is all or nothing, in the order of asking, and smaller ones may pass. Nodes and switches are not "
        "looked at, so occupancy is at most so high.",
        "Rebates at most: as if every lent GPU-hour came from a sleeper.",
    ]
    if present_cents is None:
        told.append("No price was in force: hours are as asked at the proposed one.")
    return tuple(told)
