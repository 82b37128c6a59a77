"""What a plan costs and gains, at the rates that are decided for its pools and tenants."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from console.policies.choices import CHECKPOINTS, PRICES
from console.policies.selectors import nearest_of, policy_for
from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.interruption import Rates, RatesOf
from scheduler.plan import checkpoints
from scheduler.plan import plan as core
from scheduler.plan.checkpoints import Patience, PatienceOf
from scheduler.plan.operations import LEAVE, MOVE_ANYWAY
from scheduler.plan.resolve import resolve
from scheduler.plan.statement import waiting_last
from scheduler.pricing.bill import HOUR_S, bill, touched

RATE_NAMES = {
    "start_s": "start_seconds",
    "image_mib": "image_mib",
    "state_percent": "state_per_cent",
    "network_mib_per_s": "network_mib_per_second",
    "store_mib_per_s": "store_mib_per_second",
    "rebuild_s": "rebuild_seconds",
    "checkpoint_age_s": "checkpoint_age_seconds",
    "recovery_s": "recovery_seconds",
}


def rates_of(cluster: str) -> RatesOf:
    """The rates of each pool and tenant of a cluster, as decided now."""
    there = nearest_of(cluster, [named.name for named in PRICES])

    @cache
    def rates(model: str, tenant: str) -> Rates:
        said = there(model, tenant)
        plain = {field: float(said[name] or 0) for field, name in RATE_NAMES.items()}
        return Rates(**plain, failure_percent=(said["failure_per_mille"] or 0) / 10)

    return rates


def worth_asked(answer: core.Plan, snapshot: Snapshot) -> tuple[float, float]:
    """Seconds for which a node emptied by this plan counts, and how many times its cost it must gain."""
    models, _tenants = touched(resolve(answer, snapshot))
    policy = policy_for(answer.cluster, models)
    return float(policy["gain_hours"].value or 0) * HOUR_S, float(policy["least_worth"].value or 0)


def price(answer: core.Plan, snapshot: Snapshot) -> dict[str, Any]:
    """The row that stays: GPU time in GPU-seconds, traffic in MiB; None where nobody knows."""
    gain_s, least = worth_asked(answer, snapshot)
    cents = nearest_of(answer.cluster, ["usd_cents_per_gpu_hour"])
    found = bill(
        answer,
        snapshot,
        rates_of(answer.cluster),
        gain_s,
        least,
        lambda model, tenant: cents(model, tenant)["usd_cents_per_gpu_hour"],
    )
    return {**found, "settings": _settings(answer.cluster, *touched(resolve(answer, snapshot)))}


def patience_of(cluster: str) -> PatienceOf:
    """How long moves wait for a checkpoint, for each pool and tenant of a cluster, as decided now."""
    there = nearest_of(cluster, [named.name for named in CHECKPOINTS])

    @cache
    def patience(model: str, tenant: str) -> Patience:
        said = there(model, tenant)
        return Patience(
            limit_s=(said["checkpoint_wait_minutes"] or 0) * 60,
            lag_s=said["checkpoint_lag_seconds"] or 0,
            otherwise=(LEAVE, MOVE_ANYWAY)[said["checkpoint_missed"] or 0],
        )

    return patience


def with_waits(answer: core.Plan, snapshot: Snapshot) -> core.Plan:
    """The answer whose moves wait for a checkpoint where that is decided; its waves are judged."""
    waiting = checkpoints.with_waits(answer, snapshot, patience_of(answer.cluster))
    return answer if waiting == answer else waiting_last(waiting, resolve(waiting, snapshot))


def _settings(cluster: str, models: Sequence[str], tenants: Sequence[str]) -> list[dict[str, str]]:
    """Each rate as it counts for the whole plan, most careful first where pools and tenants differ, and its origin."""
    policy = policy_for(cluster, models, tenants)
    return [
        {"name": one.name, "label": one.label, "value": policy[one.name].words, "origin": policy[one.name].origin,
         "meaning": one.meaning}
        for one in (*PRICES, *CHECKPOINTS)
    ]  # fmt: skip
