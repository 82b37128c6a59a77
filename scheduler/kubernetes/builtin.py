"""Kinds that a Kubernetes API server has by itself: the fields of them that are read."""

import msgspec

from scheduler.kubernetes.wire import (
    Condition,
    Instant,
    LabelSelector,
    NodeSelector,
    Quantity,
    Taint,
    Thing,
    Toleration,
    Wire,
)

Amounts = dict[str, Quantity]


class NodeSpec(Wire, frozen=True, kw_only=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Wire, frozen=True, kw_only=True):
    capacity: Amounts = msgspec.field(default_factory=dict)
    allocatable: Amounts = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class Node(Thing, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ClaimUse(Wire, frozen=True, kw_only=True):
    """One entry of ``resources.claims``: a device claim that a container uses."""

    name: str
    request: str = ""


class Resources(Wire, frozen=True, kw_only=True):
    requests: Amounts = msgspec.field(default_factory=dict)
    limits: Amounts = msgspec.field(default_factory=dict)
    claims: tuple[ClaimUse, ...] = ()


class ContainerPort(Wire, frozen=True, kw_only=True):
    host_port: int = 0
    protocol: str = "TCP"
    host_ip: str = msgspec.field(name="hostIP", default="")


class Container(Wire, frozen=True, kw_only=True):
    name: str
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None


class PreferredTerm(Wire, frozen=True, kw_only=True):
    weight: int = 0


class NodeAffinity(Wire, frozen=True, kw_only=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredTerm, ...] = ()


class PodAffinityTerm(Wire, frozen=True, kw_only=True):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class PodAffinity(Wire, frozen=True, kw_only=True):
    """Also pod anti-affinity, which has the same fields."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredTerm, ...] = ()


class Affinity(Wire, frozen=True, kw_only=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(Wire, frozen=True, kw_only=True):
    topology_key: str = ""
    max_skew: int = 1
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()


class ClaimVolume(Wire, frozen=True, kw_only=True):
    claim_name: str


class Ephemeral(Wire, frozen=True, kw_only=True):
    """A claim of the pod's own, named POD-VOLUME."""


class OnNode(Wire, frozen=True, kw_only=True):
    """``hostPath`` or ``emptyDir``; an ``emptyDir`` in memory is no file."""

    medium: str = ""


class Volume(Wire, frozen=True, kw_only=True):
    name: str = ""
    host_path: OnNode | None = None
    empty_dir: OnNode | None = None
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: Ephemeral | None = None


class Gate(Wire, frozen=True, kw_only=True):
    name: str


class PodResourceClaim(Wire, frozen=True, kw_only=True):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGroup(Wire, frozen=True, kw_only=True):
    pod_group_name: str | None = None


class PodSpec(Wire, frozen=True, kw_only=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Amounts = msgspec.field(default_factory=dict)
    resources: Resources | None = None
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    scheduling_gates: tuple[Gate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    termination_grace_period_seconds: int | None = None


class ContainerStatus(Wire, frozen=True, kw_only=True):
    name: str
    resources: Resources | None = None
    allocated_resources: Amounts = msgspec.field(default_factory=dict)


class ClaimStatus(Wire, frozen=True, kw_only=True):
    name: str
    resource_claim_name: str | None = None


class BackedRequest(Wire, frozen=True, kw_only=True):
    resource_name: str = ""


class BackedResources(Wire, frozen=True, kw_only=True):
    """The claim that the scheduler made for extended resources of a pod which DRA backs."""

    resource_claim_name: str = ""
    request_mappings: tuple[BackedRequest, ...] = ()


class PodStatus(Wire, frozen=True, kw_only=True):
    phase: str = ""
    nominated_node_name: str = ""
    start_time: Instant | None = None
    conditions: tuple[Condition, ...] = ()
    resize: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[ClaimStatus, ...] = ()
    resources: Resources | None = None
    allocated_resources: Amounts = msgspec.field(default_factory=dict)


class Pod(Thing, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Namespace(Thing, frozen=True, kw_only=True):
    """Only its labels and annotations are read."""


class ClaimSpec(Wire, frozen=True, kw_only=True):
    volume_name: str = ""
    access_modes: tuple[str, ...] = ()


class PersistentVolumeClaim(Thing, frozen=True, kw_only=True):
    spec: ClaimSpec = ClaimSpec()


class VolumeAffinity(Wire, frozen=True, kw_only=True):
    required: NodeSelector | None = None


class VolumeSpec(Wire, frozen=True, kw_only=True):
    node_affinity: VolumeAffinity | None = None


class PersistentVolume(Thing, frozen=True, kw_only=True):
    spec: VolumeSpec = VolumeSpec()


class Scope(Wire, frozen=True, kw_only=True):
    scope_name: str = ""


class ScopeSelector(Wire, frozen=True, kw_only=True):
    match_expressions: tuple[Scope, ...] = ()


class ResourceQuotaSpec(Wire, frozen=True, kw_only=True):
    hard: Amounts = msgspec.field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuota(Thing, frozen=True, kw_only=True):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()


class BudgetSpec(Wire, frozen=True, kw_only=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class BudgetStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int = 0
    disruptions_allowed: int | None = None


class PodDisruptionBudget(Thing, frozen=True, kw_only=True):
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class JobSpec(Wire, frozen=True, kw_only=True):
    parallelism: int | None = None
    completions: int | None = None


class Job(Thing, frozen=True, kw_only=True):
    spec: JobSpec = JobSpec()


class GangPolicy(Wire, frozen=True, kw_only=True):
    min_count: int = 1


class GroupPolicy(Wire, frozen=True, kw_only=True):
    gang: GangPolicy | None = None


class TopologyKey(Wire, frozen=True, kw_only=True):
    key: str = ""


class GroupConstraints(Wire, frozen=True, kw_only=True):
    topology: tuple[TopologyKey, ...] = ()


class PodGroupSpec(Wire, frozen=True, kw_only=True):
    scheduling_policy: GroupPolicy = GroupPolicy()
    scheduling_constraints: GroupConstraints | None = None


class PodGroup(Thing, frozen=True, kw_only=True):
    """The gang of kube-scheduler itself (scheduling.k8s.io)."""

    spec: PodGroupSpec = PodGroupSpec()


class Pool(Wire, frozen=True, kw_only=True):
    name: str = ""
    generation: int = 0


class DeviceAttribute(Wire, frozen=True, kw_only=True):
    """One of several types is set; only text and truth are read."""

    string: str | None = None
    truth: bool | None = msgspec.field(name="bool", default=None)


class DeviceCapacity(Wire, frozen=True, kw_only=True):
    value: Quantity


class DeviceTaint(Wire, frozen=True, kw_only=True):
    key: str
    effect: str = ""


class CounterUse(Wire, frozen=True, kw_only=True):
    counter_set: str = ""


class DeviceFacts(Wire, frozen=True, kw_only=True):
    """``v1beta1`` keeps these one step deeper, under ``basic``; the node stands where slices say so for each device."""

    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    taints: tuple[DeviceTaint, ...] = ()
    consumes_counters: tuple[CounterUse, ...] = ()
    node_name: str = ""


class Device(DeviceFacts, frozen=True, kw_only=True):
    name: str
    basic: DeviceFacts | None = None


class ResourceSliceSpec(Wire, frozen=True, kw_only=True):
    driver: str = ""
    node_name: str = ""
    per_device_node_selection: bool = False
    pool: Pool = Pool()
    devices: tuple[Device, ...] = ()


class ResourceSlice(Thing, frozen=True, kw_only=True):
    spec: ResourceSliceSpec = ResourceSliceSpec()


class AllocatedDevice(Wire, frozen=True, kw_only=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None


class AllocatedDevices(Wire, frozen=True, kw_only=True):
    results: tuple[AllocatedDevice, ...] = ()


class Allocation(Wire, frozen=True, kw_only=True):
    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None


class Cel(Wire, frozen=True, kw_only=True):
    expression: str = ""


class CelSelector(Wire, frozen=True, kw_only=True):
    cel: Cel | None = None


class ExactRequest(Wire, frozen=True, kw_only=True):
    device_class_name: str = ""
    count: int | None = None
    allocation_mode: str = ""
    selectors: tuple[CelSelector, ...] = ()


class DeviceRequest(ExactRequest, frozen=True, kw_only=True):
    """``resource.k8s.io/v1beta1`` keeps the fields of ``exactly`` here."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: tuple[ExactRequest, ...] = ()


class DeviceClaim(Wire, frozen=True, kw_only=True):
    requests: tuple[DeviceRequest, ...] = ()


class ResourceClaimSpec(Wire, frozen=True, kw_only=True):
    devices: DeviceClaim = DeviceClaim()


class Consumer(Wire, frozen=True, kw_only=True):
    name: str = ""


class ResourceClaimStatus(Wire, frozen=True, kw_only=True):
    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()


class ResourceClaim(Thing, frozen=True, kw_only=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()
