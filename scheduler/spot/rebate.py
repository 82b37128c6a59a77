"""What a lender gets for GPUs that it lent while its work slept, against what the sleep costs.

rebate = rebate_percent x floor price x GPU-hours lent, less the credits that its own early recalls broke.  The floor,
not the price: a lender wins nothing by a dear price, and a GPU-hour earns less than any GPU-hour costs, so that to lend
and to borrow in a circle always loses.  Sleep costs what the sleeper still holds, at rates that an operator states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.cluster.errors import within
from scheduler.spot.billing import BillingRules, flat_grains
from scheduler.spot.money import down_to_cents

MILLI = 1000
HOUR_S = 3600
MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """GPU time of one sleeper that borrowers paid for; ``credit_cents``: what its recall owes them for guarantees."""

    gpu_milli: int
    from_s: int
    to_s: int
    credit_cents: int = 0

    def __post_init__(self) -> None:
        within("gpu_milli", self.gpu_milli, 0, 1 << 40)
        within("to_s", self.to_s, self.from_s, 1 << 40)
        within("credit_cents", self.credit_cents, 0, 1 << 40)


@dataclass(frozen=True, slots=True)
class Rebate:
    """earned - forgone = due, whole cents; ``forgone`` is what early recalls owed, at most what was earned."""

    lent_milli_seconds: int
    earned_cents: int
    forgone_cents: int

    @property
    def due_cents(self) -> int:
        return self.earned_cents - self.forgone_cents


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a sleeper holds for so many seconds; None: nobody knows."""

    host_memory_mib: int
    device_memory_mib: int | None
    addresses: int
    seconds: int

    def __post_init__(self) -> None:
        within("host_memory_mib", self.host_memory_mib, 0, 1 << 40)
        if self.device_memory_mib is not None:
            within("device_memory_mib", self.device_memory_mib, 0, 1 << 40)
        within("addresses", self.addresses, 0, 1 << 20)
        within("seconds", self.seconds, 0, 1 << 31)


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepRates:
    """Thousandths of a cent an hour.  Ours; host memory near what clouds ask for memory beyond a machine's own."""

    host_memory_milli_cents_per_gib: int = 300
    device_memory_milli_cents_per_gib: int = 0  # others may not use it, but they pay for the GPU around it
    address_milli_cents: int = 500

    def __post_init__(self) -> None:
        for name in ("host_memory_milli_cents_per_gib", "device_memory_milli_cents_per_gib", "address_milli_cents"):
            within(name, getattr(self, name), 0, 1_000_000)


@dataclass(frozen=True, slots=True)
class SleepCost:
    """Whole cents, each rounded up; None where what is held is not known."""

    host_memory_cents: int
    device_memory_cents: int | None
    address_cents: int

    @property
    def total_cents(self) -> int | None:
        device = self.device_memory_cents
        return None if device is None else self.host_memory_cents + device + self.address_cents


def rebate(loans: Sequence[Loan], floor_cents: int, rules: BillingRules | None = None) -> Rebate:
    """For all loans of one lender and GPU model while the floor was the same; rounded down once."""
    rules = rules or BillingRules()
    lent = sum(flat_grains(loan.gpu_milli, loan.to_s - loan.from_s, floor_cents, rules) for loan in loans)
    earned = down_to_cents(lent)
    return Rebate(
        lent_milli_seconds=sum(loan.gpu_milli * (loan.to_s - loan.from_s) for loan in loans),
        earned_cents=earned,
        forgone_cents=min(earned, sum(loan.credit_cents for loan in loans)),
    )


def sleep_cost(held: Held, rates: SleepRates | None = None) -> SleepCost:
    """What the sleep costs its owner."""
    rates = rates or SleepRates()
    device = held.device_memory_mib
    return SleepCost(
        host_memory_cents=_memory(held.host_memory_mib, held.seconds, rates.host_memory_milli_cents_per_gib),
        device_memory_cents=(
            None if device is None else _memory(device, held.seconds, rates.device_memory_milli_cents_per_gib)
        ),
        address_cents=-(-held.addresses * held.seconds * rates.address_milli_cents // (HOUR_S * MILLI)),
    )


def _memory(mib: int, seconds: int, milli_cents: int) -> int:
    return -(-mib * seconds * milli_cents // (MIB_PER_GIB * HOUR_S * MILLI))
