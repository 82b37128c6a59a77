"""Whether a simulated node takes one more pod: the cluster's own admission, by the rules of the snapshot format."""

from msgspec.structs import replace

from console.connectors.changes import Identity
from console.connectors.world import World
from scheduler.cluster.build import build
from scheduler.cluster.feasibility import blocking_reason, eligibility
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.snapshot import Snapshot

INSTANT = "2026-01-01T00:00:00Z"  # a document needs one; nothing here depends on it


def shortage(world: World, node: Identity, pod: PodRecord) -> str | None:
    """The reason word for which ``node`` does not take ``pod``, None where it does."""
    record = world.nodes.get(node)
    if record is None:
        return "no such node"
    residents = world.residents(node)
    alone = _alone(record, residents, replace(pod, node=None, devices=[], lent_by=None))
    mine = next(p for p, name in enumerate(alone.pod_name) if name == pod.name and alone.pod_node[p] < 0)
    word = eligibility(alone).reason(mine, 0)
    if word:
        return word
    block = blocking_reason(alone, mine, 0, [p for p in range(len(alone.pod_name)) if alone.pod_live[p]])
    return None if block is None else block.reason


def _alone(node: NodeRecord, residents: list[PodRecord], newcomer: PodRecord) -> Snapshot:
    """The node, its pods and the one that wants to come as a cluster of their own."""
    there = {f"{pod.namespace}/{pod.name}" for pod in residents}
    pods = [_loose(pod, there) for pod in [*residents, newcomer]]
    return build(Document(taken_at=INSTANT, nodes=[replace(node, domain=None, asw=None)], pods=pods))


def _loose(pod: PodRecord, there: set[str]) -> PodRecord:
    """Without the ties to things that are not part of this one node."""
    return replace(pod, gang=None, topology=None, lent_by=pod.lent_by if pod.lent_by in there else None)
