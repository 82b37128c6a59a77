"""What an observer reports: one record per object of ``slackline/snapshot/v1``.

The field names, defaults and meanings are those of docs/snapshot-v1.md; nothing is derived here.  Every reader (JSON,
CSV, OpenB, a cluster manager) produces these records, and ``cluster.build`` turns them into a ``Snapshot``.

Units: GPUs whole, shares and CPU in thousandths (``_milli``), memory in MiB, times in seconds on the snapshot's own
clock (``_s``).  ``None`` means absent, which is never the same as zero.
"""

from typing import Literal

import msgspec

SCHEMA = "slackline/snapshot/v1"
WHOLE_GPU_MILLI = 1000
DEFAULT_CLUSTER = "default"
DEFAULT_NAMESPACE = "default"
AGENT_OWNERS = ("DaemonSet", "Static")
FINISHED_PHASES = ("Succeeded", "Failed")

Tier = Literal["HP", "LP"]
WorkClass = Literal["training", "dev", "online", "offline"]
MoveMode = Literal["copy", "restart", "never"]
Health = Literal["ok", "degraded", "failed"]


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Common options of all records: immutable, keyword-only, defaults left out of JSON."""


class ClusterRecord(_Record, frozen=True, kw_only=True):
    name: str
    region: str | None = None


class DomainRecord(_Record, frozen=True, kw_only=True):
    """A place in the network, e.g. an access switch; ``parent`` names a wider domain of the same cluster."""

    name: str
    level: str
    parent: str | None = None
    cluster: str = DEFAULT_CLUSTER


class TaintRecord(_Record, frozen=True, kw_only=True):
    key: str
    value: str | None = None
    effect: str = "NoSchedule"


class MigRecord(_Record, frozen=True, kw_only=True):
    profile: str
    count: int


class UtilisationRecord(_Record, frozen=True, kw_only=True):
    """Percent, 0-100."""

    sm: int | None = None
    memory: int | None = None


class DeviceRecord(_Record, frozen=True, kw_only=True):
    index: int
    uuid: str | None = None
    memory_mib: int | None = None
    health: Health = "ok"
    numa: int | None = None
    nvlink_group: int | str | None = None
    nics: list[str] = []
    mig: list[MigRecord] = []
    utilisation: UtilisationRecord | None = None


class NodeRecord(_Record, frozen=True, kw_only=True):
    name: str
    gpu_model: str = ""
    gpus: int
    cpu_milli: int = 0
    memory_mib: int = 0
    cluster: str = DEFAULT_CLUSTER
    domain: str | None = None
    asw: str | None = None
    allocatable_gpus: int | None = None
    gpu_memory_mib: int | None = None
    max_pods: int | None = None
    zone: str | None = None
    labels: dict[str, str] = {}
    taints: list[TaintRecord] = []
    cordoned: bool = False
    ready: bool = True
    devices: list[DeviceRecord] = []
    power_watts: int | None = None
    resources: dict[str, int] = {}


class OwnerRecord(_Record, frozen=True, kw_only=True):
    """The controlling object as observed, e.g. kind ``ReplicaSet``."""

    kind: str
    name: str | None = None


class TolerationRecord(_Record, frozen=True, kw_only=True):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class TopologyRecord(_Record, frozen=True, kw_only=True):
    """A wish for one common domain at a level: ``required`` binds, ``preferred`` does not."""

    required: str | None = None
    preferred: str | None = None


class ReplicasRecord(_Record, frozen=True, kw_only=True):
    min: int | None = None
    max: int | None = None


class ParallelismRecord(_Record, frozen=True, kw_only=True):
    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None


class PodRecord(_Record, frozen=True, kw_only=True):
    name: str
    gpus: int
    gpu_milli: int = WHOLE_GPU_MILLI
    cpu_milli: int = 0
    memory_mib: int = 0
    namespace: str = DEFAULT_NAMESPACE
    cluster: str = DEFAULT_CLUSTER
    uid: str | None = None
    tenant: str | None = None
    node: str | None = None
    mig: dict[str, int] = {}
    devices: list[int] = []
    gpu_memory_mib: int | None = None
    gpu_model: str | list[str] | None = None
    priority: int = 0
    tier: Tier = "HP"
    standby: bool = False
    standby_until_s: int | None = None
    lent_by: str | None = None
    work_class: WorkClass | None = msgspec.field(name="class", default=None)
    locked: bool = False
    locked_by: str | None = None
    lock_reason: str | None = None
    locked_until_s: int | None = None
    owner: OwnerRecord | str | None = None
    workload: str | None = None
    move: MoveMode = "copy"
    labels: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    only_node: str | None = None
    tolerations: list[TolerationRecord] = []
    affinity: list[str] = []
    anti_affinity: list[str] = []
    topology: TopologyRecord | None = None
    host_ports: list[int | str] = []
    volume_zone: str | None = None
    gang: str | None = None
    phase: str | None = None
    terminating: bool = False
    deleted_at_s: int | None = None
    grace_s: int | None = None
    started_s: int | None = None
    checkpoint_s: int | None = None
    checkpoint_interval_s: int | None = None
    min_runtime_s: int | None = None
    replicas: ReplicasRecord | None = None
    parallelism: ParallelismRecord | None = None
    resources: dict[str, int] = {}


class GangRecord(_Record, frozen=True, kw_only=True):
    name: str
    min_members: int
    namespace: str = DEFAULT_NAMESPACE
    cluster: str = DEFAULT_CLUSTER
    topology: TopologyRecord | None = None


class PdbRecord(_Record, frozen=True, kw_only=True):
    """A disruption budget; ``selector`` is ``key=value`` on pod labels of its namespace."""

    namespace: str
    selector: str
    cluster: str = DEFAULT_CLUSTER
    max_unavailable: int | None = None
    min_available: int | None = None


class QuotaRecord(_Record, frozen=True, kw_only=True):
    gpu_model: str
    nominal: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class TenantRecord(_Record, frozen=True, kw_only=True):
    name: str
    parent: str | None = None
    cap_gpus: int | None = None
    guarantee_gpus: int | None = None
    weight: int | None = None
    quotas: list[QuotaRecord] = []
    cohort: str | None = None


class Document(_Record, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """One snapshot document as observed, before any meaning is drawn from it."""

    taken_at: str
    nodes: list[NodeRecord]
    pods: list[PodRecord]
    now_s: int | None = None
    clusters: list[ClusterRecord] = []
    domains: list[DomainRecord] = []
    gangs: list[GangRecord] = []
    pdbs: list[PdbRecord] = []
    tenants: list[TenantRecord] = []
