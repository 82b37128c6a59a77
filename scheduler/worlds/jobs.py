"""GPU work of the worlds asi, fleet and uniform8: jobs arrive, are placed by best fit, and some leave again."""

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI, Tier, WorkClass
from scheduler.worlds import marginals
from scheduler.worlds.fill import NOWHERE
from scheduler.worlds.shapes import Shape
from scheduler.worlds.site import Pool
from scheduler.worlds.workload import Workload, World, pick

NAMES: dict[WorkClass, str] = {"online": "serve", "training": "train", "dev": "lab", "offline": "batch"}
PER_POD = ((1, 0.5), (2, 0.25), (4, 0.15), (8, 0.1))  # GPUs per pod of everything but training
OVERFILL = 1.055  # more than the target arrives; what leaves again tears the holes
FRUITLESS = 200  # jobs in a row that found no room end a pool's filling
SHARED_DEV = 0.2
SPREAD_ONLINE = 0.3
SMALL_DEV_GPUS = 8
TIGHT_CORES_PER_GPU = 16
MONTH_S = 29 * 86_400


def fill_pools(world: World) -> None:
    """Fill every pool with HP and LP work and thin it to the published shares."""
    targets = _hp_targets(world)
    for pool, hp in zip(world.site.pools, targets, strict=True):
        milli = pool.total_gpus * WHOLE_GPU_MILLI
        goals: dict[Tier, float] = {"HP": hp * milli, "LP": (marginals.USED_SHARE - hp) * milli}
        for tier, goal in goals.items():
            _fill(world, pool, tier, goal * OVERFILL)
        for tier, goal in goals.items():
            _thin(world, pool, tier, goal)
    world.workloads = [w for w in world.workloads if w.tasks]


def _hp_targets(world: World) -> list[float]:
    """Share of each pool's GPUs for HP work: as published where it is, the rest so that the fleet's share comes out."""
    stated = [p.model.hp_of_used for p in world.site.pools]
    gpus = [p.total_gpus for p in world.site.pools]
    known = sum(marginals.USED_SHARE * s * g for s, g in zip(stated, gpus, strict=True) if s is not None)
    other = sum(g for s, g in zip(stated, gpus, strict=True) if s is None)
    rest = (marginals.HP_SHARE * sum(gpus) - known) / other if other else 0.0
    return [marginals.USED_SHARE * s if s is not None else rest for s in stated]


def _fill(world: World, pool: Pool, tier: Tier, goal: float) -> None:
    used, fruitless = 0.0, 0
    while used < goal and fruitless < FRUITLESS:
        workload, count = new_job(world, pool, tier, (goal - used) / WHOLE_GPU_MILLI)
        _place(world, workload, count)
        used += len(workload.tasks) * workload.shape.total_milli
        fruitless = 0 if workload.tasks else fruitless + 1
        if workload.tasks:
            world.workloads.append(workload)


def new_job(world: World, pool: Pool, tier: Tier, room: float) -> tuple[Workload, int]:
    """A job for ``pool`` of at most about ``room`` GPUs, and its number of pods."""
    rng = world.rng
    gpus = min(pick(marginals.JOB_GPUS, rng), 1 << max(0, int(room).bit_length() - 1))
    work_class: WorkClass = pick(marginals.CLASSES[tier], rng)  # type: ignore[arg-type]
    if work_class == "dev" and gpus > min(pool.gpus, SMALL_DEV_GPUS):
        work_class = "training"
    limit = min(gpus, pool.gpus)
    per_pod = limit if work_class in ("training", "dev") else pick(tuple(o for o in PER_POD if o[0] <= limit), rng)
    count = gpus // per_pod
    department, team = world.owner()
    workload = Workload(
        name=f"{NAMES[work_class]}-{world.number():05d}",
        cluster=pool.cluster,
        pool=pool,
        tier=tier,
        work_class=work_class,
        shape=_shape(pool, work_class, per_pod, rng),
        department=department,
        team=team,
        age_s=min(int(marginals.RUN_MEDIAN_S * rng.lognormal(0.0, 1.2)), MONTH_S),
        gang=work_class == "training" and count > 1,
        spread=work_class == "online" and count > 1 and rng.random() < SPREAD_ONLINE,
        genai_size=pick(marginals.QWEN_SIZES, rng) if rng.random() < marginals.GENAI[work_class] else None,
    )
    return workload, count


def _shape(pool: Pool, work_class: WorkClass, gpus: int, rng: np.random.Generator) -> Shape:
    per_gpu = pool.model.cores / pool.gpus
    options = tuple(o for o in marginals.CORES_PER_GPU if o[0] < TIGHT_CORES_PER_GPU or per_gpu > TIGHT_CORES_PER_GPU)
    cores = gpus * pick(options, rng)
    shared = work_class == "dev" and gpus == 1 and rng.random() < SHARED_DEV
    milli = WHOLE_GPU_MILLI // 2 if shared else WHOLE_GPU_MILLI
    return Shape(gpus, milli, cores * 1000, cores * marginals.GIB_PER_CORE * 1024)


def _place(world: World, workload: Workload, count: int) -> None:
    """A gang finds room for all its pods or for none; others keep what they got."""
    pool, free = workload.pool, world.free
    assert pool is not None
    for _ in range(count):
        banned = [task.node for task in workload.tasks if task.node is not None] if workload.spread else []
        node = free.best_fit(pool.lo, pool.hi, workload.shape, banned)
        if node == NOWHERE:
            break
        workload.add(node, free.take(node, workload.shape))
    if workload.gang and len(workload.tasks) < count:
        _remove(world, workload, range(len(workload.tasks)))


def _thin(world: World, pool: Pool, tier: Tier, goal: float) -> None:
    """Jobs end (gangs whole) and services lose pods, at random, as long as the goal stays met."""
    mine = [w for w in world.workloads if w.pool is pool and w.tier == tier]
    used = float(sum(len(w.tasks) * w.shape.total_milli for w in mine))
    units = [(w, i) for w in mine for i in (range(1) if w.gang else range(len(w.tasks)))]
    gone: dict[int, set[int]] = {}
    for at in world.rng.permutation(len(units)).tolist():
        workload, index = units[at]
        size = workload.shape.total_milli * (len(workload.tasks) if workload.gang else 1)
        if used - size < goal:
            continue
        used -= size
        gone.setdefault(id(workload), set()).update(range(len(workload.tasks)) if workload.gang else (index,))
    for workload in mine:
        _remove(world, workload, gone.get(id(workload), ()))


def _remove(world: World, workload: Workload, indices: "range | set[int] | tuple[()]") -> None:
    for index in indices:
        task = workload.tasks[index]
        assert task.node is not None
        world.free.give(task.node, workload.shape, task.devices)
    workload.tasks = [task for index, task in enumerate(workload.tasks) if index not in indices]
