"""What makes a fleet untidy: locks, waiting jobs, leaving pods, agents, dedicated and broken nodes."""

from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.records import DeviceRecord, TaintRecord, WorkClass
from scheduler.worlds.jobs import new_job
from scheduler.worlds.shapes import Shape
from scheduler.worlds.workload import Task, Workload, World

CORDONED, NOT_READY, DEDICATED, BROKEN_DEVICE, AGENT_NODES = 0.004, 0.002, 0.01, 0.005, 0.01
WAITING, LEAVING = 0.006, 0.002
WAITING_ROOM_GPUS = 64
DEDICATED_KEY = "dedicated"
AGENT_SHAPE = Shape(0, 1000, 500, 1024)
# How much likelier a class of work is locked; lower rank first, until the published share of tasks is reached.
LOCK_WEIGHTS: dict[WorkClass, float] = {"training": 3.0, "dev": 2.0, "online": 1.5, "offline": 1.0}
LOCK_REASONS: dict[WorkClass, str] = {
    "training": "long run without a checkpoint hook",
    "dev": "interactive session",
    "online": "owner asks for no moves",
    "offline": "input cache on this node",
}


@dataclass(slots=True)
class Incidents:
    """Node positions by what is wrong with them."""

    cordoned: set[int] = field(default_factory=set)
    not_ready: set[int] = field(default_factory=set)
    taints: dict[int, TaintRecord] = field(default_factory=dict)
    devices: dict[int, list[DeviceRecord]] = field(default_factory=dict)


def befall(world: World) -> Incidents:
    """Draw the incidents of the nodes and add agents, waiting jobs and leaving pods to the work."""
    nodes = len(world.site.gpus)
    cordoned, not_ready, dedicated, broken, agents = (
        _some(world, nodes, share) for share in (CORDONED, NOT_READY, DEDICATED, BROKEN_DEVICE, AGENT_NODES)
    )
    _add_agents(world, agents)
    _add_waiting(world)
    _let_leave(world)
    return Incidents(
        cordoned=set(cordoned),
        not_ready=set(not_ready) - set(cordoned),
        taints={n: TaintRecord(key=DEDICATED_KEY, value="reserved", effect="NoSchedule") for n in dedicated},
        devices={n: _devices(world, n) for n in broken},
    )


def lock_by_workload(world: World, share: float) -> None:
    """Lock whole workloads, long runs sooner than services, until ``share`` of the pods are locked."""
    lockable = [w for w in world.workloads if not w.tasks[0].agent]
    keys = [-np.log(world.rng.random()) / _lock_weight(w) for w in lockable]
    left = round(share * sum(len(w.tasks) for w in lockable))
    for at in np.argsort(keys, kind="stable").tolist():
        for task in lockable[at].tasks[:left]:
            task.locked = True
        left -= min(left, len(lockable[at].tasks))


def _lock_weight(workload: Workload) -> float:
    """Work that fills nodes is locked sooner than small pods."""
    return LOCK_WEIGHTS[workload.work_class] * (1 + workload.shape.gpus)


def lock_at_random(world: World, share: float) -> None:
    """Lock ``share`` of the pods, whosever they are."""
    tasks = [task for workload in world.workloads for task in workload.tasks if not task.agent]
    for at in world.rng.permutation(len(tasks))[: round(share * len(tasks))].tolist():
        tasks[at].locked = True


def _some(world: World, nodes: int, share: float) -> list[int]:
    return sorted(world.rng.permutation(nodes)[: round(share * nodes)].tolist())


def _devices(world: World, node: int) -> list[DeviceRecord]:
    """All devices of a node, one of them ill: failed only where one is free, so that no running pod sits on it."""
    gpus = int(world.site.gpus[node])
    failed = world.free.whole[node] > 0
    ill = int(np.flatnonzero(world.free.device[node, :gpus] == world.free.device[node, :gpus].max())[-1])
    return [
        DeviceRecord(index=i, health="ok" if i != ill else "failed" if failed else "degraded", numa=i * 2 // gpus)
        for i in range(gpus)
    ]


def _add_agents(world: World, nodes: list[int]) -> None:
    by_cluster: dict[str, Workload] = {}
    cluster = [pool.cluster for pool in world.site.pools for _ in range(pool.lo, pool.hi)]
    for node in nodes:
        fits = world.free.fits(node, node + 1, AGENT_SHAPE)
        if not fits.any():
            continue
        agent = by_cluster.setdefault(cluster[node], _agent(cluster[node]))
        world.free.take(node, AGENT_SHAPE)
        agent.add(node).agent = True
    world.workloads += by_cluster.values()


def _agent(cluster: str) -> Workload:
    return Workload("node-agent", cluster, None, "HP", "online", AGENT_SHAPE, 0, "a", 20 * 86_400)


def _add_waiting(world: World) -> None:
    """Jobs that found no place yet: whole-node pods more often than not, as such jobs wait longest."""
    running = sum(len(w.tasks) for w in world.workloads)
    pools = world.site.pools
    sizes = np.array([pool.total_gpus for pool in pools], dtype=np.float64)
    left = round(WAITING * running)
    while left > 0:
        pool = pools[int(world.rng.choice(len(pools), p=sizes / sizes.sum()))]
        job, count = new_job(world, pool, "HP" if world.rng.random() < 0.5 else "LP", WAITING_ROOM_GPUS)
        for _ in range(count):
            job.add(None)
        world.workloads.append(job)
        left -= count


def _let_leave(world: World) -> None:
    tasks: list[Task] = [
        task
        for workload in world.workloads
        if workload.pool is not None and not workload.gang
        for task in workload.tasks
        if task.node is not None and not task.standby and task.lent_by is None
    ]
    for at in world.rng.permutation(len(tasks))[: round(LEAVING * len(tasks))].tolist():
        tasks[at].terminating = True
