"""Gangs: pods that start and run together, as schedulers and job controllers say it.

What a scheduler says of a group wins over what a job controller implies.  The record's name starts with who said it, so
that groups of one name in two systems stay two.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scheduler.cluster.records import GangRecord, TopologyRecord
from scheduler.cluster.rows import MAX_COUNT
from scheduler.kubernetes import builtin, custom
from scheduler.kubernetes.objects import kind_of
from scheduler.kubernetes.owners import JOBSET_NAME, LWS_NAME, RAY_CLUSTER, TRAINING_NAME, Look, controller
from scheduler.kubernetes.topology import Levels
from scheduler.kubernetes.unheld import Note
from scheduler.kubernetes.wire import Metadata, Thing

LWS_INDEX, LWS_SIZE = "leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/size"
KUEUE_GROUP, KUEUE_TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
KUEUE_WORKLOAD = "kueue.x-k8s.io/workload"
REQUIRED, PREFERRED = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"
KAI_GROUP = "pod-group-name"
VOLCANO_GROUPS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
PLUGIN_GROUPS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


@dataclass(frozen=True, slots=True)
class Hint:
    """``kind`` and ``name`` say which object tells the size, unless the pod itself says ``size``."""

    kind: str
    name: str
    prefix: str
    size: int | None = None
    label: str = ""  # the name of the gang where it is not that of the object


@dataclass(frozen=True, slots=True)
class Wish:
    """Node labels of levels that the pod asks for itself."""

    required: str = ""
    preferred: str = ""


@dataclass(frozen=True, slots=True)
class Gang:
    """What the records say of it, and what they cannot say."""

    record: GangRecord | None = None
    notes: tuple[Note, ...] = ()
    pinned: bool = False


ALONE = Gang()


def read_hint(meta: Metadata, group: str | None) -> Hint | None:
    """Which gang a pod says it belongs to; ``group`` is the pod group of kube-scheduler itself."""
    labels, notes = meta.labels, meta.annotations
    if group:
        return Hint("podgroups.scheduling.k8s.io", group, "podgroup")
    if name := notes.get(KAI_GROUP):
        return Hint("podgroups.scheduling.run.ai", name, "kai")
    for key in VOLCANO_GROUPS:
        if name := notes.get(key):
            return Hint("podgroups.scheduling.volcano.sh", name, "volcano")
    for key in PLUGIN_GROUPS:
        if name := labels.get(key):
            return Hint("podgroups.scheduling.x-k8s.io", name, "coscheduling")
    if name := labels.get(KUEUE_GROUP):
        return Hint("workloads.kueue.x-k8s.io", name, "kueue", _number(notes.get(KUEUE_TOTAL)))
    if name := notes.get(KUEUE_WORKLOAD):
        return Hint("workloads.kueue.x-k8s.io", name, "kueue")
    return _of_job(meta, labels, notes)


def _of_job(meta: Metadata, labels: Mapping[str, str], notes: Mapping[str, str]) -> Hint | None:
    if (name := labels.get(LWS_NAME)) and LWS_INDEX in labels:
        size = _number(notes.get(LWS_SIZE))
        return Hint("leaderworkersets.leaderworkerset.x-k8s.io", name, "lws", size, label=f"{name}-{labels[LWS_INDEX]}")
    if name := labels.get(JOBSET_NAME):
        return Hint("jobsets.jobset.x-k8s.io", name, "jobset")
    owner = controller(meta)
    if TRAINING_NAME in labels and owner is not None:
        kind = kind_of(owner.api_version or "kubeflow.org/v1", owner.kind) or kind_of("kubeflow.org/v1", owner.kind)
        return Hint(kind.name, owner.name, owner.kind.lower()) if kind is not None else None
    if name := labels.get(RAY_CLUSTER):
        return Hint("rayclusters.ray.io", name, "raycluster")
    return None


def read_wish(annotations: Mapping[str, str]) -> Wish | None:
    required, preferred = annotations.get(REQUIRED, ""), annotations.get(PREFERRED, "")
    return Wish(required, preferred) if required or preferred else None


def _number(text: str | None) -> int | None:
    return (
        int(text) if text and text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= MAX_COUNT else None
    )


def gang_of(hint: Hint, namespace: str, cluster: str, look: Look, levels: Levels) -> Gang:
    """The gang of a pod; one that nobody tells the size of pins its pods."""
    found = look(hint.kind, (namespace, hint.name))
    told = _tell(found) if found is not None else None
    size = hint.size if hint.size is not None else (told.size if told is not None else None)
    field = f"$.metadata ({hint.kind} {hint.name})"
    if size is None:
        return Gang(notes=(Note("gang", "pinned", field, "its size is not known"),), pinned=True)
    notes = list(told.notes) if told is not None else []
    topology, pinned = told.topology(levels, notes) if told is not None else (None, False)
    if size < 2 and topology is None:
        return Gang(None, tuple(notes), pinned)
    record = GangRecord(
        name=f"{hint.prefix}/{hint.label or hint.name}",
        namespace=namespace,
        cluster=cluster,
        min_members=min(size, MAX_COUNT),
        topology=topology,
    )
    return Gang(record, tuple(notes), pinned)


@dataclass(frozen=True, slots=True)
class _Told:
    """What an object says of its group; ``required`` and ``preferred`` as it names its levels."""

    size: int
    required: str = ""
    preferred: str = ""
    notes: tuple[Note, ...] = ()

    def topology(self, levels: Levels, notes: list[Note]) -> tuple[TopologyRecord | None, bool]:
        return wish_record(Wish(self.required, self.preferred), levels, notes)


def wish_record(wish: Wish, levels: Levels, notes: list[Note]) -> tuple[TopologyRecord | None, bool]:
    """The wish in the words of the records, and whether the pod is pinned because they have no word for it."""
    required = levels.word(wish.required) if wish.required else None
    preferred = levels.word(wish.preferred) if wish.preferred else None
    if wish.required and required is None:
        notes.append(Note("topology_wish", "pinned", "$.metadata.annotations", f"required within {wish.required}"))
    if wish.preferred and preferred is None:
        notes.append(Note("topology_wish", "ignored", "$.metadata.annotations", f"preferred within {wish.preferred}"))
    record = TopologyRecord(required=required, preferred=preferred) if required or preferred else None
    return record, bool(wish.required and required is None)


def _tell(found: Thing) -> _Told | None:
    read = _READERS.get(type(found))
    return read(found) if read is not None else None


def _kube(group: builtin.PodGroup) -> _Told:
    spec = group.spec
    keys = [one.key for one in spec.scheduling_constraints.topology] if spec.scheduling_constraints else []
    gang = spec.scheduling_policy.gang
    return _Told(gang.min_count if gang is not None else 1, required=keys[0] if keys else "")


def _kai(group: custom.KaiPodGroup) -> _Told:
    spec = group.spec
    parts = [part.min_member or 0 for part in spec.sub_groups]
    wish = spec.topology_constraint
    inner = any(part.topology_constraint is not None for part in spec.sub_groups)
    notes = (Note("topology_wish", "ignored", "$.spec.subGroups", "a level of its own for part of the gang"),)
    size = spec.min_member if spec.min_member is not None else sum(parts) or 1
    return _Told(size, wish.required_topology_level, wish.preferred_topology_level, notes if inner else ())


def _volcano(group: custom.VolcanoPodGroup) -> _Told:
    spec, wish = group.spec, group.spec.network_topology
    if wish is None:
        return _Told(spec.min_member or 1)
    tier = "" if wish.highest_tier_allowed is None else f"tier {wish.highest_tier_allowed}"
    level = wish.highest_tier_name or tier
    return _Told(spec.min_member or 1, **{"required" if wish.mode != "soft" else "preferred": level})  # type: ignore[arg-type]


def _kueue(work: custom.KueueWorkload) -> _Told:
    sets = work.spec.pod_sets
    size = sum(one.count if one.min_count is None else one.min_count for one in sets)
    wishes = {(r.required or "", r.preferred or "") if (r := one.topology_request) else ("", "") for one in sets}
    if len(wishes) == 1:
        return _Told(size, *wishes.pop())
    # Pods of each set carry their set's wish as annotations; together they are bound by both.
    return _Told(size)


def _jobset(found: custom.JobSet) -> _Told:
    size = 0
    for job in found.spec.replicated_jobs:
        spec = job.template.spec
        width = spec.parallelism if spec.parallelism is not None else 1
        size += job.replicas * (width if spec.completions is None else min(width, spec.completions))
    return _Told(size)


def _training(job: custom.TrainingJob) -> _Told:
    spec = job.spec
    policy = spec.run_policy.scheduling_policy
    if policy is not None and policy.min_available is not None:
        return _Told(policy.min_available)
    sizes = {role: 1 if one.replicas is None else one.replicas for role, one in spec.roles.items()}
    if spec.elastic_policy is not None and spec.elastic_policy.min_replicas is not None and "Worker" in sizes:
        sizes["Worker"] = spec.elastic_policy.min_replicas
    return _Told(sum(sizes.values()))


def _ray(cluster: custom.RayCluster) -> _Told:
    groups = cluster.spec.worker_group_specs
    return _Told(1 + sum((group.min_replicas or 0) * group.num_of_hosts for group in groups))


def _lws(found: custom.LeaderWorkerSet) -> _Told:
    return _Told(found.spec.leader_worker_template.size)


_READERS: dict[type[Thing], Callable[..., _Told]] = {
    builtin.PodGroup: _kube,
    custom.KaiPodGroup: _kai,
    custom.VolcanoPodGroup: _volcano,
    custom.KueueWorkload: _kueue,
    custom.JobSet: _jobset,
    custom.TrainingJob: _training,
    custom.RayCluster: _ray,
    custom.LeaderWorkerSet: _lws,
}
