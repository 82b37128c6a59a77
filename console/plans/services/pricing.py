"""What a plan costs and gains, at the rates that are decided for its pools and tenants."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from console.policies.choices import PRICES
from console.policies.selectors import nearest_of, policy_for
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.performance.energy import board_watts, idle_watts
from scheduler.performance.interruption import Cost, Rates, RatesOf, costs
from scheduler.plan import plan as core
from scheduler.plan.price import KARPENTER_TAKES, ChainPrice, chain_prices, surges
from scheduler.plan.resolve import Rows, resolve

HOUR_S = 3600
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
LISTED = 200  # chains kept for the page, the least worth first


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
    models, _tenants = _touched(resolve(answer, snapshot))
    policy = policy_for(answer.cluster, models)
    return float(policy["gain_hours"].value or 0) * HOUR_S, float(policy["least_worth"].value or 0)


def price(answer: core.Plan, snapshot: Snapshot) -> dict[str, Any]:
    """The row that stays: GPU time in GPU-seconds, traffic in MiB; None where nobody knows."""
    rows = resolve(answer, snapshot)
    models, tenants = _touched(rows)
    gain_s, least = worth_asked(answer, snapshot)
    spent = costs(rows.snapshot, rows.pod, rates_of(answer.cluster))
    gpu_seconds = [cost.gpu_seconds for cost in spent]
    aimed = answer.kind == core.ROLLBACK or answer.aim is not None  # then no node is emptied for its own sake
    chains = () if aimed else chain_prices(answer, snapshot, gpu_seconds, gain_s)
    return {
        **_spent(spent),
        **_traffic(rows, answer, spent),
        **_gained(chains),
        **_power(answer, rows, spent, gain_s),
        **_money(answer.cluster, rows, spent, chains),
        "gain_s": gain_s,
        "least_worth": least,
        "tenants": len(tenants),
        "freed": _freed(answer, snapshot),
        "surge": [
            {"gpu_model": one.gpu_model, "free": one.free, "peak": one.peak, "largest": one.largest,
             "places": one.places}
            for one in surges(answer, snapshot)
        ],
        "settings": _settings(answer.cluster, models, tenants),
    }  # fmt: skip


def _spent(spent: Sequence[Cost]) -> dict[str, Any]:
    return {
        "start": sum(cost.start for cost in spent),
        "rebuild": sum(cost.rebuild for cost in spent),
        "lost": sum(cost.lost for cost in spent),
        "risk": sum(cost.risk for cost in spent),
        "spent": sum(cost.gpu_seconds for cost in spent),
        "at_checkpoint": sum(cost.at_checkpoint for cost in spent),
        "waits": sum(cost.next_checkpoint_s is not None for cost in spent),
        "assumed": dict(Counter(word for cost in spent for word in cost.assumed)),
    }


def _traffic(rows: Rows, answer: core.Plan, spent: Sequence[Cost]) -> dict[str, Any]:
    """What is fetched in all, and in the fullest planned wave: out of the store, and into one switch."""
    there = rows.snapshot
    asw = there.node_at_level[there.levels.index("asw")] if "asw" in there.levels else None
    store: dict[int, float] = defaultdict(float)
    switch: dict[tuple[int, int], float] = defaultdict(float)
    for wave, target, cost in zip(answer.wave_of, rows.target, spent, strict=True):
        store[wave] += cost.state_mib
        if asw is not None and asw[target] != UNKNOWN:
            switch[wave, int(asw[target])] += cost.image_mib + cost.state_mib
    fullest = max(switch, key=lambda key: (switch[key], -key[0], -key[1]), default=None)
    return {
        "image_mib": sum(cost.image_mib for cost in spent),
        "state_mib": sum(cost.state_mib for cost in spent),
        "wave_store_mib": max(store.values(), default=0.0),
        "wave_asw_mib": None if fullest is None else switch[fullest],
        "wave_asw": "" if fullest is None else there.domain_name[fullest[1]],
    }


def _gained(chains: Sequence[ChainPrice]) -> dict[str, Any]:
    """Empty where no node is emptied for its own sake: then nothing says what the moves are worth."""
    if not chains:
        return {"gained": None, "worth": None, "chains": 0, "karpenter_takes": 0, "dearest": []}
    gained, spent = sum(chain.gained for chain in chains), sum(chain.spent for chain in chains)
    dearest = sorted(chains, key=lambda chain: (chain.worth, chain.chain))
    return {
        "gained": gained,
        "worth": gained / spent if spent else None,
        "karpenter_takes": sum(chain.karpenter >= KARPENTER_TAKES for chain in chains),
        "chains": len(chains),
        "dearest": [
            {"chain": one.chain, "node": one.node, "moves": one.moves, "gpus": one.gpus, "gained": one.gained,
             "spent": one.spent, "worth": one.worth if one.spent else None, "karpenter": one.karpenter}
            for one in dearest[:LISTED]
        ],
    }  # fmt: skip


def _power(answer: core.Plan, rows: Rows, spent: Sequence[Cost], gain_s: float) -> dict[str, Any]:
    """kWh at most spent, by the data sheets; kWh saved if what is emptied net is switched off, as measured."""
    there = rows.snapshot
    used, known = 0.0, True
    for pod, cost in zip(rows.pod, spent, strict=True):
        model = int(there.node_model[there.pod_node[pod]])
        watts = board_watts(there.models[model]) if model != UNKNOWN else None
        known = known and (watts is not None or cost.start == 0)
        used += (watts or 0.0) * cost.start
    idle = idle_watts(there, occupancy(there))
    models = [_model_of(there, rows.node[name]) for name in answer.emptied_nodes]
    saved = sum(idle.get(model, 0.0) for model in models) * gain_s
    return {
        "kwh_spent": used / HOUR_S / 1000 if known else None,
        "kwh_saved": saved / HOUR_S / 1000 if models and all(model in idle for model in models) else None,
    }


def _model_of(snapshot: Snapshot, node: int) -> str:
    return str((*snapshot.models, "")[snapshot.node_model[node]])


def _money(cluster: str, rows: Rows, spent: Sequence[Cost], chains: Sequence[ChainPrice]) -> dict[str, Any]:
    """US dollars spent, and what the emptied nodes are worth; None where nobody has said what a GPU-hour costs."""
    there = nearest_of(cluster, ["usd_cents_per_gpu_hour"])
    snapshot = rows.snapshot
    models, tenants = (*snapshot.models, ""), (*snapshot.tenants, "")
    uses = [
        (models[snapshot.node_model[snapshot.pod_node[pod]]], tenants[snapshot.pod_tenant[pod]], cost.gpu_seconds)
        for pod, cost in zip(rows.pod, spent, strict=True)
    ]
    gains = [(_model_of(snapshot, rows.node[chain.node]), "", chain.gained) for chain in chains]
    return {"usd_spent": _dollars(there, uses), "usd_gained": _dollars(there, gains) if gains else None}


def _dollars(there: Callable[[str, str], dict[str, int | None]], uses: list[tuple[str, str, float]]) -> float | None:
    total = 0.0
    for model, tenant, gpu_seconds in uses:
        cents = there(model, tenant)["usd_cents_per_gpu_hour"]
        if cents is None:
            return None
        total += gpu_seconds / HOUR_S * cents / 100
    return total


def _freed(answer: core.Plan, snapshot: Snapshot) -> list[dict[str, int]]:
    """Nodes emptied, by their GPUs, largest first."""
    wanted = set(answer.emptied_nodes)
    sizes = Counter(
        int(snapshot.node_allocatable[row]) for row, name in enumerate(snapshot.node_name) if name in wanted
    )
    return [{"gpus": gpus, "nodes": sizes[gpus]} for gpus in sorted(sizes, reverse=True)]


def _touched(rows: Rows) -> tuple[list[str], list[str]]:
    there = rows.snapshot
    models = {_model_of(there, int(there.pod_node[pod])) for pod in rows.pod} - {""}
    tenants = {(*there.tenants, "")[there.pod_tenant[pod]] for pod in rows.pod}
    return sorted(models), sorted(tenants)


def _settings(cluster: str, models: Sequence[str], tenants: Sequence[str]) -> list[dict[str, str]]:
    """Each rate as it counts for the whole plan, most careful first where pools and tenants differ, and its origin."""
    policy = policy_for(cluster, models, tenants)
    return [
        {"name": one.name, "label": one.label, "value": policy[one.name].words, "origin": policy[one.name].origin,
         "meaning": one.meaning}
        for one in PRICES
    ]  # fmt: skip
