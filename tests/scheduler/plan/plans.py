"""Plans in a few words for the tests of the judge."""

from collections.abc import Sequence
from typing import Any

from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.snapshot import MOVE_MODES, Snapshot
from scheduler.plan.operations import Migrate
from scheduler.plan.outcome import counts, emptied, moved
from scheduler.plan.plan import Bound, Plan

Step = tuple[str, str, int]  # pod of namespace jobs, target, wave


def plan(snapshot: Snapshot, steps: Sequence[Step], drains: dict[str, str] | None = None, **fields: Any) -> Plan:
    """A plan with honest promises: ``drains`` = the node that a pod's move helps to empty, else its own source."""
    row = {snapshot.pod_name[p]: p for p in range(len(snapshot.pod_name))}
    node = {name: n for n, name in enumerate(snapshot.node_name)}
    helps = drains or {}
    order: dict[str, int] = {}
    moves = []
    for pod, target, _ in steps:
        source = snapshot.node_name[snapshot.pod_node[row[pod]]]
        drained = helps.get(pod, source)
        moves.append(
            Migrate(
                cluster=snapshot.clusters[0].name,
                pod=snapshot.pod_key(row[pod]),
                uid=snapshot.pod_uid[row[pod]],
                source=source,
                target=target,
                mode="restart" if MOVE_MODES[snapshot.pod_move[row[pod]]] == "restart" else "copy",
                drains=drained,
                chain=order.setdefault(drained, len(order)),
                depth=0 if drained == source else 1,
            )
        )
    before = occupancy(snapshot)
    after = occupancy(moved(snapshot, {row[pod]: node[target] for pod, target, _ in steps}))
    names = tuple(snapshot.node_name[n] for n in emptied(before, after).nonzero()[0])
    promise = {
        "kind": "consolidation",
        "cluster": snapshot.clusters[0].name,
        "snapshot_digest": snapshot.digest,
        "planner": "by hand",
        "params": {},
        "seed": 0,
        "moves": tuple(moves),
        "wave_of": tuple(wave for _, _, wave in steps),
        "emptied_nodes": names,
        "before": counts(before),
        "after": counts(after),
        "kept": (),
        "bound": Bound(net_upper=len(names), gap=0.0, proven=True),
    }
    return Plan(**{**promise, **fields})
