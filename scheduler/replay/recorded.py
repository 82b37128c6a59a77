"""A console's own recorded snapshots as a trace: who appears arrives, who disappears has ended, by pod identity."""

from collections.abc import Sequence

import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import NodeRecord
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Snapshot
from scheduler.replay import columns as c
from scheduler.replay.trace import Trace, estimates
from scheduler.replay.world import Work, World, work_of, world_of

FAR_S = 1 << 40  # the end of a window of which nobody says it

type Key = tuple[str, str, str, str]  # cluster, namespace, gang or pod, uid: a pod made anew is another job


class Seen:
    """What the snapshots say of one job.  ``members``: pods seen at once, at most."""

    __slots__ = ("asleep", "begun", "first", "last", "members", "pod", "snapshot")

    def __init__(self, snapshot: Snapshot, pod: int, at: int) -> None:
        self.snapshot, self.pod, self.first, self.last = snapshot, pod, at, at
        self.begun, self.members = at, 0
        self.asleep: list[tuple[int, int]] = []  # windows of standby, on the snapshots' clock


def recorded_trace(name: str, snapshots: Sequence[Snapshot]) -> Trace:
    """The week again.  Nodes are those of the first snapshot; agents belong to their node and are left out.

    A job that is there from the first snapshot on arrives at 0; one that is there in the last one ends when the trace
    does, so its end is not known.  Raises InputError for fewer than two instants.
    """
    ordered = sorted(snapshots, key=lambda snapshot: snapshot.now_s)
    if len({snapshot.now_s for snapshot in ordered}) < 2:
        raise InputError("snapshots", len(snapshots), "a recorded trace needs snapshots of two instants")
    start, end = ordered[0].now_s, ordered[-1].now_s
    jobs = jobs_of(ordered)
    world = world_at(ordered[0])
    tenants = sorted({tenant_of(job) for job in jobs.values()})
    rows = {tenant: at for at, tenant in enumerate(tenants)}
    asked = np.array([row_of(job, world, rows, start, end) for job in jobs.values()], np.int64).reshape(-1, c.J_LANE)
    names = ["/".join(part for part in key if part) for key in jobs]
    windows = [(at, a - start, b - start) for at, job in enumerate(jobs.values()) for a, b in job.asleep]
    asked[:, c.J_ESTIMATE] = estimates(asked[:, c.J_DURATION], names)
    work = work_of(names, tenants, asked, np.array(windows, np.int64).reshape(-1, 3))
    notes = _notes(ordered, work)
    return Trace(name, world, work, end - start, notes, tuple(ordered[-1].tenant_records))


def _notes(ordered: Sequence[Snapshot], work: Work) -> tuple[str, ...]:
    gaps = np.diff([snapshot.now_s for snapshot in ordered])
    sliced, sleepers = int(work.column(c.J_SLICED).sum()), len(np.unique(work.windows[:, 0]))
    return (
        f"{len(ordered)} snapshots, at most {int(gaps.max())} s apart: arrivals, ends and windows are as exact as that",
        "jobs that were there in the last snapshot end with the trace",
        "selectors, taints, affinity, ports and device memory are not replayed",
        *((f"{sleepers} jobs have windows of standby",) if sleepers else ()),
        *((f"{sliced} jobs on MIG slices are refused: slices are not replayed",) if sliced else ()),
    )


def jobs_of(ordered: Sequence[Snapshot]) -> dict[Key, Seen]:
    jobs: dict[Key, Seen] = {}
    for snapshot in ordered:
        seen: dict[Key, int] = {}
        asleep: dict[Key, int] = {}
        for pod in range(len(snapshot.pod_name)):
            if snapshot.pod_agent[pod] or not (snapshot.pod_live[pod] or snapshot.pod_node[pod] == UNKNOWN):
                continue
            key = _key(snapshot, pod)
            if key not in jobs:
                jobs[key] = Seen(snapshot, pod, snapshot.now_s)
            seen[key] = seen.get(key, 0) + 1
            if snapshot.pod_standby[pod] and not snapshot.pod_lp[pod]:
                asleep[key] = max(asleep.get(key, 0), int(snapshot.pod_standby_until_s[pod]))
        for key, members in seen.items():
            jobs[key].last = snapshot.now_s
            jobs[key].members = max(jobs[key].members, members)
            if key in asleep:
                _doze(jobs[key], snapshot.now_s, asleep[key])
            else:
                _awake(jobs[key], snapshot.now_s)
    return jobs


def _doze(job: Seen, now_s: int, until_s: int) -> None:
    """Asleep now, until the instant that is said, else until it is next seen awake.  Gangs sleep as a whole."""
    ends = until_s if until_s > now_s else FAR_S
    if job.asleep and job.asleep[-1][1] >= now_s:
        job.asleep[-1] = (job.asleep[-1][0], ends)
    else:
        job.asleep.append((now_s, ends))


def _awake(job: Seen, now_s: int) -> None:
    if job.asleep and job.asleep[-1][1] > now_s:
        job.asleep[-1] = (job.asleep[-1][0], now_s)


def _key(snapshot: Snapshot, pod: int) -> Key:
    gang = int(snapshot.pod_gang[pod])
    cluster = snapshot.clusters[snapshot.pod_cluster[pod]].name
    namespace = snapshot.namespaces[snapshot.pod_namespace[pod]]
    if gang != UNKNOWN:
        return cluster, namespace, snapshot.gangs[gang].name, ""
    return cluster, namespace, snapshot.pod_name[pod], snapshot.pod_uid[pod]


def tenant_of(job: Seen) -> str:
    at = int(job.snapshot.pod_tenant[job.pod])
    return job.snapshot.tenants[at] if at != UNKNOWN else ""


def world_at(snapshot: Snapshot) -> World:
    return world_of(_nodes(snapshot))


def _nodes(snapshot: Snapshot) -> list[NodeRecord]:
    """Nodes as the loop sees them: the switch is known only where the level asw is."""
    asw = snapshot.levels.index("asw") if "asw" in snapshot.levels else None
    found = []
    for n, name in enumerate(snapshot.node_name):
        domain = int(snapshot.node_at_level[asw, n]) if asw is not None else UNKNOWN
        model = int(snapshot.node_model[n])
        found.append(
            NodeRecord(
                name=name,
                cluster=snapshot.clusters[snapshot.node_cluster[n]].name,
                gpu_model=snapshot.models[model] if model != UNKNOWN else "",
                gpus=_devices(snapshot, n) if model != UNKNOWN else 0,
                cpu_milli=int(snapshot.node_cpu_milli[n]),
                memory_mib=int(snapshot.node_memory_mib[n]),
                asw=snapshot.domain_name[domain] if domain != UNKNOWN else None,
            )
        )
    return found


def _devices(snapshot: Snapshot, node: int) -> int:
    """Whole GPUs that work may hold: none that failed, and none that is partitioned into slices."""
    unfit = sum(device.health == "failed" or bool(device.mig) for device in snapshot.node_devices.get(node, ()))
    return max(0, min(int(snapshot.node_allocatable[node]), int(snapshot.node_gpus[node]) - unfit))


def row_of(job: Seen, world: World, tenants: dict[str, int], start: int, end: int) -> list[int]:
    snapshot, pod = job.snapshot, job.pod
    spec = snapshot.pod_specs[snapshot.pod_spec[pod]]
    cluster, gpus = snapshot.clusters[snapshot.pod_cluster[pod]].name, int(snapshot.pod_gpus[pod])
    gang = int(snapshot.pod_gang[pod])
    wish = spec.topology or (snapshot.gangs[gang].topology if gang != UNKNOWN else None)
    row = [0] * c.J_LANE
    row[c.J_ARRIVAL] = job.first - start
    row[c.J_DURATION] = max(1, (job.last if job.last < end else end) - max(job.first, start))
    row[c.J_TIER] = c.LP if snapshot.pod_lp[pod] else c.HP
    row[c.J_TENANT] = tenants[tenant_of(job)]
    row[c.J_POOLS] = sum(
        1 << at
        for at, (home, model) in enumerate(world.pools)
        if home == cluster and (model in spec.gpu_models if spec.gpu_models else bool(model) or not gpus)
    )
    row[c.J_SLICED] = bool(spec.mig)
    row[c.J_WORKERS], row[c.J_GPUS] = max(1, job.members), gpus
    row[c.J_MILLI] = int(snapshot.pod_gpu_milli[pod]) if gpus else 0
    row[c.J_CPU], row[c.J_MEMORY] = int(snapshot.pod_cpu_milli[pod]), int(snapshot.pod_memory_mib[pod])
    every = int(snapshot.pod_checkpoint_interval_s[pod])
    row[c.J_CHECKPOINT] = 0 if every == ABSENT else every
    row[c.J_TOPOLOGY] = _topology(wish.required if wish else None, wish.preferred if wish else None)
    row[c.J_FIXED], row[c.J_RESTARTS] = int(snapshot.pod_locked[pod]), int(snapshot.pod_move[pod] != 0)
    return row


def _topology(required: str | None, preferred: str | None) -> int:
    """Only the level asw means anything to the loop; a wish for one host is met by a job of one pod."""
    if required == "asw":
        return c.REQUIRED
    return c.PREFERRED if preferred == "asw" else c.ANYWHERE
