"""What an observer would see of a replay's state: the whole of one cluster in the public format.

Production planners read it as they read any other snapshot.  Nodes and jobs are named by their rows, so that the order
of names is that of rows.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from scheduler.cluster.records import (
    ClusterRecord,
    Document,
    DomainRecord,
    GangRecord,
    NodeRecord,
    PodRecord,
    TenantRecord,
    TopologyRecord,
)
from scheduler.performance.exit_times import GRACE_S
from scheduler.replay import columns as c
from scheduler.replay.columns import State
from scheduler.replay.world import Work, World

INSTANT = "2026-01-01T00:00:00Z"
NAMESPACE = "replay"


def observed(
    world: World,
    work: Work,
    state: State,
    cluster: str,
    *,
    waiting: Collection[int] | None = None,
    tenants: Sequence[TenantRecord] = (),
    promised_s: int = 0,
) -> Document:
    """``waiting``: rows of the jobs that are shown as pending, None: all that wait or hold room for their start.

    ``promised_s``: minimum run time that LP pods are said to have.
    """
    inside = {at for at, (name, _) in enumerate(world.pools) if name == cluster}
    rows = np.flatnonzero(np.isin(world.pool, sorted(inside)))
    switches = sorted({world.asws[asw] for asw in world.asw[rows].tolist() if asw != c.NONE})
    pods, gangs = [], []
    for job in shown(state, inside, waiting):
        pods += list(_pods(world, work, state, job, cluster, promised_s))
        if int(state.job[job, c.J_WORKERS]) > 1:
            wish = _wish(int(state.job[job, c.J_TOPOLOGY]))
            workers = int(state.job[job, c.J_WORKERS])
            gangs.append(
                GangRecord(
                    name=gang_name(job), namespace=NAMESPACE, cluster=cluster, min_members=workers, topology=wish
                )
            )
    return Document(
        taken_at=INSTANT,
        now_s=int(state.clock[c.C_NOW]),
        clusters=[ClusterRecord(name=cluster)],
        domains=[DomainRecord(name=name, level="asw", cluster=cluster) for name in switches],
        nodes=[_node(world, state, cluster, node) for node in rows.tolist()],
        pods=pods,
        gangs=gangs,
        tenants=list(tenants),
    )


def shown(state: State, inside: set[int], waiting: Collection[int] | None) -> list[int]:
    """Jobs that run, and those that are to be shown as pending."""
    job = state.job
    placed = np.isin(job[:, c.J_STATUS], (c.RUNNING, c.LEAVING))
    pending = np.isin(job[:, c.J_STATUS], (c.WAITING, c.CLAIMING))
    if waiting is not None:
        pending = np.isin(np.arange(len(job)), sorted(waiting))
    bits = sum(1 << pool for pool in inside)
    return np.flatnonzero((placed | pending) & (job[:, c.J_POOLS] & bits != 0)).tolist()


def node_name(node: int) -> str:
    return f"n{node:06d}"


def gang_name(job: int) -> str:
    return f"j{job:06d}"


def pod_name(job: int, worker: int) -> str:
    return f"j{job:06d}-{worker:04d}"


def _node(world: World, state: State, cluster: str, node: int) -> NodeRecord:
    asw = int(world.asw[node])
    return NodeRecord(
        name=node_name(node),
        cluster=cluster,
        gpu_model=world.pools[world.pool[node]][1],
        gpus=int(world.gpus[node]),
        cpu_milli=int(world.cpu_milli[node]),
        memory_mib=int(world.memory_mib[node]),
        domain=world.asws[asw] if asw != c.NONE else None,
        ready=bool(state.node[node, c.N_UP]),
    )


def _wish(topology: int) -> TopologyRecord | None:
    if topology == c.ANYWHERE:
        return None
    return TopologyRecord(required="asw") if topology == c.REQUIRED else TopologyRecord(preferred="asw")


def _pods(world: World, work: Work, state: State, job: int, cluster: str, promised_s: int) -> Iterator[PodRecord]:
    one = state.job[job]
    runs = one[c.J_STATUS] in (c.RUNNING, c.LEAVING)
    leaving, lp = one[c.J_STATUS] == c.LEAVING, one[c.J_TIER] == c.LP
    for worker in range(int(one[c.J_WORKERS])):
        place = state.task[one[c.J_TASK] + worker]
        borrows = bool(runs and place[c.T_BORROWS])
        yield PodRecord(
            name=pod_name(job, worker),
            namespace=NAMESPACE,
            cluster=cluster,
            tenant=work.tenants[one[c.J_TENANT]],
            node=node_name(int(place[c.T_NODE])) if runs else None,
            gpus=int(one[c.J_GPUS]),
            gpu_milli=int(one[c.J_MILLI]) or c.WHOLE,
            devices=_devices(place) if runs and not borrows else [],
            cpu_milli=int(one[c.J_CPU]),
            memory_mib=int(one[c.J_MEMORY]),
            gpu_model=[model for at, (_, model) in enumerate(world.pools) if int(one[c.J_POOLS]) >> at & 1],
            tier="LP" if lp else "HP",
            standby=bool(runs and one[c.J_ASLEEP] == 1),
            lent_by=_lender(state, place) if borrows else None,
            topology=_wish(int(one[c.J_TOPOLOGY])),
            gang=gang_name(job) if one[c.J_WORKERS] > 1 else None,
            terminating=bool(leaving),
            deleted_at_s=int(one[c.J_TOLD]) if leaving else None,
            grace_s=GRACE_S if leaving else None,
            started_s=int(one[c.J_STARTED]) if runs else None,
            checkpoint_s=saved_at(state, job) if runs else None,
            min_runtime_s=promised_s if lp and promised_s else None,
            move="restart" if one[c.J_RESTARTS] else "copy",
        )


def _devices(place: np.ndarray) -> list[int]:
    return [device for device in range(c.MOST_DEVICES) if int(place[c.T_DEVICES]) >> device & 1]


def _lender(state: State, place: np.ndarray) -> str | None:
    """The first sleeper on whose devices the borrower runs."""
    beside = int(state.node[place[c.T_NODE], c.N_FIRST])
    found = []
    while beside != c.NONE:
        other = state.task[beside]
        job = int(other[c.T_JOB])
        if state.job[job, c.J_ASLEEP] == 1 and int(other[c.T_DEVICES]) & int(place[c.T_DEVICES]):
            found.append(f"{NAMESPACE}/{pod_name(job, beside - int(state.job[job, c.J_TASK]))}")
        beside = int(other[c.T_NEXT])
    return min(found, default=None)


def saved_at(state: State, job: int) -> int:
    """The instant up to which a stop now would keep its work: its last checkpoint, or the start of its work."""
    one, now = state.job[job], int(state.clock[c.C_NOW])
    done = int(one[c.J_SAVED]) + max(0, now - int(one[c.J_STARTED]) - int(one[c.J_OVERHEAD]))
    every = int(one[c.J_CHECKPOINT])
    kept = max(int(one[c.J_SAVED]), done // every * every) if every else int(one[c.J_SAVED])
    return now - (done - kept)
