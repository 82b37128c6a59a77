"""What sleep brings and what it costs, in US cents: the rules are those of the core's rebates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.standby.floors import floor_of
from console.standby.models import PoolSample, Sleeper
from console.standby.services.pods import Found
from console.ui.sums import known_sum
from scheduler.spot.rebate import Held, Loan, rebate, sleep_cost

ASSUMED_LENT_PERCENT = 90  # of what sleeps, as in the study, while this console has seen too little
LEAST_SAMPLES = 24


@dataclass(frozen=True, slots=True)
class Worth:
    """None: not known."""

    rebate_cents: int | None
    cost_cents: int | None


def worth_of(gpu_model: str, lent_milli_s: int, asleep_s: int, memory_mib: int, device_mib: int | None) -> Worth:
    """Of so much GPU time that was lent, and so long a sleep of what is held; at the floor that counts now."""
    floor = floor_of(gpu_model)
    earned = None
    if floor is not None:
        earned = rebate([Loan(gpu_milli=lent_milli_s, from_s=0, to_s=1)], floor).due_cents
    cost = sleep_cost(Held(host_memory_mib=memory_mib, device_memory_mib=device_mib, addresses=1, seconds=asleep_s))
    return Worth(earned, cost.total_cents)


def price(sleeper: Sleeper) -> None:
    """Sets what it has brought and cost until now; the caller saves it."""
    found = worth_of(sleeper.gpu_model, sleeper.lent_milli_s, sleeper.asleep_s, sleeper.memory_mib, sleeper.device_mib)
    sleeper.rebate_cents, sleeper.cost_cents = found.rebate_cents, found.cost_cents


def expected(pods: Sequence[Found], hours: float) -> dict[str, Any]:
    """What one span of so many hours is expected to bring, as JSON; ``assumed`` says what nobody has observed."""
    seconds = round(hours * 3600)
    percent, seen = lent_percent()
    rebates, costs = list[int | None](), list[int | None]()
    for pod in pods:
        lent_milli_s = pod.gpu_milli * percent // 100 * seconds
        found = worth_of(pod.gpu_model, lent_milli_s, seconds, pod.memory_mib, pod.device_mib)
        rebates.append(found.rebate_cents)
        costs.append(found.cost_cents)
    device = [pod.device_mib for pod in pods]
    return {
        "hours": hours,
        "pods": len(pods),
        "gpu_milli": sum(pod.gpu_milli for pod in pods),
        "memory_mib": sum(pod.memory_mib for pod in pods),
        "device_mib": known_sum(device),
        "addresses": len(pods),
        "lent_percent": percent,
        "rebate_cents": known_sum(rebates),
        "cost_cents": known_sum(costs),
        "assumed": [] if seen else [f"{percent} % of what sleeps is lent, as in the study: too little was seen here"],
    }


def held_for_an_hour(pods: Sequence[Found]) -> list[Worth]:
    """What it costs that these sleep for an hour: each pool once, so that parts of cents are not rounded up often."""
    memory, device = sum(pod.memory_mib for pod in pods), known_sum([pod.device_mib for pod in pods])
    held = Held(host_memory_mib=memory, device_memory_mib=device, addresses=len(pods), seconds=3600)
    return [Worth(None, sleep_cost(held).total_cents)]


def lent_percent() -> tuple[int, bool]:
    """Of what slept, how much was lent; whether that was seen here."""
    rows = PoolSample.objects.order_by("-at").values_list("asleep_milli", "lent_milli")[:2000]
    asleep, lent = sum(row[0] for row in rows), sum(row[1] for row in rows)
    if len(rows) < LEAST_SAMPLES or asleep == 0:
        return ASSUMED_LENT_PERCENT, False
    return round(100 * lent / asleep), True
