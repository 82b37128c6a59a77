"""What a quote is made of: the rules, what was read of one GPU model, and the level that both of them give.

Ours.  With A the on-demand price, N the neutral share of it, D what is wanted, S what can be lent and u the share of S
that is neutrally taken:

    target = A N x (D / u S)^e x (acceptance / neutral acceptance)^a x (1 - w risk)

D = GPUs that leases pay for + the queue + one GPU, S = standby + idle, half of it as forecast where there is a
forecast.  All factors are 1 where the market is as it is taken to be; each is a number that anybody can work out again.
What only costs a word (asking, withdrawing, a limit) is in none that could lower the price.
"""

from dataclasses import dataclass, replace

from scheduler.cluster.errors import within

MOST_MILLI = 1 << 40
MOST_CENTS = 10_000_000
DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRules:
    """Raises ``ParamError`` for the first field out of range.

    30 % of on demand is the discount of about 70 % that clouds publish for whole nodes in the middle; 10 % their
    deepest one.  The exponents are ours: nobody publishes what such prices answer to.
    """

    floor_percent: int = 10  # of the on-demand price
    neutral_percent: int = 30  # of the on-demand price, where all is as usual
    neutral_use_percent: int = 80  # of what can be lent is wanted
    tightness_percent: int = 50  # exponent e of wanted over lendable
    forecast_percent: int = 50  # of the supply as forecast, the rest as it is now
    acceptance_percent: int = 20  # exponent a
    neutral_acceptance_percent: int = 90  # of those who paid pay again
    least_payers: int = 5  # below which acceptance says nothing
    risk_percent: int = 50  # w: taken off where every GPU-hour is reclaimed
    least_demand_milli: int = 1_000  # so that an empty queue has a logarithm
    step_percent: int = 10  # largest change of a price at once; a cent at least
    period_s: int = DAY_S  # from one change to the next, at least

    def __post_init__(self) -> None:
        within("floor_percent", self.floor_percent, 1, 100)
        within("neutral_percent", self.neutral_percent, self.floor_percent, 100)
        within("neutral_use_percent", self.neutral_use_percent, 1, 100)
        within("tightness_percent", self.tightness_percent, 0, 200)
        within("forecast_percent", self.forecast_percent, 0, 100)
        within("acceptance_percent", self.acceptance_percent, 0, 200)
        within("neutral_acceptance_percent", self.neutral_acceptance_percent, 1, 100)
        within("least_payers", self.least_payers, 1, 1_000)
        within("risk_percent", self.risk_percent, 0, 99)
        within("least_demand_milli", self.least_demand_milli, 1, MOST_MILLI)
        within("step_percent", self.step_percent, 1, 100)
        within("period_s", self.period_s, 0, 366 * DAY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Of one GPU model; GPUs in thousandths, means over the period.  None: nobody knows.  Raises ``ParamError``.

    ``payers_before`` tenants paid in the period before, ``payers_again`` of them also in this one: an offer is taken
    when it is paid for.  ``reclaimed_permille``: of leases' GPU-hours, those in which others reclaimed.
    """

    on_demand_cents: int | None
    standby_milli: int | None  # asleep, lent or not
    idle_milli: int | None  # free, or held by leases that borrow from no sleeper
    paid_milli: int | None
    waiting_milli: int | None  # as ``demand.counted`` counts
    forecast_milli: int | None = None  # of standby + idle together
    payers_before: int = 0
    payers_again: int = 0
    reclaimed_permille: int | None = None
    sleep_cents: int = 0  # what a GPU-hour of sleep costs its owner

    def __post_init__(self) -> None:
        if self.on_demand_cents is not None:
            within("on_demand_cents", self.on_demand_cents, 1, MOST_CENTS)
        for name in ("standby_milli", "idle_milli", "paid_milli", "waiting_milli", "forecast_milli"):
            if getattr(self, name) is not None:
                within(name, getattr(self, name), 0, MOST_MILLI)
        within("payers_before", self.payers_before, 0, 1_000_000)
        within("payers_again", self.payers_again, 0, self.payers_before)
        if self.reclaimed_permille is not None:
            within("reclaimed_permille", self.reclaimed_permille, 0, 1_000)
        within("sleep_cents", self.sleep_cents, 0, MOST_CENTS)


@dataclass(frozen=True, slots=True)
class Level:
    """Readings taken apart: what is wanted and what can be lent, by part, in GPUs; and the factors.

    target = on_demand x neutral x tightness x acceptance x risk, in cents.
    """

    on_demand: float
    wanted: dict[str, float]
    lendable: dict[str, float]
    ahead: float  # weight of the forecast in what can be lent, 0 where there is none
    acceptance: float
    risk: float
    tightness: float
    target: float


def level_of(readings: Readings, rules: PriceRules) -> Level | None:
    """None where the on-demand price, what is wanted or what can be lent is unknown, or nothing can be lent."""
    wanted, lendable = _wanted(readings, rules), _lendable(readings, rules)
    supply = sum(lendable.values()) if lendable else 0.0
    if readings.on_demand_cents is None or wanted is None or lendable is None or supply <= 0:
        return None
    neutral = rules.neutral_use_percent / 100 * supply
    tightness = float((sum(wanted.values()) / neutral) ** (rules.tightness_percent / 100))
    acceptance = acceptance_of(readings, rules)
    factor = 1.0
    if acceptance is not None:  # one payer at least, so that nobody's leaving alone makes a price of nothing
        share = max(acceptance, 1 / max(1, readings.payers_before))
        factor = float((share * 100 / rules.neutral_acceptance_percent) ** (rules.acceptance_percent / 100))
    risk = 1 - rules.risk_percent / 100 * (readings.reclaimed_permille or 0) / 1000
    on_demand = float(readings.on_demand_cents)
    target = on_demand * rules.neutral_percent / 100 * tightness * factor * risk
    return Level(on_demand, wanted, lendable, _ahead(readings, rules), factor, risk, tightness, target)


def neutral_level(level: Level, rules: PriceRules) -> Level:
    """The market as it is taken to be, with the same supply and on-demand price: where a first quote starts from."""
    supply = sum(level.lendable.values())
    wanted = {"use": rules.neutral_use_percent / 100 * supply, "queue": 0.0}
    target = level.on_demand * rules.neutral_percent / 100
    return replace(level, wanted=wanted, acceptance=1.0, risk=1.0, tightness=1.0, target=target)


def acceptance_of(readings: Readings, rules: PriceRules) -> float | None:
    """Of the tenants that paid before, the share that paid again; None where they are too few to say anything."""
    if readings.payers_before < rules.least_payers:
        return None
    return readings.payers_again / readings.payers_before


def _wanted(readings: Readings, rules: PriceRules) -> dict[str, float] | None:
    if readings.paid_milli is None or readings.waiting_milli is None:
        return None
    return {
        "use": (readings.paid_milli + rules.least_demand_milli) / 1000,
        "queue": readings.waiting_milli / 1000,
    }


def _lendable(readings: Readings, rules: PriceRules) -> dict[str, float] | None:
    if readings.standby_milli is None or readings.idle_milli is None:
        return None
    ahead = _ahead(readings, rules)
    return {
        "standby": readings.standby_milli / 1000 * (1 - ahead),
        "idle": readings.idle_milli / 1000 * (1 - ahead),
        "forecast": (readings.forecast_milli or 0) / 1000 * ahead,
    }


def _ahead(readings: Readings, rules: PriceRules) -> float:
    return 0.0 if readings.forecast_milli is None else rules.forecast_percent / 100
