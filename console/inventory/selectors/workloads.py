"""A workload: all pods that one owner made in one namespace, wherever they run.

Names count within their namespace and cluster only: a/trainer and b/trainer are two workloads.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from console.inventory.archive import UNKNOWN, Snapshot
from console.inventory.cells import asw_of_nodes
from console.inventory.selectors.pods import PodRow, rows_of_pods, seconds_since, workload_name
from console.inventory.selectors.viewing import Filters, NotThereError, Reading, mask_of_scope, readings
from console.tenancy.selectors import tenant_scope

SHOWN_PODS = 500


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One pod of a workload with what its place and its gang say; times in seconds of the snapshot's own clock."""

    pod: PodRow
    asw: str | None
    gang: str | None
    running_s: int | None
    since_checkpoint_s: int | None


@dataclass(frozen=True, slots=True)
class WorkloadCard:
    """The page of one workload.  Sums are over all pods that the viewer may see, ``pods`` are the first by name.

    ``live`` ones hold their GPUs, ``waiting`` ones have no node yet; the others have ended or stand on unknown nodes.
    """

    source: str
    cluster: str
    namespace: str
    name: str
    kinds: tuple[str, ...]
    tenants: tuple[str, ...]
    gangs: tuple[str, ...]
    pods_total: int
    live: int
    waiting: int
    gpu_milli: int
    nodes: int
    asws: int
    pods: tuple[MemberRow, ...]
    observed_at: datetime
    period_s: int
    revision: int

    @property
    def first_waiting(self) -> PodRow | None:
        """Of those listed, one that stands for all of its gang that wait."""
        return next((one.pod for one in self.pods if one.pod.node is None and one.pod.phase == "Pending"), None)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def workload_card(viewer: Any, cluster: str, key: str, *, source: str = "") -> WorkloadCard:
    """The workload ``namespace/name``.  Raises ``NotThereError``: where no pod of it is the viewer's just as of none.

    Where several sources have such a workload, the first by name is shown unless ``source`` says which.
    """
    scope = tenant_scope(viewer)
    space, _, name = key.partition("/")
    for reading in readings(Filters(source=source, cluster=cluster)):
        found = _members(reading.snapshot, cluster, space, name) & mask_of_scope(scope, reading.snapshot)
        if found.any():
            return _card(reading, np.flatnonzero(found), cluster, space, name)
    raise NotThereError("no such workload")


def _members(snapshot: Snapshot, cluster: str, space: str, name: str) -> NDArray[np.bool_]:
    """[p] pods of that workload; by their specs, of which there are few."""
    made = np.array([*(workload_name(spec) == name for spec in snapshot.pod_specs), False])
    here = np.array([known == space for known in snapshot.namespaces] or [False])
    within = np.array([known.name == cluster for known in snapshot.clusters] or [False])
    if not len(snapshot.pod_name):
        return np.zeros(0, dtype=np.bool_)
    return np.asarray(made[snapshot.pod_spec] & here[snapshot.pod_namespace] & within[snapshot.pod_cluster])


def _card(reading: Reading, pods: NDArray[np.intp], cluster: str, space: str, name: str) -> WorkloadCard:
    snapshot = reading.snapshot
    live = pods[snapshot.pod_live[pods]]
    nodes = np.unique(snapshot.pod_node[live])
    asws = np.unique(asw_of_nodes(snapshot)[nodes])
    specs = [snapshot.pod_specs[spec] for spec in np.unique(snapshot.pod_spec[pods])]
    return WorkloadCard(
        source=reading.source,
        cluster=cluster,
        namespace=space,
        name=name,
        kinds=tuple(sorted({spec.owner.kind for spec in specs if spec.owner is not None})),
        tenants=tuple(sorted({snapshot.tenants[t] for t in snapshot.pod_tenant[pods] if t != UNKNOWN})),
        gangs=tuple(sorted({snapshot.gangs[g].name for g in snapshot.pod_gang[pods] if g != UNKNOWN})),
        pods_total=len(pods),
        live=len(live),
        waiting=int((snapshot.pod_node[pods] == UNKNOWN).sum()),
        gpu_milli=int((snapshot.pod_gpus[live].astype(np.int64) * snapshot.pod_gpu_milli[live]).sum()),
        nodes=len(nodes),
        asws=int((asws != UNKNOWN).sum()),
        pods=tuple(_member(reading, int(pod)) for pod in pods[:SHOWN_PODS]),
        observed_at=reading.observation.observed_at,
        period_s=reading.period_s,
        revision=reading.observation.revision,
    )


def _member(reading: Reading, pod: int) -> MemberRow:
    snapshot = reading.snapshot
    node, gang = int(snapshot.pod_node[pod]), int(snapshot.pod_gang[pod])
    asw = int(asw_of_nodes(snapshot)[node]) if node >= 0 else UNKNOWN
    return MemberRow(
        pod=rows_of_pods(reading, [pod])[0],
        asw=None if asw == UNKNOWN else snapshot.domain_name[asw],
        gang=None if gang == UNKNOWN else snapshot.gangs[gang].name,
        running_s=seconds_since(snapshot, int(snapshot.pod_started_s[pod])),
        since_checkpoint_s=seconds_since(snapshot, int(snapshot.pod_checkpoint_s[pod])),
    )
