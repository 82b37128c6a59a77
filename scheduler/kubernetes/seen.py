"""Pods as they come off the wire: what differs from pod to pod is decoded, what many pods share stays bytes.

A fleet has 150,000 pods and some thousand templates.  The bytes are the key under which a template's reading is kept,
so that most pods cost a look-up.
"""

from typing import Any

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.kubernetes import builtin
from scheduler.kubernetes.plain import without_nulls
from scheduler.kubernetes.wire import Condition, Instant, Thing, Toleration, Wire

ABSENT = msgspec.Raw(b"null")
Bytes = tuple[object, ...]


class SeenContainer(Wire, frozen=True, kw_only=True):
    name: str
    resources: msgspec.Raw = ABSENT
    ports: msgspec.Raw = ABSENT
    restart_policy: str | None = None


class SeenSpec(Wire, frozen=True, kw_only=True):
    """Fields of ``builtin.PodSpec``."""

    node_name: str = ""
    containers: tuple[SeenContainer, ...] = ()
    init_containers: tuple[SeenContainer, ...] = ()
    overhead: msgspec.Raw = ABSENT
    resources: msgspec.Raw = ABSENT
    node_selector: msgspec.Raw = ABSENT
    affinity: msgspec.Raw = ABSENT
    tolerations: msgspec.Raw = ABSENT
    topology_spread_constraints: msgspec.Raw = ABSENT
    volumes: tuple[builtin.Volume, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    scheduling_gates: tuple[builtin.Gate, ...] = ()
    resource_claims: tuple[builtin.PodResourceClaim, ...] = ()
    scheduling_group: builtin.SchedulingGroup | None = None


class SeenContainerStatus(Wire, frozen=True, kw_only=True):
    name: str
    resources: msgspec.Raw = ABSENT
    allocated_resources: msgspec.Raw = ABSENT


class SeenStatus(Wire, frozen=True, kw_only=True):
    """Fields of ``builtin.PodStatus``."""

    phase: str = ""
    nominated_node_name: str = ""
    start_time: Instant | None = None
    conditions: tuple[Condition, ...] = ()
    resize: str = ""
    container_statuses: tuple[SeenContainerStatus, ...] = ()
    init_container_statuses: tuple[SeenContainerStatus, ...] = ()
    resource_claim_statuses: tuple[builtin.ClaimStatus, ...] = ()
    extended_resource_claim_status: builtin.BackedResources | None = None
    resources: msgspec.Raw = ABSENT
    allocated_resources: msgspec.Raw = ABSENT


class SeenPod(Thing, frozen=True, kw_only=True):
    spec: SeenSpec = SeenSpec()
    status: SeenStatus = SeenStatus()


def template_key(pod: SeenPod) -> Bytes:
    """All that the template's reading depends on; labels only where the constraints look at them."""
    spec, status = pod.spec, pod.status
    spread = bytes(spec.topology_spread_constraints)
    return (
        pod.metadata.namespace,
        tuple([(c.name, bytes(c.resources), bytes(c.ports), c.restart_policy) for c in spec.containers]),
        tuple([(c.name, bytes(c.resources), bytes(c.ports), c.restart_policy) for c in spec.init_containers]),
        bytes(spec.overhead),
        bytes(spec.resources),
        bytes(spec.node_selector),
        bytes(spec.affinity),
        bytes(spec.tolerations),
        spread,
        tuple(sorted(pod.metadata.labels.items())) if b"matchLabelKeys" in spread else (),
        tuple([(s.name, bytes(s.resources), bytes(s.allocated_resources)) for s in status.container_statuses]),
        tuple([(s.name, bytes(s.resources), bytes(s.allocated_resources)) for s in status.init_container_statuses]),
        bytes(status.resources),
        bytes(status.allocated_resources),
        status.resize,
        any(c.type == "PodResizePending" and c.reason == "Infeasible" for c in status.conditions),
    )


def typed(pod: SeenPod) -> builtin.Pod:
    """The whole pod decoded; raises ``InputError`` that names the field of a part that is not what it should be."""
    spec, status = pod.spec, pod.status
    return builtin.Pod(
        metadata=pod.metadata,
        spec=builtin.PodSpec(
            node_name=spec.node_name,
            containers=_containers(spec.containers, "$.spec.containers"),
            init_containers=_containers(spec.init_containers, "$.spec.initContainers"),
            overhead=_part(spec.overhead, builtin.Amounts, {}, "$.spec.overhead"),
            resources=_part(spec.resources, builtin.Resources, None, "$.spec.resources"),
            node_selector=_part(spec.node_selector, dict[str, str], {}, "$.spec.nodeSelector"),
            affinity=_part(spec.affinity, builtin.Affinity, None, "$.spec.affinity"),
            tolerations=_part(spec.tolerations, tuple[Toleration, ...], (), "$.spec.tolerations"),
            topology_spread_constraints=_part(
                spec.topology_spread_constraints,
                tuple[builtin.SpreadConstraint, ...],
                (),
                "$.spec.topologySpreadConstraints",
            ),
            volumes=spec.volumes,
            priority=spec.priority,
            priority_class_name=spec.priority_class_name,
            scheduling_gates=spec.scheduling_gates,
            resource_claims=spec.resource_claims,
            scheduling_group=spec.scheduling_group,
        ),
        status=builtin.PodStatus(
            phase=status.phase,
            nominated_node_name=status.nominated_node_name,
            start_time=status.start_time,
            conditions=status.conditions,
            resize=status.resize,
            container_statuses=_statuses(status.container_statuses, "$.status.containerStatuses"),
            init_container_statuses=_statuses(status.init_container_statuses, "$.status.initContainerStatuses"),
            resource_claim_statuses=status.resource_claim_statuses,
            resources=_part(status.resources, builtin.Resources, None, "$.status.resources"),
            allocated_resources=_part(status.allocated_resources, builtin.Amounts, {}, "$.status.allocatedResources"),
        ),
    )


def _containers(seen: tuple[SeenContainer, ...], path: str) -> tuple[builtin.Container, ...]:
    return tuple(
        builtin.Container(
            name=c.name,
            resources=_part(c.resources, builtin.Resources, builtin.Resources(), f"{path}[{i}].resources"),
            ports=_part(c.ports, tuple[builtin.ContainerPort, ...], (), f"{path}[{i}].ports"),
            restart_policy=c.restart_policy,
        )
        for i, c in enumerate(seen)
    )


def _statuses(seen: tuple[SeenContainerStatus, ...], path: str) -> tuple[builtin.ContainerStatus, ...]:
    return tuple(
        builtin.ContainerStatus(
            name=s.name,
            resources=_part(s.resources, builtin.Resources, None, f"{path}[{i}].resources"),
            allocated_resources=_part(s.allocated_resources, builtin.Amounts, {}, f"{path}[{i}].allocatedResources"),
        )
        for i, s in enumerate(seen)
    )


def _part(raw: msgspec.Raw, kind: Any, absent: Any, path: str) -> Any:
    if bytes(raw) == b"null":
        return absent
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        plain = without_nulls(msgspec.json.decode(raw))
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        raise InputError(path + where.rstrip("`"), None, what[:1].lower() + what[1:]) from None
