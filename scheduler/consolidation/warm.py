"""Compile the planner's kernels, so that nobody waits for it in front of a page.

    python -m scheduler.consolidation.warm

The compiled code is kept on disk; a process that finds it there is ready in a moment.
"""

import numpy as np

from scheduler.cluster.build import build
from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.arena import compile_arena
from scheduler.consolidation.kinds import kinds_of
from scheduler.consolidation.packing import packing
from scheduler.consolidation.params import Params
from scheduler.consolidation.planner import consolidate
from scheduler.consolidation.refill import anneal
from scheduler.plan.ask import Ask
from scheduler.plan.goal import DRAIN, SHAPE

GOALS = (
    Ask(kind=DRAIN, nodes=("n0",)),
    Ask(kind=SHAPE, name="2G0C", slots=1),
)  # between them they use every kernel that goals add


def warm_up() -> None:
    """Plan a world of three nodes: one moves its pod to another, one stays and is asked why; then for goals."""
    nodes = [NodeRecord(name=f"n{i}", gpu_model="any", gpus=2, cpu_milli=2, memory_mib=2) for i in range(3)]
    pods = [PodRecord(name=f"p{i}", node=f"n{i}", gpus=max(1, i), cpu_milli=1, memory_mib=1) for i in range(3)]
    snapshot = build(Document(taken_at="2026-01-01T00:00:00Z", nodes=nodes, pods=pods))
    plan = consolidate(snapshot, Params())
    if len(plan.moves) != 1 or not plan.kept:
        raise RuntimeError("the planner does not empty the node that every planner empties")
    for ask in GOALS:
        if not consolidate(snapshot, Params(goal=ask)).moves:
            raise RuntimeError(f"the planner finds no move for {ask.kind}")
    _refill(snapshot)


def _refill(snapshot: Snapshot) -> None:
    """Only large gaps to the bound ask for it: no turn is taken here."""
    nodes = np.arange(len(snapshot.node_name))
    arena = compile_arena(snapshot, np.ones(len(nodes), np.bool_)).arena
    kinds = kinds_of(arena, borrowers(snapshot))
    nobody = np.zeros((len(nodes), len(kinds.first)), np.int64)
    anneal(packing(arena, kinds, nobody, nobody.copy(), seed=0), nodes, 0, 0, 1.0, 1.0, 0.0, 0.0)


if __name__ == "__main__":
    warm_up()
