"""CPU-only work beside the GPU work, so that on 80 % of the nodes it asks for more CPU than the GPU work does."""

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.worlds import marginals
from scheduler.worlds.shapes import Shape
from scheduler.worlds.workload import Workload, World

SIZES_CORES = (64, 48, 32, 24, 16, 8, 4)
GIB_PER_CORE = 2
REPLICAS = (6, 40)
HEADROOM = 0.96  # share of a node's free CPU that CPU-only work takes at most
GREEDY_NODES = 0.08  # nodes on which it takes all of that, so that free GPUs lack CPU
ONLINE = 0.6
MOST_MULTIPLE = 1.9


def add_cpu_work(world: World) -> None:
    """Add CPU-only pods on 80 % of the nodes; half of the nodes without any work stay empty."""
    rng, free = world.rng, world.free
    gpu_cpu = world.site.cpu_milli - free.cpu_milli
    goal = round(marginals.CPU_DOMINANT_NODES * len(gpu_cpu))
    open_jobs: dict[tuple[str, int], tuple[Workload, int]] = {}
    cluster = _cluster_of(world)
    for node in _candidates(world, gpu_cpu)[:goal].tolist():
        room = int(HEADROOM * free.cpu_milli[node])
        want = int(gpu_cpu[node] * rng.uniform(1.05, MOST_MULTIPLE)) + SIZES_CORES[-1] * 1000
        if rng.random() < GREEDY_NODES:
            want = room
        _put(world, node, cluster[node], (int(gpu_cpu[node]), min(want, room), room), open_jobs)


def _candidates(world: World, gpu_cpu: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nodes on which CPU-only work can outweigh the GPU work, in random order."""
    rng, free = world.rng, world.free
    able = HEADROOM * free.cpu_milli >= gpu_cpu + SIZES_CORES[-1] * 1000
    idle = np.flatnonzero(gpu_cpu == 0)
    able[rng.permutation(idle)[: len(idle) // 2]] = False
    return rng.permutation(np.flatnonzero(able))


def _put(
    world: World,
    node: int,
    cluster: str,
    cpu: tuple[int, int, int],
    open_jobs: dict[tuple[str, int], tuple[Workload, int]],
) -> None:
    """Pods of falling size on ``node`` up to the wanted CPU, in any case beyond that of the GPU work."""
    beyond, want, room = cpu
    got = 0
    for cores in SIZES_CORES:
        while got + cores * 1000 <= want or (cores == SIZES_CORES[-1] and got <= beyond):
            shape = Shape(0, WHOLE_GPU_MILLI, cores * 1000, cores * GIB_PER_CORE * 1024)
            if got + shape.cpu_milli > room or world.free.memory_mib[node] < shape.memory_mib:
                break
            job = _job(world, cluster, shape, open_jobs)
            world.free.take(node, shape)
            job.add(node)
            got += shape.cpu_milli


def _job(world: World, cluster: str, shape: Shape, open_jobs: dict[tuple[str, int], tuple[Workload, int]]) -> Workload:
    key = (cluster, shape.cpu_milli)
    job, replicas = open_jobs.get(key, (None, 0))
    if job is not None and len(job.tasks) < replicas:
        return job
    online = world.rng.random() < ONLINE
    department, team = world.owner()
    job = Workload(
        name=f"{'web' if online else 'etl'}-{world.number():05d}",
        cluster=cluster,
        pool=None,
        tier="HP" if online else "LP",
        work_class="online" if online else "offline",
        shape=shape,
        department=department,
        team=team,
        age_s=int(world.rng.integers(3600, 20 * 86_400)),
    )
    world.workloads.append(job)
    open_jobs[key] = (job, int(world.rng.integers(*REPLICAS)))
    return job


def _cluster_of(world: World) -> list[str]:
    return [pool.cluster for pool in world.site.pools for _ in range(pool.lo, pool.hi)]
