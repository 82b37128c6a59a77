"""The worlds asi, fleet and uniform8 as records of the snapshot format."""

import numpy as np

from scheduler.cluster.records import (
    DomainRecord,
    GangRecord,
    MoveMode,
    NodeRecord,
    OwnerRecord,
    PdbRecord,
    PodRecord,
    TenantRecord,
    TolerationRecord,
    TopologyRecord,
    WorkClass,
)
from scheduler.worlds.incidents import DEDICATED_KEY, LOCK_REASONS, Incidents
from scheduler.worlds.marginals import ASWS_PER_AGGREGATION, DEPARTMENTS, MODELS, SEVERAL_MODELS
from scheduler.worlds.site import NO_ASW, Site
from scheduler.worlds.workload import Task, Workload, World, pick

NOW_S = 30 * 86_400
HOUR_S = 3600
WAKE_HOUR = 8
BUDGETED = 0.4  # share of online services of at least three pods that have a disruption budget
BUDGET_FLOOR = 3
GRACE_S = 60
CHECKPOINT_S = (1800, 3600)
PRIORITY = {"HP": 100, "LP": 0}
TOPOLOGY: tuple[tuple[str, float], ...] = (("none", 0.55), ("preferred", 0.30), ("required", 0.15))
OWNERS: dict[WorkClass, str] = {"online": "ReplicaSet", "training": "Job", "dev": "StatefulSet", "offline": "Job"}
MOVES: dict[WorkClass, tuple[tuple[MoveMode, float], ...]] = {
    "online": (("copy", 1.0),),
    "training": (("restart", 0.9), ("never", 0.1)),
    "dev": (("restart", 0.8), ("never", 0.2)),
    "offline": (("restart", 0.5), ("copy", 0.5)),
}


def node_names(site: Site) -> list[str]:
    """[n] names, unique in their cluster and in the world."""
    names = []
    for pool in site.pools:
        stem = f"{pool.cluster}-{pool.model.name.lower()}" + (f"x{pool.gpus}" if pool.gpus != pool.model.gpus else "")
        names += [f"{stem}-{i:04d}" for i in range(pool.hi - pool.lo)]
    return names


def node_records(site: Site, incidents: Incidents) -> list[NodeRecord]:
    """[n] the nodes with their switch, if it is known, and what befell them."""
    names = node_names(site)
    records = []
    for pool in site.pools:
        memory = pool.model.gpu_memory_gib
        for n in range(pool.lo, pool.hi):
            taint = incidents.taints.get(n)
            records.append(
                NodeRecord(
                    name=names[n],
                    cluster=pool.cluster,
                    gpu_model=pool.model.name,
                    gpus=pool.gpus,
                    gpu_memory_mib=memory * 1024 if memory else None,
                    cpu_milli=int(site.cpu_milli[n]),
                    memory_mib=int(site.memory_mib[n]),
                    domain=_asw_name(int(site.asw[n])) if site.asw[n] != NO_ASW else None,
                    labels={DEDICATED_KEY: "reserved"} if taint else {},
                    taints=[taint] if taint else [],
                    cordoned=n in incidents.cordoned,
                    ready=n not in incidents.not_ready,
                    devices=incidents.devices.get(n, []),
                )
            )
    return records


def domains(site: Site) -> list[DomainRecord]:
    """The labelled switches of each cluster, and sixteen of them under one aggregation switch."""
    records = []
    for cluster in site.clusters:
        parts = [site.asw[pool.lo : pool.hi] for pool in site.pools if pool.cluster == cluster]
        asws = np.unique(np.concatenate(parts))
        asws = asws[asws != NO_ASW]
        wide = [f"{cluster}-agg-{i:02d}" for i in range(-(-len(asws) // ASWS_PER_AGGREGATION))]
        records += [DomainRecord(name=name, level="agg", cluster=cluster) for name in wide]
        records += [
            DomainRecord(name=_asw_name(asw), level="asw", parent=wide[i // ASWS_PER_AGGREGATION], cluster=cluster)
            for i, asw in enumerate(asws.tolist())
        ]
    return records


def pods(world: World, incidents: Incidents, hour: int) -> list[PodRecord]:
    """One record per task, in the order of the workloads."""
    names = node_names(world.site)
    wake_s = NOW_S + ((WAKE_HOUR - hour) % 24 or 24) * HOUR_S
    records = []
    for workload in world.workloads:
        shared = _shared_fields(world, workload)
        for task in workload.tasks:
            records.append(_pod(workload, task, shared, names, incidents, wake_s))
    return records


def _shared_fields(world: World, workload: Workload) -> dict[str, object]:
    """The fields that all pods of a workload share."""
    rng, shape, kind = world.rng, workload.shape, workload.work_class
    agent = any(task.agent for task in workload.tasks)
    owner = "DaemonSet" if agent else "ReplicaSet" if workload.pool is None and kind == "online" else OWNERS[kind]
    labels = {"app": workload.name}
    if workload.genai_size:
        labels["genai"] = workload.genai_size
    models: str | list[str] | None = workload.pool.model.name if workload.pool else None
    if workload.pool and rng.random() < SEVERAL_MODELS:
        models = sorted({workload.pool.model.name, MODELS[int(rng.integers(len(MODELS)))].name})
    checkpoints = kind == "training" or (workload.name.startswith("spot") and rng.random() < 0.5)
    fields: dict[str, object] = {
        "gpus": shape.gpus,
        "gpu_milli": shape.gpu_milli,
        "cpu_milli": shape.cpu_milli,
        "memory_mib": shape.memory_mib,
        "namespace": workload.namespace if not agent else "system",
        "cluster": workload.cluster,
        "tenant": workload.tenant if not agent else None,
        "gpu_model": models,
        "tier": workload.tier,
        "priority": PRIORITY[workload.tier],
        "work_class": kind if not agent else None,
        "owner": OwnerRecord(kind=owner, name=workload.name),
        "workload": workload.name,
        "move": pick(MOVES[kind], rng) if workload.pool else "copy",
        "labels": labels,
        "gang": workload.name if workload.gang else None,
    }
    if workload.spread:
        fields["anti_affinity"] = [f"app={workload.name}"]
    if checkpoints:
        fields["checkpoint_interval_s"] = CHECKPOINT_S[int(rng.integers(len(CHECKPOINT_S)))]
    return fields


def _pod(
    workload: Workload, task: Task, shared: dict[str, object], names: list[str], incidents: Incidents, wake_s: int
) -> PodRecord:
    own: dict[str, object] = {"name": task.name}
    if task.node is not None:
        own |= {"node": names[task.node], "started_s": NOW_S - workload.age_s}
        interval = shared.get("checkpoint_interval_s")
        if isinstance(interval, int) and workload.age_s >= interval:
            own["checkpoint_s"] = NOW_S - workload.age_s % interval
        if task.node in incidents.taints:
            own["tolerations"] = [TolerationRecord(key=DEDICATED_KEY, operator="Exists", effect="NoSchedule")]
            own["node_selector"] = {DEDICATED_KEY: "reserved"} if workload.pool and not workload.gang else {}
    if task.locked:
        own |= {"locked": True, "locked_by": workload.tenant, "lock_reason": LOCK_REASONS[workload.work_class]}
    if task.standby:
        own |= {"standby": True, "standby_until_s": wake_s}
    if task.lent_by:
        own["lent_by"] = task.lent_by
    if task.terminating:
        own |= {"terminating": True, "deleted_at_s": NOW_S - GRACE_S // 3, "grace_s": GRACE_S}
    return PodRecord(**(shared | own))  # type: ignore[arg-type]


def gangs(world: World) -> list[GangRecord]:
    """Training jobs of several pods; the few that require one ASW are those that already lie under one."""
    records = []
    for workload in world.workloads:
        if not workload.gang:
            continue
        wish = pick(TOPOLOGY, world.rng)
        asws = {int(world.site.asw[task.node]) if task.node is not None else NO_ASW for task in workload.tasks}
        if wish == "required" and (len(asws) > 1 or NO_ASW in asws):
            wish = "preferred"
        records.append(
            GangRecord(
                name=workload.name,
                namespace=workload.namespace,
                cluster=workload.cluster,
                min_members=len(workload.tasks),
                topology=TopologyRecord(**{wish: "asw"}) if wish != "none" else None,
            )
        )
    return records


def budgets(world: World) -> list[PdbRecord]:
    """Disruption budgets of some online services, three quarters of them by what may be missing."""
    records = []
    for workload in world.workloads:
        bound = sum(task.node is not None for task in workload.tasks)
        if workload.work_class != "online" or bound < BUDGET_FLOOR or workload.tasks[0].agent:
            continue
        if world.rng.random() >= BUDGETED:
            continue
        spare = max(1, bound // 10)
        by_missing = world.rng.random() < 0.75
        records.append(
            PdbRecord(
                namespace=workload.namespace,
                cluster=workload.cluster,
                selector=f"app={workload.name}",
                max_unavailable=spare if by_missing else None,
                min_available=None if by_missing else bound - spare,
            )
        )
    return records


def tenants() -> list[TenantRecord]:
    """All departments; none has a quota, which is not the same as a quota of zero."""
    return [TenantRecord(name=f"dept-{i + 1:02d}") for i in range(DEPARTMENTS)]


def _asw_name(asw: int) -> str:
    return f"asw-{asw:04d}"
