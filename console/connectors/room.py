"""Whether a simulated node takes one more pod: the cluster's own admission, by the rules of the snapshot format."""

from msgspec.structs import replace

from console.connectors.changes import Identity, identity
from console.connectors.world import LEASE, World
from scheduler.cluster.build import build
from scheduler.cluster.feasibility import blocking_reason, eligibility
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.snapshot import Snapshot

INSTANT = "2026-01-01T00:00:00Z"  # a document needs one; nothing here depends on it


def shortage(world: World, node: Identity, pod: PodRecord, *, borrows: bool = False) -> str | None:
    """The reason word for which ``node`` does not take ``pod``, None where it does.

    Room that is promised to somebody else counts as taken.  ``borrows``: it takes what ``pod.lent_by`` lends.
    """
    record = world.nodes.get(node)
    if record is None:
        return "no such node"
    residents = [*world.residents(node), *_promised(world, node, pod)]
    alone = _alone(record, residents, replace(pod, node=None, devices=[], lent_by=pod.lent_by if borrows else None))
    mine = next(p for p, name in enumerate(alone.pod_name) if name == pod.name and alone.pod_node[p] < 0)
    word = eligibility(alone).reason(mine, 0)
    if word:
        return word
    block = blocking_reason(alone, mine, 0, [p for p in range(len(alone.pod_name)) if alone.pod_live[p]])
    return None if block is None else block.reason


def answers_to(pod: PodRecord, claimant: str) -> bool:
    """Whether the pod is the one that was promised something, or belongs to it."""
    names = {identity(pod)[1], f"lease:{pod.labels.get(LEASE, '')}"}
    return claimant in (names | {f"{pod.namespace}/{pod.gang}"} if pod.gang else names)


def _promised(world: World, node: Identity, newcomer: PodRecord) -> list[PodRecord]:
    """Stand-ins for pods that have gone and whose room is promised to others than ``newcomer``."""
    found: list[PodRecord] = []
    taken = {kept.claimant: _arrived_milli(world, node, kept.claimant) for kept in world.kept.get(node, ())}
    for kept in world.kept.get(node, ()):
        there = world.pods.get(identity(kept.pod))
        if there is not None and there.uid == kept.pod.uid:
            continue  # it uses its room itself
        milli = kept.pod.gpus * kept.pod.gpu_milli
        if taken[kept.claimant] >= milli:
            taken[kept.claimant] -= milli
        elif not answers_to(newcomer, kept.claimant):
            found.append(replace(kept.pod, name=f"{kept.pod.name}-kept", uid=None, devices=[], terminating=False))
    return found


def _arrived_milli(world: World, node: Identity, claimant: str) -> int:
    """GPUs that the claimant has taken there since it was promised them."""
    since_s = min(kept.since_s for kept in world.kept[node] if kept.claimant == claimant)
    mine = (pod for pod in world.residents(node) if answers_to(pod, claimant))
    return sum(pod.gpus * pod.gpu_milli for pod in mine if (pod.started_s or 0) >= since_s)


def _alone(node: NodeRecord, residents: list[PodRecord], newcomer: PodRecord) -> Snapshot:
    """The node, its pods and the one that wants to come as a cluster of their own."""
    there = {f"{pod.namespace}/{pod.name}" for pod in residents}
    pods = [_loose(pod, there) for pod in [*residents, newcomer]]
    return build(Document(taken_at=INSTANT, nodes=[replace(node, domain=None, asw=None)], pods=pods))


def _loose(pod: PodRecord, there: set[str]) -> PodRecord:
    """Without the ties to things that are not part of this one node."""
    return replace(pod, gang=None, topology=None, lent_by=pod.lent_by if pod.lent_by in there else None)
