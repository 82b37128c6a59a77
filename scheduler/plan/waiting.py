"""Pods that wait for a place, and what a gang of them needs: for the planner and for the judge."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.mobility import required_levels
from scheduler.cluster.records import FINISHED_PHASES
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.cluster.topology import ASW
from scheduler.plan.goal import CLUSTER, HOST


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """The pending pods of a gang, or one pod without a gang."""

    pods: Ints  # rows, in the order of their names
    gang: int  # UNKNOWN without one
    unit: str  # "members" or "pods"


def pending(snapshot: Snapshot) -> Bools:
    """[p] Neither bound nor finished nor ending."""
    over = np.array([phase in FINISHED_PHASES for phase in snapshot.pod_phase], np.bool_)
    return np.asarray((snapshot.pod_node == UNKNOWN) & ~over & ~snapshot.pod_terminating & ~snapshot.pod_live)


def waiting_of(snapshot: Snapshot, name: str) -> Waiting | None:
    """Those of the gang of that name, else of the pod and its whole gang; None where there is neither."""
    waits, space = pending(snapshot), name.partition("/")[0]
    for g, record in enumerate(snapshot.gangs):
        if f"{record.namespace}/{record.name}" == name:
            return Waiting(_rows(waits & (snapshot.pod_gang == g)), g, "members")
    spaces = {word: i for i, word in enumerate(snapshot.namespaces)}
    for p in np.flatnonzero(snapshot.pod_namespace == spaces.get(space, UNKNOWN)).tolist():
        if snapshot.pod_key(p) == name:
            gang = int(snapshot.pod_gang[p])
            if gang == UNKNOWN:
                return Waiting(_rows(waits & (np.arange(len(waits)) == p)), UNKNOWN, "pods")
            return Waiting(_rows(waits & (snapshot.pod_gang == gang)), gang, "members")
    return None


def _rows(mask: Bools) -> Ints:
    return np.flatnonzero(mask).astype(np.int32)


def mates(snapshot: Snapshot, gang: int) -> Ints:
    """Live members of the gang."""
    if gang == UNKNOWN:
        return np.zeros(0, np.int32)
    return _rows(snapshot.pod_live & (snapshot.pod_gang == gang))


def levels_of(snapshot: Snapshot, pods: Ints) -> list[str]:
    """Levels at which these pods, or their gang, require one domain; closest to the node first, unknown ones last."""
    order = {name: i for i, name in enumerate((HOST, *snapshot.levels))}
    wished = {level for p in pods.tolist() for level in required_levels(snapshot, p)}
    return sorted(wished, key=lambda level: (order.get(level, len(order)), level))


def on_devices(snapshot: Snapshot, pod: int) -> bool:
    """Whether it matters to the pod of which GPU model its node is: it takes devices, or slices of them."""
    return bool(snapshot.pod_gpus[pod]) or bool(snapshot.pod_specs[snapshot.pod_spec[pod]].mig)


def one_model(snapshot: Snapshot, waiting: int, running: Iterable[int]) -> Longs | None:
    """[n] the GPU model on which ``waiting`` more pods on devices of one job would have to stay; None: on any.

    One job, one GPU model: that of its running members, where these share one.  A pod alone is free, and so is a job
    that mixes models already.  UNKNOWN: not here; 0: nodes of which nobody says the model, else 1 + its ordinal.
    """
    model = snapshot.node_model.astype(np.int64) + 1
    there = {int(model[snapshot.pod_node[p]]) for p in running if on_devices(snapshot, p)}
    if not waiting or len(there) > 1 or (not there and waiting == 1):
        return None
    return model if not there else np.where(model == there.pop(), model, UNKNOWN)


def domains_at(snapshot: Snapshot, level: str, nodes: Ints) -> set[int]:
    """The domains of these nodes at the level; UNKNOWN among them where nobody knows one."""
    if level not in snapshot.levels:
        return {UNKNOWN}
    return set(snapshot.node_at_level[snapshot.levels.index(level), nodes].tolist())


def gang_pods(snapshot: Snapshot, node: str) -> Ints:
    """Live members of gangs on the node, agents apart."""
    here = np.array([name == node for name in snapshot.node_name], np.bool_)
    members = snapshot.pod_live & ~snapshot.pod_agent & (snapshot.pod_gang != UNKNOWN)
    return _rows(members & here[np.where(snapshot.pod_live, snapshot.pod_node, 0)])


def shared_domain(snapshot: Snapshot, node: int, level: str = "") -> tuple[str, str]:
    """Level and name of the domain in which a spare of the node is looked for; "" where nobody knows one.

    ``level`` "": the access switch, or where the cluster knows no such level the lowest domain.  CLUSTER: none.
    """
    if level == CLUSTER:
        return CLUSTER, ""
    at = snapshot.levels.index(level or ASW) if (level or ASW) in snapshot.levels else UNKNOWN
    domain = int(snapshot.node_at_level[at, node]) if at != UNKNOWN else int(snapshot.node_domain[node])
    if domain == UNKNOWN:
        return "", ""
    return snapshot.levels[snapshot.domain_level[domain]], snapshot.domain_name[domain]
