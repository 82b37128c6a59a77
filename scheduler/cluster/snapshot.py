"""The frozen struct of arrays that every planner reads.

Axes: c cluster, l level, d domain, m GPU model, n node, t tenant, p pod, g gang, b disruption budget.
Rows are in canonical order whatever the input order: nodes by (cluster, name), pods by (cluster, namespace, name),
domains by (cluster, level, name); so equal input gives an equal snapshot, an equal digest and an equal plan.

Index columns (``_ix`` in thought, plain in name) use ``UNKNOWN`` (-1) for "not given"; ``pod_node`` also uses
``ORPHAN`` (-2) for a pod on a node that the snapshot does not list.  Absent integers are ``ABSENT``.
All arrays are read-only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import (
    ClusterRecord,
    DeviceRecord,
    GangRecord,
    OwnerRecord,
    ParallelismRecord,
    PdbRecord,
    ReplicasRecord,
    TaintRecord,
    TenantRecord,
    TolerationRecord,
    TopologyRecord,
)

Bools = NDArray[np.bool_]
Bytes = NDArray[np.int8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

UNKNOWN = -1
ORPHAN = -2
ABSENT = np.iinfo(np.int64).min
NO_LIMIT = np.iinfo(np.int32).max

MOVE_COPY, MOVE_RESTART, MOVE_NEVER = 0, 1, 2
MOVE_MODES = ("copy", "restart", "never")
WORK_CLASSES = ("training", "dev", "online", "offline")


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What many nodes share and only eligibility or people read; interned in ``Snapshot.node_specs``."""

    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[TaintRecord, ...] = ()
    resources: tuple[tuple[str, int], ...] = ()  # others than CPU, memory and devices; what is not listed is 0


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What many pods share and only eligibility, budgets or people read; interned in ``Snapshot.pod_specs``."""

    mig: tuple[tuple[str, int], ...] = ()
    gpu_models: tuple[str, ...] = ()
    owner: OwnerRecord | None = None
    workload: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    only_node: str | None = None
    tolerations: tuple[TolerationRecord, ...] = ()
    affinity: tuple[str, ...] = ()
    anti_affinity: tuple[str, ...] = ()
    topology: TopologyRecord | None = None
    host_ports: tuple[int | str, ...] = ()  # as ``ports`` reads them
    volume_zone: str | None = None
    locked_by: str | None = None
    lock_reason: str | None = None
    replicas: ReplicasRecord | None = None
    parallelism: ParallelismRecord | None = None
    resources: tuple[tuple[str, int], ...] = ()  # by name; none of amount 0


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One instant of one or more clusters.  Compare by ``digest``."""

    taken_at: str  # RFC 3339, the instant of now_s
    now_s: int
    digest: str  # sha256 hex of the canonical document
    warnings: tuple[str, ...]
    extras: dict[str, dict[str, object]]  # JSON path -> fields that the format does not know, kept as given

    clusters: tuple[ClusterRecord, ...]  # [c] by name
    models: tuple[str, ...]  # [m] GPU models of nodes, sorted; never ""
    levels: tuple[str, ...]  # [l] topology levels, closest to the node first
    zones: tuple[str, ...]
    namespaces: tuple[str, ...]
    tenants: tuple[str, ...]  # [t] every tenant listed or named by a pod, sorted
    tenant_records: tuple[TenantRecord, ...]  # the listed ones
    gangs: tuple[GangRecord, ...]  # [g]
    pdbs: tuple[PdbRecord, ...]  # [b]

    domain_name: tuple[str, ...]  # [d]
    domain_level: Ints  # [d] -> levels
    domain_parent: Ints  # [d] -> d or UNKNOWN
    domain_cluster: Ints  # [d] -> c

    node_name: tuple[str, ...]  # [n]
    node_cluster: Ints  # [n] -> c
    node_domain: Ints  # [n] -> lowest domain, or UNKNOWN
    node_at_level: Ints  # [l, n] -> domain of that level above the node, or UNKNOWN
    node_model: Ints  # [n] -> m or UNKNOWN (no GPU model)
    node_gpus: Ints  # [n] physical GPUs
    node_allocatable: Ints  # [n] min(gpus, allocatable_gpus, gpus - failed devices - MIG devices), >= 0
    node_declared_allocatable: Longs  # [n] as given, ABSENT where not
    node_gpu_memory_mib: Longs  # [n] per device, ABSENT where unknown
    node_cpu_milli: Longs  # [n]
    node_memory_mib: Longs  # [n]
    node_max_pods: Ints  # [n] NO_LIMIT where not given
    node_zone: Ints  # [n] -> zones (field, else the zone labels), UNKNOWN where neither
    node_declared_zone: Bools  # [n] zone came from the field
    node_declared_asw: Bools  # [n] domain came from the `asw` shorthand
    node_cordoned: Bools  # [n]
    node_ready: Bools  # [n]
    node_power_watts: Longs  # [n] ABSENT where not given
    node_spec: Ints  # [n] -> node_specs
    node_specs: tuple[NodeSpec, ...]
    node_devices: dict[int, tuple[DeviceRecord, ...]]  # only nodes that list devices

    pod_name: tuple[str, ...]  # [p]
    pod_namespace: Ints  # [p] -> namespaces
    pod_cluster: Ints  # [p] -> c
    pod_uid: tuple[str, ...]  # [p] "" where not given
    pod_node: Ints  # [p] -> n, UNKNOWN pending, ORPHAN unknown node
    pod_orphan_node: dict[int, str]  # the unknown node's name, orphans only
    pod_tenant: Ints  # [p] -> t or UNKNOWN (unassigned)
    pod_gang: Ints  # [p] -> g or UNKNOWN
    pod_lender: Ints  # [p] -> p of the sleeping pod named by lent_by, or UNKNOWN
    pod_gpus: Ints  # [p] devices touched
    pod_gpu_milli: Ints  # [p] share of each device
    pod_gpu_memory_mib: Longs  # [p] per device, 0 where not given
    pod_cpu_milli: Longs  # [p]
    pod_memory_mib: Longs  # [p]
    pod_priority: Longs  # [p]
    pod_lp: Bools  # [p] tier LP
    pod_standby: Bools  # [p] HP asleep
    pod_locked: Bools  # [p]
    pod_terminating: Bools  # [p]
    pod_agent: Bools  # [p] owner DaemonSet or Static
    pod_live: Bools  # [p] bound to a known node and not finished: the pods that use resources
    pod_phase: tuple[str, ...]  # [p] as given, "" where not
    pod_move: Bytes  # [p] MOVE_COPY, MOVE_RESTART, MOVE_NEVER
    pod_work_class: Bytes  # [p] -> WORK_CLASSES or UNKNOWN
    pod_standby_until_s: Longs  # [p]
    pod_locked_until_s: Longs  # [p]
    pod_deleted_at_s: Longs  # [p]
    pod_grace_s: Longs  # [p]
    pod_started_s: Longs  # [p]
    pod_checkpoint_s: Longs  # [p]
    pod_checkpoint_interval_s: Longs  # [p]
    pod_min_runtime_s: Longs  # [p]
    pod_spec: Ints  # [p] -> pod_specs
    pod_specs: tuple[PodSpec, ...]
    pod_devices: dict[int, tuple[int, ...]]  # only pods that list devices

    @property
    def node_usable(self) -> Bools:
        """[n] ready and not cordoned: of these empty, full, slack and emptied are said, if they have GPUs."""
        return np.asarray(self.node_ready & ~self.node_cordoned)

    def pod_key(self, pod: int) -> str:
        """``namespace/name``, unique in the pod's cluster."""
        return f"{self.namespaces[self.pod_namespace[pod]]}/{self.pod_name[pod]}"
