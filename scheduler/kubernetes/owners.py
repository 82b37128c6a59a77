"""Who made a pod: its controller, and the workload that people know by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scheduler.cluster.records import MoveMode, OwnerRecord
from scheduler.kubernetes.wire import Key, Metadata, OwnerReference, Thing

Look = Callable[[str, Key], Thing | None]
MIRROR = "kubernetes.io/config.mirror"
HASHES = ("pod-template-hash", "rollouts-pod-template-hash")
LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
TRAINING_NAME = "training.kubeflow.org/job-name"
RAY_CLUSTER = "ray.io/cluster"
# How a pod of each owner can be moved.  Only a ReplicaSet takes a copy that already runs for one of its own; the
# others make a new pod after the old one has ended.  Nobody makes a new pod in place of one that nobody owns.
MOVES: dict[str, MoveMode] = {"ReplicaSet": "copy", "ReplicationController": "copy", "": "never"}
OTHERS: MoveMode = "restart"


@dataclass(frozen=True, slots=True)
class Owner:
    """``lookup`` names the object above the controller that may have an owner of its own."""

    kind: str
    name: str
    workload: str
    lookup: tuple[str, str] | None = None  # kind of ``objects.KINDS``, name

    @property
    def record(self) -> OwnerRecord | None:
        return OwnerRecord(kind=self.kind, name=self.name or None) if self.kind else None

    @property
    def agent(self) -> bool:
        return self.kind in ("DaemonSet", "Static")


NOBODY = Owner("", "", "")


def controller(meta: Metadata) -> OwnerReference | None:
    return next((owner for owner in meta.owner_references if owner.controller), None)


def read_owner(meta: Metadata) -> Owner:
    found = controller(meta)
    if MIRROR in meta.annotations or (found is not None and found.kind == "Node"):
        return Owner("Static", "", "")
    if found is None:
        return NOBODY
    kind, name, labels = found.kind, found.name, meta.labels
    if kind == "ReplicaSet":
        return Owner(kind, name, _without_hash(name, labels))
    if kind == "StatefulSet" and LWS_NAME in labels:
        return Owner(kind, name, labels[LWS_NAME])
    if kind == "Pod" and LWS_NAME in labels:  # workers of older LeaderWorkerSets
        return Owner(kind, name, labels[LWS_NAME])
    if kind == "Job" and found.api_version.startswith("batch/"):
        return Owner(kind, name, labels.get(JOBSET_NAME, name), ("jobs.batch", name))
    if kind == "RayCluster":
        return Owner(kind, name, name, ("rayclusters.ray.io", name))
    return Owner(kind, name, name)


def _without_hash(name: str, labels: Mapping[str, str]) -> str:
    for label in HASHES:
        if (found := labels.get(label)) and name.endswith(f"-{found}"):
            return name[: -len(found) - 1]
    return name


def workload(owner: Owner, namespace: str, look: Look) -> str | None:
    """The name at the top: the CronJob of a Job, the TrainJob of its JobSet, the RayService of a RayCluster."""
    name = owner.workload
    step = owner.lookup
    for _ in range(4):  # a chain of owners is short; a ring of them is somebody's mistake
        found = look(step[0], (namespace, step[1])) if step else None
        above = controller(found.metadata) if found is not None else None
        if above is None:
            break
        name = above.name
        step = (PLURALS[above.kind], above.name) if above.kind in PLURALS else None
    return name or None


# Owners that are read themselves, and may be owned in turn
PLURALS = {
    "Job": "jobs.batch",
    "JobSet": "jobsets.jobset.x-k8s.io",
    "RayCluster": "rayclusters.ray.io",
    "LeaderWorkerSet": "leaderworkersets.leaderworkerset.x-k8s.io",
}
