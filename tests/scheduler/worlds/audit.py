"""Counts a generated document afresh, from its records alone."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduler.cluster.records import Document, NodeRecord, PodRecord

Where = tuple[str, str]


@dataclass
class Audit:
    """What stands on the nodes; lent pods use their lender's GPUs and CPU, but memory of their own."""

    document: Document
    nodes: dict[Where, NodeRecord] = field(init=False)
    pods_on: dict[Where, list[PodRecord]] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = {(n.cluster, n.name): n for n in self.document.nodes}
        assert len(self.nodes) == len(self.document.nodes)
        self.pods_on = defaultdict(list)
        for pod in self.placed:
            self.pods_on[pod.cluster, pod.node or ""].append(pod)
        assert set(self.pods_on) <= set(self.nodes)

    @property
    def placed(self) -> list[PodRecord]:
        return [p for p in self.document.pods if p.node is not None]

    @property
    def gpus(self) -> int:
        return sum(n.gpus for n in self.document.nodes)

    def share(self, pods: Iterable[PodRecord]) -> float:
        """GPUs of these pods over all GPUs."""
        return sum(p.gpus * p.gpu_milli for p in pods) / 1000 / self.gpus

    def overfull(self) -> list[Where]:
        """Nodes on which pods ask for more than there is, or whose shares do not fit on whole devices."""
        return [where for where, pods in self.pods_on.items() if not _fits(self.nodes[where], pods)]

    def crowded_groups(self) -> list[str]:
        """Anti-affinity entries that a node breaks."""
        found = []
        for pods in self.pods_on.values():
            labels = Counter((p.namespace, f"{k}={v}") for p in pods for k, v in p.labels.items())
            found += [entry for p in pods for entry in p.anti_affinity if labels[p.namespace, entry] > 1]
        return found

    def misplaced(self) -> list[str]:
        """Pods on a node of another model, or without the labels they select."""
        return [p.name for where, pods in self.pods_on.items() for p in pods if not _suits(self.nodes[where], p)]


def _fits(node: NodeRecord, pods: list[PodRecord]) -> bool:
    own = [p for p in pods if p.lent_by is None]
    if sum(p.cpu_milli for p in own) > node.cpu_milli or sum(p.memory_mib for p in pods) > node.memory_mib:
        return False
    whole = sum(p.gpus for p in own if p.gpu_milli == 1000)
    listed: Counter[int] = Counter()
    for pod in own:
        for device in pod.devices:
            listed[device] += pod.gpu_milli
    rest = [1000 - used for used in listed.values()] + [1000] * (node.gpus - len(listed) - whole)
    if min(rest, default=0) < 0 or len(listed) + whole > node.gpus:
        return False
    shares = sorted((p.gpu_milli for p in own if p.gpus and p.gpu_milli < 1000 and not p.devices), reverse=True)
    for share in shares:
        room = [i for i, left in enumerate(rest) if left >= share]
        if not room:
            return False
        rest[room[0]] -= share
    return True


def _suits(node: NodeRecord, pod: PodRecord) -> bool:
    models = [pod.gpu_model] if isinstance(pod.gpu_model, str) else pod.gpu_model
    suits_model = models is None or node.gpu_model in models
    return suits_model and pod.node_selector.items() <= node.labels.items()
