"""What a plan costs and gains in all, as one document: the same for the page, the API and the command line."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.performance.energy import board_watts, idle_watts
from scheduler.performance.interruption import Cost, RatesOf, after_waiting, costs
from scheduler.plan.plan import ROLLBACK, Plan
from scheduler.plan.price import KARPENTER_TAKES, ChainPrice, chain_prices, surges
from scheduler.plan.resolve import Rows, resolve

HOUR_S = 3600
LISTED = 200  # chains that are listed, the least worth first
CentsOf = Callable[[str, str], int | None]  # GPU model, tenant -> US cents of a GPU-hour, None where nobody says


def no_cents(model: str, tenant: str) -> int | None:
    """Nobody says what a GPU-hour costs."""
    return None


def costs_of(plan: Plan, rows: Rows, rates_of: RatesOf) -> list[Cost]:
    """What each move costs as the plan runs it: those that wait for a checkpoint lose what is written after it."""
    found = costs(rows.snapshot, rows.pod, rates_of)
    waits = [move.checkpoint for move in plan.moves]
    return [
        cost if wait is None else after_waiting(cost, wait.lost_s, wait.lost_after_s)
        for cost, wait in zip(found, waits, strict=True)
    ]


def bill(
    plan: Plan, snapshot: Snapshot, rates_of: RatesOf, gain_s: float, least: float, cents_of: CentsOf = no_cents
) -> dict[str, Any]:
    """GPU time in GPU-seconds, traffic in MiB, energy in kWh, money in USD; None where nobody knows.

    ``gain_s``: for so long an emptied node counts; ``least``: how many times its cost a node must gain.
    """
    rows = resolve(plan, snapshot)
    spent = costs_of(plan, rows, rates_of)
    aimed = plan.kind == ROLLBACK or plan.aim is not None  # then no node is emptied for its own sake
    chains = () if aimed else chain_prices(plan, snapshot, [cost.gpu_seconds for cost in spent], gain_s)
    return {
        **_spent(plan, costs(rows.snapshot, rows.pod, rates_of), spent),
        **_traffic(rows, plan, spent),
        **_gained(chains),
        **_power(plan, rows, spent, gain_s),
        **_money(cents_of, rows, spent, chains),
        "gain_s": gain_s,
        "least_worth": least,
        "tenants": len(touched(rows)[1]),
        "freed": _freed(plan, snapshot),
        "surge": [
            {"gpu_model": one.gpu_model, "free": one.free, "peak": one.peak, "largest": one.largest,
             "places": one.places}
            for one in surges(plan, snapshot)
        ],
    }  # fmt: skip


def touched(rows: Rows) -> tuple[list[str], list[str]]:
    """GPU models and tenants of the pods that move; the tenant of unassigned ones is ""."""
    there = rows.snapshot
    models = {_model_of(there, int(there.pod_node[pod])) for pod in rows.pod} - {""}
    tenants = {(*there.tenants, "")[there.pod_tenant[pod]] for pod in rows.pod}
    return sorted(models), sorted(tenants)


def _spent(plan: Plan, now: Sequence[Cost], spent: Sequence[Cost]) -> dict[str, Any]:
    """``waiting`` moves wait for a checkpoint; without that they would lose ``lost_unwaited`` more in sum."""
    return {
        "start": sum(cost.start for cost in spent),
        "rebuild": sum(cost.rebuild for cost in spent),
        "lost": sum(cost.lost for cost in spent),
        "risk": sum(cost.risk for cost in spent),
        "spent": sum(cost.gpu_seconds for cost in spent),
        "at_checkpoint": sum(cost.at_checkpoint for cost in now),
        "waits": sum(cost.next_checkpoint_s is not None for cost in now),
        "waiting": sum(move.checkpoint is not None for move in plan.moves),
        "lost_unwaited": sum(cost.lost for cost in now) - sum(cost.lost for cost in spent),
        "assumed": dict(Counter(word for cost in spent for word in cost.assumed)),
    }


def _traffic(rows: Rows, plan: Plan, spent: Sequence[Cost]) -> dict[str, Any]:
    """What is fetched in all, and in the fullest planned wave: out of the store, and into one switch."""
    there = rows.snapshot
    asw = there.node_at_level[there.levels.index("asw")] if "asw" in there.levels else None
    store: dict[int, float] = defaultdict(float)
    switch: dict[tuple[int, int], float] = defaultdict(float)
    for wave, target, cost in zip(plan.wave_of, rows.target, spent, strict=True):
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


def _power(plan: Plan, rows: Rows, spent: Sequence[Cost], gain_s: float) -> dict[str, Any]:
    """kWh at most spent, by the data sheets; kWh saved if what is emptied net is switched off, as measured."""
    there = rows.snapshot
    used, known = 0.0, True
    for pod, cost in zip(rows.pod, spent, strict=True):
        model = int(there.node_model[there.pod_node[pod]])
        watts = board_watts(there.models[model]) if model != UNKNOWN else None
        known = known and (watts is not None or cost.start == 0)
        used += (watts or 0.0) * cost.start
    idle = idle_watts(there, occupancy(there))
    models = [_model_of(there, rows.node[name]) for name in plan.emptied_nodes]
    saved = sum(idle.get(model, 0.0) for model in models) * gain_s
    return {
        "kwh_spent": used / HOUR_S / 1000 if known else None,
        "kwh_saved": saved / HOUR_S / 1000 if models and all(model in idle for model in models) else None,
    }


def _model_of(snapshot: Snapshot, node: int) -> str:
    return str((*snapshot.models, "")[snapshot.node_model[node]])


def _money(cents_of: CentsOf, rows: Rows, spent: Sequence[Cost], chains: Sequence[ChainPrice]) -> dict[str, Any]:
    """US dollars spent, and what the emptied nodes are worth; None where nobody has said what a GPU-hour costs."""
    snapshot = rows.snapshot
    models, tenants = (*snapshot.models, ""), (*snapshot.tenants, "")
    uses = [
        (models[snapshot.node_model[snapshot.pod_node[pod]]], tenants[snapshot.pod_tenant[pod]], cost.gpu_seconds)
        for pod, cost in zip(rows.pod, spent, strict=True)
    ]
    gains = [(_model_of(snapshot, rows.node[chain.node]), "", chain.gained) for chain in chains]
    return {"usd_spent": _dollars(cents_of, uses), "usd_gained": _dollars(cents_of, gains) if gains else None}


def _dollars(cents_of: CentsOf, uses: list[tuple[str, str, float]]) -> float | None:
    total = 0.0
    for model, tenant, gpu_seconds in uses:
        cents = cents_of(model, tenant)
        if cents is None:
            return None
        total += gpu_seconds / HOUR_S * cents / 100
    return total


def _freed(plan: Plan, snapshot: Snapshot) -> list[dict[str, int]]:
    """Nodes emptied, by their GPUs, largest first."""
    wanted = set(plan.emptied_nodes)
    sizes = Counter(
        int(snapshot.node_allocatable[row]) for row, name in enumerate(snapshot.node_name) if name in wanted
    )
    return [{"gpus": gpus, "nodes": sizes[gpus]} for gpus in sorted(sizes, reverse=True)]
