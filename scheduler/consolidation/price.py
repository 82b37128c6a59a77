"""What a plan costs and gains, chain by chain, and the plan without the chains that are not worth it.

Ours: worth = GPU-seconds gained / GPU-seconds spent.  Gained: the GPUs of a node emptied net, for as long as a whole
node stays worth more than its pieces (``gain_s``).  Spent: the sum of ``performance.interruption`` over its moves.
Karpenter's ``Balanced`` (designs/balanced-consolidation.md): (savings / pool cost) / (disruption / pool disruption),
taken from 0.5 on; savings and cost in GPUs here, disruption 1 a pod and 1 a node.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler.cluster.mobility import gang_spare
from scheduler.cluster.occupancy import EMPTY, occupancy
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.performance.interruption import Cost, Rates, interruption
from scheduler.plan.plan import Kept, Plan
from scheduler.plan.resolve import Rows, resolve
from scheduler.plan.statement import keep
from scheduler.plan.verify import verify

NOT_WORTH_IT = "not_worth_it"  # reason of nodes that a plan at any price would have emptied

RatesOf = Callable[[str, str], Rates]  # GPU model of the pod's node, tenant ("" where unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPrice:
    """One drained node: GPUs gained net of empty nodes used, GPU-seconds gained and spent, and Karpenter's score."""

    chain: int
    node: str
    moves: int
    gpus: float
    gained: float
    spent: float
    karpenter: float

    @property
    def worth(self) -> float:
        return self.gained / self.spent if self.spent else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surge:
    """Second copies of one pool: free GPUs before, and those that the fullest wave takes."""

    gpu_model: str
    free: float
    peak: float
    largest: int  # GPUs of the largest pod that moves there
    places: int  # nodes on which such a pod's copy could stand before the first move


def move_costs(plan: Plan, snapshot: Snapshot, rates_of: RatesOf) -> tuple[Cost, ...]:
    """One cost per move, in the order of the moves."""
    return _costs(resolve(plan, snapshot), rates_of)


def _costs(rows: Rows, rates_of: RatesOf) -> tuple[Cost, ...]:
    snapshot = rows.snapshot
    spare = gang_spare(snapshot).tolist()
    found = []
    for pod in rows.pod:
        model, tenant = int(snapshot.node_model[snapshot.pod_node[pod]]), int(snapshot.pod_tenant[pod])
        rates = rates_of(
            snapshot.models[model] if model != UNKNOWN else "", snapshot.tenants[tenant] if tenant != UNKNOWN else ""
        )
        gang = int(snapshot.pod_gang[pod])
        found.append(interruption(snapshot, pod, rates, spare[gang] if gang != UNKNOWN else None))
    return tuple(found)


def chain_prices(plan: Plan, snapshot: Snapshot, costs: Sequence[Cost], gain_s: float) -> tuple[ChainPrice, ...]:
    """One price per chain, in the order of chains.  ``gain_s``: seconds for which an emptied node counts."""
    rows = resolve(plan, snapshot)
    snapshot = rows.snapshot
    gpus = dict(zip(snapshot.node_name, snapshot.node_allocatable.tolist(), strict=True))
    share = _opened_shares(plan, rows)
    pool_gpus, pool_disruption = _pools(snapshot)
    spent: dict[int, float] = defaultdict(float)
    for move, cost in zip(plan.moves, costs, strict=True):
        spent[move.chain] += cost.gpu_seconds
    drains = {move.chain: move.drains for move in plan.moves}
    moves = Counter(move.chain for move in plan.moves)
    found = []
    for chain in sorted(drains):
        node = drains[chain]
        won = gpus[node] - share.get(node, 0.0)
        model = int(snapshot.node_model[rows.node[node]])
        pace = (moves[chain] + 1) / pool_disruption[model]
        found.append(
            ChainPrice(
                chain=chain,
                node=node,
                moves=moves[chain],
                gpus=won,
                gained=won * gain_s,
                spent=spent[chain],
                karpenter=won / pool_gpus[model] / pace if pool_gpus[model] else 0.0,
            )
        )
    return tuple(found)


def _opened_shares(plan: Plan, rows: Rows) -> dict[str, float]:
    """GPUs of empty nodes that receive, spread over the drained nodes that use them."""
    empty = occupancy(rows.snapshot).state == EMPTY
    users: dict[int, set[str]] = defaultdict(set)
    for move, target in zip(plan.moves, rows.target, strict=True):
        if empty[target]:
            users[target].add(move.drains)
    share: dict[str, float] = defaultdict(float)
    for target, nodes in users.items():
        for node in nodes:
            share[node] += float(rows.snapshot.node_allocatable[target]) / len(nodes)
    return share


def _pools(snapshot: Snapshot) -> tuple[list[float], list[float]]:
    """[m + 1] GPUs, and pods plus nodes, of each model; the last entry is for nodes without one."""
    models = len(snapshot.models)
    of_node = np.where(snapshot.node_model == UNKNOWN, models, snapshot.node_model)
    gpus = np.bincount(of_node, weights=snapshot.node_allocatable, minlength=models + 1)
    pods = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_agent)
    units = np.bincount(of_node, minlength=models + 1)
    units += np.bincount(of_node[snapshot.pod_node[pods]], minlength=models + 1)
    return gpus.tolist(), units.astype(float).tolist()


def worthwhile(plan: Plan, snapshot: Snapshot, rates_of: RatesOf, gain_s: float, least: float) -> Plan:
    """The plan without the chains whose worth is below ``least``, and without those that cannot do without them.

    Chains go until all that are left are worth it and the judge has nothing to say; in the end that may be none.
    """
    dear: dict[str, float] = {}
    while plan.moves:
        prices = chain_prices(plan, snapshot, move_costs(plan, snapshot, rates_of), gain_s)
        below = {price.chain: price for price in prices if price.worth < least}
        if not below:
            break
        dear |= {price.node: price.worth for price in below.values()}
        plan = _without(plan, snapshot, set(below))
    if not dear:
        return plan
    note = f"price: {len(dear)} nodes left out, each worth less than {least:g} times its cost"
    return msgspec.structs.replace(plan, kept=_kept(plan.kept, dear), notes=(*_without_cuts(plan), note))


def _without(plan: Plan, snapshot: Snapshot, chains: set[int]) -> Plan:
    """Fewer chains until the judge accepts; raises nothing, since no move at all is legal."""
    left = {move.chain for move in plan.moves} - chains
    while True:
        shorter = keep(plan, snapshot, left)
        verdict = verify(shorter, snapshot)
        if verdict.ok or not left:
            return shorter
        blamed = {shorter.moves[v.move].chain for v in verdict.violations if v.move is not None}
        left -= blamed or {max(left)}


def _without_cuts(plan: Plan) -> tuple[str, ...]:
    """``keep`` notes how many moves it kept; what was left out here is no cut of the search."""
    return tuple(note for note in plan.notes if not note.startswith("cut: ") or " moves kept" not in note)


def _kept(kept: tuple[Kept, ...], dear: dict[str, float]) -> tuple[Kept, ...]:
    return tuple(
        msgspec.structs.replace(row, reason=NOT_WORTH_IT) if row.node in dear and row.reason == "cut" else row
        for row in kept
    )


def surges(plan: Plan, snapshot: Snapshot) -> tuple[Surge, ...]:
    """Room for second copies, per GPU model that receives."""
    rows = resolve(plan, snapshot)
    snapshot, there = rows.snapshot, occupancy(rows.snapshot)
    taken: dict[int, Counter[int]] = defaultdict(Counter)
    largest: Counter[int] = Counter()
    for wave, pod, target in zip(plan.wave_of, rows.pod, rows.target, strict=True):
        model = int(snapshot.node_model[target])
        taken[model][wave] += int(snapshot.pod_gpus[pod]) * int(snapshot.pod_gpu_milli[pod])
        largest[model] = max(largest[model], int(snapshot.pod_gpus[pod]))
    found = []
    for model in sorted(taken):
        inside = snapshot.node_usable & (snapshot.node_model == model)
        free = np.maximum(there.free_gpus[inside], 0)
        found.append(
            Surge(
                gpu_model=snapshot.models[model] if model != UNKNOWN else "",
                free=float(free.sum()),
                peak=max(taken[model].values()) / 1000,
                largest=largest[model],
                places=int((free >= largest[model]).sum()),
            )
        )
    return tuple(found)
