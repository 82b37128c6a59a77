"""Nodes of a simulated cluster that are kept for some pods: the rows of ``Hold`` operations are the holds."""

from console.connectors.changes import Identity
from console.connectors.choices import OperationState
from console.connectors.models import SimulatedCluster, SimulatedOperation
from console.connectors.tide import Held, Holds
from scheduler.cluster.records import PodRecord

LONGEST_HOLD_S = 7 * 24 * 3600


def holds(row: SimulatedCluster) -> Holds:
    """The holds that last at the cluster's present second, by node."""
    rows = SimulatedOperation.objects.filter(
        cluster=row, state=OperationState.SUCCEEDED, operation__type="hold", asked_s__gt=row.clock_s - LONGEST_HOLD_S
    )
    found: Holds = {}
    for operation, until_s in rows.order_by("pk").values_list("operation", "ready_s"):  # the last word on a node counts
        lasts_s = until_s if operation["seconds"] else 0  # the row's clock may lag behind the end of a hold
        found[operation["cluster"], operation["node"]] = Held(
            lasts_s, operation["least_gpus"], operation.get("least_cpu_milli", 0), operation.get("gang", "")
        )
    return {node: hold for node, hold in found.items() if hold.until_s > row.clock_s}


def held_for(row: SimulatedCluster, node: Identity, pod: PodRecord, now_s: int) -> str | None:
    """For whom ``node`` is held, in words, where that keeps the pod off."""
    held = holds(row).get(node)
    if held is None or now_s >= held.until_s or held.admits(pod):
        return None
    return f"{node[1]} is held for {held.gang or 'larger pods'}"
