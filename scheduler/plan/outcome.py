"""What a plan leads to: the snapshot after it, nodes by state, and the nodes it empties."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from scheduler.cluster.occupancy import EMPTY, FULL, NONE, SLACK, Occupancy
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.plan.plan import Counts


def counts(occupancy: Occupancy) -> Counts:
    """Nodes by state; those of which nothing is said are in none of them."""
    found = np.bincount(occupancy.state, minlength=FULL + 1)
    return Counts(slack_nodes=int(found[SLACK]), empty_nodes=int(found[EMPTY]), full_nodes=int(found[FULL]))


def emptied(before: Occupancy, after: Occupancy) -> Bools:
    """[n] Counted nodes that had live pods other than agents before, and have none after."""
    return np.asarray((before.state != NONE) & (before.workload_pods > 0) & (after.workload_pods == 0))


def closed(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    """The snapshot with these nodes cordoned; its digest and warnings are still the old ones."""
    shut = np.array([name in names for name in snapshot.node_name], np.bool_)
    return replace(snapshot, node_cordoned=frozen(snapshot.node_cordoned | shut))


def moved(snapshot: Snapshot, targets: Mapping[int, int]) -> Snapshot:
    """The snapshot with pods on other nodes (``targets``: pod -> node); its digest and warnings are still the old ones.

    A pod that moved is laid out anew: the devices that it listed were those of its old node.
    """
    if not targets:
        return snapshot
    node = snapshot.pod_node.copy()
    node[list(targets)] = list(targets.values())
    devices = {pod: listed for pod, listed in snapshot.pod_devices.items() if pod not in targets}
    return replace(snapshot, pod_node=frozen(node), pod_devices=devices)
