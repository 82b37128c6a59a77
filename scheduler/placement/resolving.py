"""From the words of a request to rows of a snapshot, and from a pending job to a request."""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.build import only_cluster
from scheduler.cluster.errors import ParamError
from scheduler.cluster.records import TopologyRecord
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import UNKNOWN, WORK_CLASSES, Ints, PodSpec, Snapshot
from scheduler.placement.parts import Asked, part_of
from scheduler.placement.request import HP, LP, Group, Request
from scheduler.plan.goal import CLUSTER
from scheduler.plan.slots import with_pending
from scheduler.plan.waiting import Waiting, levels_of, mates, pending, waiting_of


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """``snapshot`` has a row for every pod that is asked for, behind its own where they are made up."""

    snapshot: Snapshot
    rows: tuple[Ints, ...]  # [group] rows of its pods, in the order of ``Group.members``
    stay: Ints  # live members of the same gang that are not leaving
    gang: int  # UNKNOWN without one
    asked: Asked  # the same for ``seating``
    simple: bool  # ``asked`` says all: no group has wishes of its own


def resolve(snapshot: Snapshot, request: Request) -> Resolved:
    """Raises ``ParamError`` for a pod that does not wait, and ``InputError`` where it is not clear which cluster."""
    name = only_cluster(snapshot, request.cluster or None)
    cluster = [one.name for one in snapshot.clusters].index(name)
    longer, rows = snapshot, []
    waiting = _waiting_rows(snapshot, cluster) if any(group.pods for group in request.groups) else {}
    for group in request.groups:
        missing = next((pod for pod in group.pods if pod not in waiting), None)
        if missing is not None:
            raise ParamError("pods", missing, f"does not wait for a place in {name}")
        if group.pods:
            rows.append(np.array([waiting[pod] for pod in group.pods], np.int32))
        else:
            first = len(longer.pod_name)
            longer = with_pending(longer, group.members, _asked(group, request, cluster), group.spec)
            rows.append(np.arange(first, len(longer.pod_name), dtype=np.int32))
    gang = _gang(snapshot, cluster, request.job)
    stay = mates(snapshot, gang)
    stay = stay[~snapshot.pod_terminating[stay]]
    parts = tuple(part_of(longer, tuple(some.tolist())) for some in rows)
    levels = _levels(snapshot, request, rows)
    asked = Asked(cluster, parts, levels, tuple(stay.tolist()), request.may_mix_models)
    simple = not any(group.required or group.slice_pods for group in request.groups)
    return Resolved(longer, tuple(rows), stay, gang, asked, simple)


def _levels(snapshot: Snapshot, request: Request, rows: list[Ints]) -> tuple[str, ...]:
    """At which all of it needs one domain: of a pending job every level that one of its pods or its gang requires."""
    if request.job:
        return tuple(levels_of(snapshot, np.concatenate(rows)))
    return () if request.required in ("", CLUSTER) else (request.required,)


def _asked(group: Group, request: Request, cluster: int) -> dict[str, int]:
    return {
        "cluster": cluster,
        "gpus": group.gpus,
        "gpu_milli": group.gpu_milli,
        "gpu_memory_mib": group.gpu_memory_mib,
        "cpu_milli": group.cpu_milli,
        "memory_mib": group.memory_mib,
        "lp": request.tier == LP,
    }


def _waiting_rows(snapshot: Snapshot, cluster: int) -> dict[str, int]:
    rows = np.flatnonzero(pending(snapshot) & (snapshot.pod_cluster == cluster))
    return {snapshot.pod_key(p): p for p in rows.tolist()}


def _gang(snapshot: Snapshot, cluster: int, job: str) -> int:
    name = snapshot.clusters[cluster].name
    keys = (f"{one.namespace}/{one.name}" if one.cluster == name else "" for one in snapshot.gangs)
    return next((g for g, key in enumerate(keys) if job and key == job), UNKNOWN)


def request_of(snapshot: Snapshot, job: str) -> Request:
    """The request of a pending job: a gang, or a pod without one.  Raises ``ParamError`` where nobody of it waits.

    Equal pods form a group.  Several levels that are required at once are one: the closest to the node.
    """
    found = waiting_of(snapshot, job)
    if found is None or not len(found.pods):
        reason = "no such gang or pod" if found is None else "nobody of it waits for a place"
        raise ParamError("job", job, reason)
    first = int(found.pods[0])
    required = levels_of(snapshot, found.pods)
    gang = None if found.gang == UNKNOWN else snapshot.gangs[found.gang]
    work_class = int(snapshot.pod_work_class[first])
    spec = snapshot.pod_specs[snapshot.pod_spec[first]]
    return Request(
        groups=_groups(snapshot, found),
        required=required[0] if required else "",
        preferred=_preferred(None if gang is None else gang.topology, spec.topology),
        min_members=0 if gang is None else gang.min_members,
        tier=LP if snapshot.pod_lp[first] else HP,
        work_class="" if work_class == UNKNOWN else WORK_CLASSES[work_class],
        tenant="" if snapshot.pod_tenant[first] == UNKNOWN else snapshot.tenants[snapshot.pod_tenant[first]],
        cluster=snapshot.clusters[snapshot.pod_cluster[first]].name,
        job=job if gang is None else f"{gang.namespace}/{gang.name}",
        parallelism=spec.parallelism,
    )


def _preferred(*wishes: TopologyRecord | None) -> str:
    return next((wish.preferred for wish in wishes if wish is not None and wish.preferred), "")


def _groups(snapshot: Snapshot, found: Waiting) -> tuple[Group, ...]:
    alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
    columns = (snapshot.pod_gpus, snapshot.pod_gpu_milli, snapshot.pod_gpu_memory_mib, snapshot.pod_cpu_milli,
               snapshot.pod_memory_mib, snapshot.pod_spec, snapshot.pod_lender)  # fmt: skip
    for p in found.pods.tolist():
        alike[tuple(int(column[p]) for column in columns)].append(p)
    by_name = sorted(alike.items(), key=lambda item: item[1][0])
    return tuple(_group(snapshot, i, pods) for i, (_, pods) in enumerate(by_name))


def _group(snapshot: Snapshot, ordinal: int, pods: list[int]) -> Group:
    first = pods[0]
    spec: PodSpec = snapshot.pod_specs[snapshot.pod_spec[first]]
    return Group(
        name=f"group {ordinal + 1}",
        count=len(pods),
        gpus=int(snapshot.pod_gpus[first]),
        gpu_milli=max(1, int(snapshot.pod_gpu_milli[first])),
        cpu_milli=int(snapshot.pod_cpu_milli[first]),
        memory_mib=int(snapshot.pod_memory_mib[first]),
        gpu_memory_mib=int(snapshot.pod_gpu_memory_mib[first]),
        mig=spec.mig,
        models=spec.gpu_models,
        rules=spec,
        pods=tuple(snapshot.pod_key(p) for p in pods),
    )


def only_rows(snapshot: Snapshot, rows: Ints) -> Snapshot:
    """The same nodes with these pods alone, none of them bound: what rules of eligibility look at."""
    specs, spec = np.unique(snapshot.pod_spec[rows], return_inverse=True)
    columns = {name: frozen(getattr(snapshot, name)[rows]) for name in _READ}
    return replace(
        snapshot,
        **columns,
        pod_name=tuple(snapshot.pod_name[p] for p in rows.tolist()),
        pod_spec=frozen(spec.astype(np.int32)),
        pod_specs=tuple(snapshot.pod_specs[s] for s in specs.tolist()),
    )


_READ = ("pod_cluster", "pod_gpus", "pod_gpu_memory_mib")  # of pods, by ``feasibility.eligibility``
