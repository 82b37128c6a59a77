"""What a lease pays: every second at the price in force in that second, a bought guarantee, and credit if it is broken.

Ours, so that nothing is won by how a lease is cut.  With r the price in force, G the GPUs of a run and P the percent of
a guarantee's premium, a run from its first second of service to its end pays

    base = G x sum of r over its seconds        premium = P % of the base of its guaranteed seconds

- The price is that of each second, not that of the start: when a lease started does not change what an hour costs, so
  there is nothing to win by starting before a rise, or by giving back and asking again after a fall.
- Whoever ends a run by its own act pays for the whole guarantee that it bought, since nobody else could have it.
- It is paid until the last pod is gone, the notice included: a free minute could be had again and again, by whoever
  has a friend that calls for room.
- If others break a guarantee, its premium is given back; and where a lender's recall, the hardware or a consolidation
  broke it, also the flat rebate of that time.  A recall's is taken from the lender's own rebate (``Bill.owed``): a
  lender and a borrower together win nothing.  A preemption and a storm give the premium alone, since a pod that
  preempts can be made for the purpose.  What a job says of its checkpoints is nowhere in it.
- Charges round up once for a lease, credits round down, and a credit is never above what the run paid.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.cluster.errors import within
from scheduler.spot.money import GRAINS_PER_CENT, down_to_cents, grains, up_to_cents

GIVEN_BACK = "given_back"
PRICE = "price"
RUNNING = "running"  # not over yet: the bill so far
OWN_CAUSES = ("", GIVEN_BACK, PRICE)  # the tenant's own act, whoever carries it out
# Cause of a reclaim -> who owes the flat part of the credit; causes that are not here give the premium back alone.
OWED_BY = {"recall": "lender", "hardware": "fleet", "consolidation": "fleet"}
FLEET = "fleet"


class NoPrice(ValueError):
    """Nothing says what a GPU-hour costs in some second of a run: there is no bill, not one of 0."""

    def __init__(self, at_s: int) -> None:
        self.at_s = at_s
        super().__init__(f"no price is in force at second {at_s}")


@dataclass(frozen=True, slots=True)
class PriceFrom:
    """``cents`` of a GPU-hour from ``from_s`` on, until the next one; None: no quote from then on."""

    from_s: int
    cents: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingRules:
    """Raises ``ParamError`` for the first field out of range."""

    guarantee_percent: int = 10  # premium on guaranteed seconds
    rebate_percent: int = 50  # of the floor price: what a lent GPU-hour earns its lender

    def __post_init__(self) -> None:
        within("guarantee_percent", self.guarantee_percent, 0, 100)
        within("rebate_percent", self.rebate_percent, 0, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One stretch of a lease, from its first second of service to its end.  Instants in seconds on one clock.

    ``cause``: "" where it finished, ``RUNNING``, else a reclaim cause.  ``own``: the lease's own tenant caused it, as
    with a recall of its own.  Raises ``ParamError``.
    """

    gpu_milli: int
    started_s: int
    ended_s: int
    guaranteed_s: int = 0
    cause: str = ""
    noticed_s: int | None = None
    own: bool = False

    def __post_init__(self) -> None:
        within("gpu_milli", self.gpu_milli, 0, 1 << 40)
        within("started_s", self.started_s, 0, 1 << 40)
        within("ended_s", self.ended_s, self.started_s, 1 << 40)
        within("guaranteed_s", self.guaranteed_s, 0, 1 << 31)
        if self.noticed_s is not None:
            within("noticed_s", self.noticed_s, self.started_s, self.ended_s)

    @property
    def by_own_act(self) -> bool:
        return self.own or self.cause in OWN_CAUSES

    @property
    def paid_until_s(self) -> int:
        """A bought guarantee is paid whole by whoever gives it up."""
        whole = self.started_s + self.guaranteed_s if self.by_own_act else 0
        return max(self.ended_s, whole)

    @property
    def guaranteed_until_s(self) -> int:
        """The end of the guaranteed seconds that are paid for."""
        return min(self.started_s + self.guaranteed_s, self.paid_until_s)

    @property
    def broken(self) -> bool:
        """Others gave notice inside the guarantee that was bought."""
        over = self.cause != RUNNING and not self.by_own_act
        noticed_s = self.ended_s if self.noticed_s is None else self.noticed_s
        return over and noticed_s < self.started_s + self.guaranteed_s


@dataclass(frozen=True, slots=True)
class Line:
    """A stretch at one price; ``percent`` is 100, or the premium's."""

    from_s: int
    to_s: int
    cents_per_gpu_hour: int
    percent: int
    gpu_milli_seconds: int

    @property
    def grains(self) -> int:
        return self.gpu_milli_seconds * self.cents_per_gpu_hour * self.percent


@dataclass(frozen=True, slots=True)
class Bill:
    """Of one lease.  base + premium = charge; due = charge - credit; all in whole cents, none below 0."""

    base_cents: int
    premium_cents: int
    charge_cents: int
    credit_cents: int
    owed: tuple[tuple[str, int], ...]  # who owes the credit -> cents; they add up to it
    gpu_milli_seconds: int  # paid for
    lines: tuple[Line, ...]

    @property
    def due_cents(self) -> int:
        return self.charge_cents - self.credit_cents


def bill(
    runs: Sequence[Run], schedule: Sequence[PriceFrom], floor_cents: int, rules: BillingRules | None = None
) -> Bill:
    """What a lease owes for its runs so far.  ``schedule`` by time; ``floor_cents`` sets the flat part of credits.

    Raises ``NoPrice`` where a second of a run has no price in force.
    """
    rules = rules or BillingRules()
    lines: list[Line] = []
    owed: dict[str, int] = {}
    for run in runs:
        base = _lines(run, run.started_s, run.paid_until_s, schedule, 100)
        premium = _lines(run, run.started_s, run.guaranteed_until_s, schedule, rules.guarantee_percent)
        lines += [*base, *premium]
        if run.broken:
            _credit(owed, run, (base, premium), floor_cents, rules)
    base_grains = sum(line.grains for line in lines if line.percent == 100)
    all_grains = sum(line.grains for line in lines)
    charge, base_cents = up_to_cents(all_grains), up_to_cents(base_grains)
    credit = tuple((who, down_to_cents(amount)) for who, amount in sorted(owed.items()) if amount >= GRAINS_PER_CENT)
    return Bill(
        base_cents=base_cents,
        premium_cents=charge - base_cents,
        charge_cents=charge,
        credit_cents=sum(cents for _, cents in credit),
        owed=credit,
        gpu_milli_seconds=sum(run.gpu_milli * (run.paid_until_s - run.started_s) for run in runs),
        lines=tuple(line for line in lines if line.grains),
    )


def guarantee_s(asked_s: int, started_s: int, limit_cents: int | None, schedule: Sequence[PriceFrom]) -> int:
    """Seconds that can be guaranteed: until an announced price passes the limit, or there is no quote any more.

    Prices are announced before they count, so a lease knows at its start; a limit never makes an hour cheaper.
    """
    for step in schedule:
        passes = step.cents is None or (limit_cents is not None and step.cents > limit_cents)
        if step.from_s > started_s and passes:
            return max(0, min(asked_s, step.from_s - started_s))
    return asked_s


def flat_grains(gpu_milli: int, seconds: int, floor_cents: int, rules: BillingRules) -> int:
    """The flat rebate for so much lent GPU time: ``rebate_percent`` of the floor, whatever the price is."""
    return grains(gpu_milli, seconds, floor_cents, rules.rebate_percent)


def _credit(
    owed: dict[str, int], run: Run, paid: tuple[list[Line], list[Line]], floor_cents: int, rules: BillingRules
) -> None:
    """``paid``: the lines of base and premium.  Never more than they are, also where the floor has risen since."""
    base, premium = (sum(line.grains for line in lines) for lines in paid)
    owed[FLEET] = owed.get(FLEET, 0) + premium
    who = OWED_BY.get(run.cause)
    if who is not None:
        flat = flat_grains(run.gpu_milli, run.guaranteed_until_s - run.started_s, floor_cents, rules)
        owed[who] = owed.get(who, 0) + min(base, flat)


def _lines(run: Run, from_s: int, to_s: int, schedule: Sequence[PriceFrom], percent: int) -> list[Line]:
    found = []
    at = bisect_right(schedule, from_s, key=lambda step: step.from_s) - 1
    while from_s < to_s:
        cents = schedule[at].cents if at >= 0 else None
        if cents is None:
            raise NoPrice(from_s)
        until = min(to_s, schedule[at + 1].from_s) if at + 1 < len(schedule) else to_s
        found.append(Line(from_s, until, cents, percent, run.gpu_milli * (until - from_s)))
        from_s, at = until, at + 1
    return found
