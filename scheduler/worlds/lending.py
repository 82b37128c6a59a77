"""Services that sleep, and spot work on the GPUs that they lend."""

import math

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.worlds import marginals
from scheduler.worlds.shapes import Shape
from scheduler.worlds.workload import Task, Workload, World

BORROWERS_PER_JOB = 8
CORES_PER_LENT_GPU = 8


def put_to_sleep(world: World, hour: int) -> None:
    """Online HP services sleep up to the hour's share of all GPUs; 90 % of those GPUs are lent to LP work."""
    services = [w for w in world.workloads if w.work_class == "online" and w.tier == "HP" and not w.shape.shared]
    goal = marginals.standby_share(hour) * float(world.site.gpus.sum())
    asleep = 0
    lenders: list[tuple[Workload, Task]] = []
    for at in world.rng.permutation(len(services)).tolist():
        service = services[at]
        for task in service.tasks:
            if asleep + service.shape.gpus > goal:
                continue
            task.standby = True
            asleep += service.shape.gpus
            lenders.append((service, task))
    _lend(world, lenders, asleep)


def _lend(world: World, lenders: list[tuple[Workload, Task]], asleep: int) -> None:
    goal = math.floor(marginals.HARVESTED * asleep)
    lent = 0
    jobs: dict[tuple[int, int], Workload] = {}
    for service, sleeper in lenders:
        shape = _borrowed(service.shape)
        assert sleeper.node is not None
        if lent + shape.gpus > goal or world.free.memory_mib[sleeper.node] < shape.memory_mib:
            continue
        key = (id(service.pool), shape.gpus)
        job = jobs.get(key)
        if job is None or len(job.tasks) >= BORROWERS_PER_JOB:
            job = jobs[key] = _spot_job(world, service, shape)
        # GPUs and CPU are the sleeper's; only memory adds up.
        world.free.memory_mib[sleeper.node] -= shape.memory_mib
        job.add(sleeper.node).lent_by = f"{service.namespace}/{sleeper.name}"
        lent += shape.gpus


def _borrowed(lender: Shape) -> Shape:
    cores = lender.gpus * CORES_PER_LENT_GPU
    memory = cores * marginals.GIB_PER_CORE * 1024 // 2
    return Shape(lender.gpus, WHOLE_GPU_MILLI, min(cores * 1000, lender.cpu_milli), memory)


def _spot_job(world: World, service: Workload, shape: Shape) -> Workload:
    department, team = world.owner()
    job = Workload(
        name=f"spot-{world.number():05d}",
        cluster=service.cluster,
        pool=service.pool,
        tier="LP",
        work_class="offline",
        shape=shape,
        department=department,
        team=team,
        age_s=int(world.rng.integers(300, 6 * 3600)),
        genai_size=marginals.QWEN_SIZES[0][0],
    )
    world.workloads.append(job)
    return job
