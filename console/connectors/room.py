"""Whether a simulated node takes one more pod: the cluster's own admission, by the rules of the snapshot format."""

from msgspec.structs import replace

from console.connectors.changes import Identity
from console.connectors.world import World
from scheduler.cluster.build import build
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.snapshot import Snapshot

INSTANT = "2026-01-01T00:00:00Z"  # a document needs one; nothing here depends on it


def shortage(world: World, node: Identity, pod: PodRecord) -> str | None:
    """What ``pod`` lacks on ``node``, None where it fits beside the pods that live there."""
    record = world.nodes.get(node)
    if record is None or not record.ready or record.cordoned:
        return "the node takes no pods"
    residents = world.residents(node)
    with_it = _alone(record, [*residents, replace(pod, node=record.name)])
    if record.max_pods is not None and len(residents) >= record.max_pods:
        return "pods"
    return _lacking(_alone(record, residents), with_it)


def _alone(node: NodeRecord, pods: list[PodRecord]) -> Snapshot:
    """The node and its pods as a cluster of their own."""
    there = {f"{pod.namespace}/{pod.name}" for pod in pods}
    loose = [
        replace(pod, gang=None, lent_by=pod.lent_by if pod.lent_by in there else None, tenant=None) for pod in pods
    ]
    return build(Document(taken_at=INSTANT, nodes=[replace(node, domain=None, asw=None)], pods=loose))


def _lacking(before: Snapshot, after: Snapshot) -> str | None:
    used, was = occupancy(after), occupancy(before)
    if used.used_cpu_milli[0] > after.node_cpu_milli[0]:
        return "CPU"
    if used.used_memory_mib[0] > after.node_memory_mib[0]:
        return "memory"
    if used.over_committed_milli[0] > was.over_committed_milli[0]:
        return "GPUs"
    return None
