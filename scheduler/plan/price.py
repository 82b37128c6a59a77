"""What the chains of a plan cost and gain, and the room that second copies take.

Ours: worth = GPU-seconds gained / GPU-seconds spent.  Gained: the GPUs of a node emptied net, for as long as a whole
node stays worth more than its pieces (``gain_s``).  Spent: what the interruption of its pods costs, as priced by
``performance.interruption``.  Karpenter's ``Balanced`` (designs/balanced-consolidation.md): (savings / pool cost) /
(disruption / pool disruption), taken from 0.5 on; savings and cost in GPUs here, disruption 1 a pod and 1 a node.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import EMPTY, occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import Rows, resolve

KARPENTER_TAKES = 0.5


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


def chain_prices(plan: Plan, snapshot: Snapshot, gpu_seconds: Sequence[float], gain_s: float) -> tuple[ChainPrice, ...]:
    """One price per chain, in the order of chains.

    ``gpu_seconds`` [i] is what each move costs, ``gain_s`` the seconds for which an emptied node counts.
    """
    rows = resolve(plan, snapshot)
    snapshot = rows.snapshot
    gpus = dict(zip(snapshot.node_name, snapshot.node_allocatable.tolist(), strict=True))
    share = _opened_shares(plan, rows)
    pool_gpus, pool_disruption = _pools(snapshot)
    spent: dict[int, float] = defaultdict(float)
    for move, one in zip(plan.moves, gpu_seconds, strict=True):
        spent[move.chain] += one
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
                peak=max(taken[model].values()) / WHOLE_GPU_MILLI,
                largest=largest[model],
                places=int((free >= largest[model]).sum()),
            )
        )
    return tuple(found)
