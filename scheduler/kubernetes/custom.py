"""Kinds that installations add: gangs, jobs, queues, quotas and topologies.  Only the fields that are read."""

import msgspec

from scheduler.kubernetes.builtin import JobSpec
from scheduler.kubernetes.wire import LabelSelector, Quantity, Thing, Wire

Amounts = dict[str, Quantity]


class Owned(Thing, frozen=True, kw_only=True):
    """An object that is read for its labels and owners alone."""


# JobSet and LeaderWorkerSet


class JobTemplate(Wire, frozen=True, kw_only=True):
    spec: JobSpec = JobSpec()


class ReplicatedJob(Wire, frozen=True, kw_only=True):
    name: str = ""
    replicas: int = 1
    template: JobTemplate = JobTemplate()


class JobSetSpec(Wire, frozen=True, kw_only=True):
    replicated_jobs: tuple[ReplicatedJob, ...] = ()


class JobSet(Thing, frozen=True, kw_only=True):
    spec: JobSetSpec = JobSetSpec()


class LeaderWorkerTemplate(Wire, frozen=True, kw_only=True):
    size: int = 1


class LeaderWorkerSetSpec(Wire, frozen=True, kw_only=True):
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()


class LeaderWorkerSet(Thing, frozen=True, kw_only=True):
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


# Kubeflow


class SchedulingPolicy(Wire, frozen=True, kw_only=True):
    min_available: int | None = None


class RunPolicy(Wire, frozen=True, kw_only=True):
    scheduling_policy: SchedulingPolicy | None = None


class ReplicaSpec(Wire, frozen=True, kw_only=True):
    replicas: int | None = None


class ElasticPolicy(Wire, frozen=True, kw_only=True):
    min_replicas: int | None = None
    max_replicas: int | None = None


Replicas = dict[str, ReplicaSpec]


class TrainingJobSpec(Wire, frozen=True, kw_only=True):
    """Each kind has one of the maps of replicas by role."""

    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy | None = None
    pytorch_replica_specs: Replicas = msgspec.field(default_factory=dict)
    tf_replica_specs: Replicas = msgspec.field(default_factory=dict)
    mpi_replica_specs: Replicas = msgspec.field(default_factory=dict)
    xgb_replica_specs: Replicas = msgspec.field(default_factory=dict)
    paddle_replica_specs: Replicas = msgspec.field(default_factory=dict)
    jax_replica_specs: Replicas = msgspec.field(default_factory=dict)

    @property
    def roles(self) -> Replicas:
        return (
            self.pytorch_replica_specs
            or self.tf_replica_specs
            or self.mpi_replica_specs
            or self.xgb_replica_specs
            or self.paddle_replica_specs
            or self.jax_replica_specs
        )


class TrainingJob(Thing, frozen=True, kw_only=True):
    spec: TrainingJobSpec = TrainingJobSpec()


# Ray


class WorkerGroup(Wire, frozen=True, kw_only=True):
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int = 1


class RayClusterSpec(Wire, frozen=True, kw_only=True):
    worker_group_specs: tuple[WorkerGroup, ...] = ()


class RayCluster(Thing, frozen=True, kw_only=True):
    spec: RayClusterSpec = RayClusterSpec()


# Gangs of schedulers


class VolcanoTopology(Wire, frozen=True, kw_only=True):
    mode: str = "hard"
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class VolcanoPodGroupSpec(Wire, frozen=True, kw_only=True):
    min_member: int = 0
    queue: str = ""
    network_topology: VolcanoTopology | None = None


class VolcanoPodGroup(Thing, frozen=True, kw_only=True):
    """Also the pod group of scheduler-plugins, which has no queue and no topology."""

    spec: VolcanoPodGroupSpec = VolcanoPodGroupSpec()


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    topology: str = ""
    required_topology_level: str = ""
    preferred_topology_level: str = ""


class SubGroup(Wire, frozen=True, kw_only=True):
    name: str = ""
    min_member: int | None = None
    topology_constraint: TopologyConstraint | None = None


class KaiPodGroupSpec(Wire, frozen=True, kw_only=True):
    min_member: int | None = None
    queue: str = ""
    topology_constraint: TopologyConstraint = TopologyConstraint()
    sub_groups: tuple[SubGroup, ...] = ()


class KaiPodGroup(Thing, frozen=True, kw_only=True):
    spec: KaiPodGroupSpec = KaiPodGroupSpec()


class PodSetTopology(Wire, frozen=True, kw_only=True):
    required: str | None = None
    preferred: str | None = None


class PodSet(Wire, frozen=True, kw_only=True):
    name: str = "main"
    count: int = 1
    min_count: int | None = None
    topology_request: PodSetTopology | None = None


class KueueAdmission(Wire, frozen=True, kw_only=True):
    cluster_queue: str = ""


class KueueWorkloadSpec(Wire, frozen=True, kw_only=True):
    pod_sets: tuple[PodSet, ...] = ()
    queue_name: str = ""


class KueueWorkloadStatus(Wire, frozen=True, kw_only=True):
    admission: KueueAdmission | None = None


class KueueWorkload(Thing, frozen=True, kw_only=True):
    spec: KueueWorkloadSpec = KueueWorkloadSpec()
    status: KueueWorkloadStatus = KueueWorkloadStatus()


# Queues and quotas


class FlavorResource(Wire, frozen=True, kw_only=True):
    name: str
    nominal_quota: Quantity | None = None
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(Wire, frozen=True, kw_only=True):
    name: str
    resources: tuple[FlavorResource, ...] = ()


class ResourceGroup(Wire, frozen=True, kw_only=True):
    flavors: tuple[FlavorQuotas, ...] = ()


class FairSharing(Wire, frozen=True, kw_only=True):
    weight: Quantity | None = None


class ClusterQueueSpec(Wire, frozen=True, kw_only=True):
    """``cohort`` in v1beta1, ``cohortName`` since v1beta2."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort: str = ""
    cohort_name: str = ""
    stop_policy: str = ""
    fair_sharing: FairSharing | None = None


class ClusterQueue(Thing, frozen=True, kw_only=True):
    spec: ClusterQueueSpec = ClusterQueueSpec()


class CohortSpec(Wire, frozen=True, kw_only=True):
    """``parent`` in v1alpha1, ``parentName`` since v1beta1."""

    parent: str = ""
    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_sharing: FairSharing | None = None


class Cohort(Thing, frozen=True, kw_only=True):
    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(Wire, frozen=True, kw_only=True):
    cluster_queue: str = ""
    stop_policy: str = ""


class LocalQueue(Thing, frozen=True, kw_only=True):
    spec: LocalQueueSpec = LocalQueueSpec()


class ResourceFlavorSpec(Wire, frozen=True, kw_only=True):
    node_labels: dict[str, str] = msgspec.field(default_factory=dict)


class ResourceFlavor(Thing, frozen=True, kw_only=True):
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class KaiResource(Wire, frozen=True, kw_only=True):
    """GPUs, fractions allowed; -1 is unlimited."""

    quota: float | None = None
    limit: float | None = None
    over_quota_weight: float | None = None


class KaiResources(Wire, frozen=True, kw_only=True):
    gpu: KaiResource | None = None


class KaiQueueSpec(Wire, frozen=True, kw_only=True):
    display_name: str = ""
    parent_queue: str = ""
    resources: KaiResources | None = None


class KaiQueue(Thing, frozen=True, kw_only=True):
    spec: KaiQueueSpec = KaiQueueSpec()


class Guarantee(Wire, frozen=True, kw_only=True):
    resource: Amounts = msgspec.field(default_factory=dict)


class VolcanoQueueSpec(Wire, frozen=True, kw_only=True):
    weight: int | None = None
    parent: str = ""
    capability: Amounts = msgspec.field(default_factory=dict)
    deserved: Amounts = msgspec.field(default_factory=dict)
    guarantee: Guarantee = Guarantee()


class VolcanoQueueStatus(Wire, frozen=True, kw_only=True):
    state: str = ""


class VolcanoQueue(Thing, frozen=True, kw_only=True):
    spec: VolcanoQueueSpec = VolcanoQueueSpec()
    status: VolcanoQueueStatus = VolcanoQueueStatus()


# Topologies


class TopologyLevel(Wire, frozen=True, kw_only=True):
    node_label: str
    alias: str = ""


class TopologySpec(Wire, frozen=True, kw_only=True):
    """Widest level first."""

    levels: tuple[TopologyLevel, ...] = ()


class Topology(Thing, frozen=True, kw_only=True):
    """Kueue's and KAI's alike."""

    spec: TopologySpec = TopologySpec()


class ExactMatch(Wire, frozen=True, kw_only=True):
    name: str = ""


class RegexMatch(Wire, frozen=True, kw_only=True):
    pattern: str = ""


class MemberSelector(Wire, frozen=True, kw_only=True):
    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: LabelSelector | None = None


class HyperNodeMember(Wire, frozen=True, kw_only=True):
    type: str = ""
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(Wire, frozen=True, kw_only=True):
    """Tier 1 is closest to the nodes."""

    tier: int = 1
    tier_name: str = ""
    members: tuple[HyperNodeMember, ...] = ()


class HyperNode(Thing, frozen=True, kw_only=True):
    spec: HyperNodeSpec = HyperNodeSpec()
