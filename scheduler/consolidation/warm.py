"""Compile the planner's kernels, so that nobody waits for it in front of a page.

    python -m scheduler.consolidation.warm

The compiled code is kept on disk; a process that finds it there is ready in a moment.
"""

from scheduler.cluster.build import build
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.consolidation.params import Params
from scheduler.consolidation.planner import consolidate
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


if __name__ == "__main__":
    warm_up()
