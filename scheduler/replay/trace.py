"""Rows to events: the traces' own files, worlds and recorded snapshots as a world and the work that arrives in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import WHOLE_GPU_MILLI, NodeRecord, TenantRecord
from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.world import Work, World, work_of, world_of
from scheduler.worlds.openb import HP_QOS, TracePod
from scheduler.worlds.spot_trace import SpotJobs

CHECKPOINT_S = 3600  # GFS (ASPLOS '26): every job writes one an hour
LARGEST_GUESS = 5.0  # owners say up to so many times what their job takes


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """``notes``: what the rows do not say and was assumed, for people."""

    name: str
    world: World
    work: Work
    until_s: int
    notes: tuple[str, ...] = ()
    tenants: tuple[TenantRecord, ...] = ()  # whose quotas the trace brings


def spot_trace(name: str, nodes: Sequence[NodeRecord], jobs: SpotJobs) -> Trace:
    """GPUs and CPU are taken as per worker, which the schema does not say; HP does not checkpoint less than spot."""
    world = world_of(nodes)
    pool_of = {model: 1 << at for at, (_, model) in enumerate(world.pools)}
    unknown = next((model for model in jobs.model if model not in pool_of), None)
    if unknown is not None:
        raise InputError("job_info_df.csv, gpu_model", unknown, "no node has this GPU model")
    tenants = sorted(set(jobs.organisation))
    row = {tenant: at for at, tenant in enumerate(tenants)}
    asked = _asked(len(jobs.name))
    milli = np.rint(jobs.gpu * WHOLE_GPU_MILLI).astype(np.int64)
    shared = (milli > 0) & (milli < WHOLE_GPU_MILLI)
    asked[:, c.J_ARRIVAL], asked[:, c.J_DURATION] = jobs.submit_s, np.maximum(1, jobs.duration_s)
    asked[:, c.J_TIER] = np.where(jobs.spot, c.LP, c.HP)
    asked[:, c.J_TENANT] = [row[tenant] for tenant in jobs.organisation]
    asked[:, c.J_POOLS] = [pool_of[model] for model in jobs.model]
    asked[:, c.J_WORKERS] = jobs.workers
    asked[:, c.J_GPUS] = np.where(shared, 1, -(-milli // WHOLE_GPU_MILLI))
    asked[:, c.J_MILLI] = np.where(milli == 0, 0, np.where(shared, milli, WHOLE_GPU_MILLI))
    asked[:, c.J_CPU] = np.rint(jobs.cpu * 1000).astype(np.int64)
    asked[:, c.J_CHECKPOINT] = CHECKPOINT_S
    asked[:, c.J_ESTIMATE] = estimates(asked[:, c.J_DURATION], jobs.name)
    notes = (
        "GPUs and CPU are taken as per worker",
        "every job writes a checkpoint an hour",
        "what owners say of run times is drawn: 1 to 5 times the truth",
        "the trace names no network and no memory",
    )
    until = int((jobs.submit_s).max(initial=0))
    return Trace(name, world, work_of(jobs.name, tenants, asked), until, notes)


def _asked(jobs: int) -> Longs:
    asked = np.zeros((jobs, c.J_LANE), np.int64)
    asked[:, c.J_WORKERS] = 1
    return asked


def estimates(duration_s: Longs, names: Sequence[str]) -> Longs:
    """What owners say, drawn by the job's name: log-uniform from the truth to five times as much."""
    words = np.array([word_of(name) for name in names], np.float64) / 2**32
    return np.asarray((duration_s * LARGEST_GUESS**words).astype(np.int64) + 1)


def word_of(name: str) -> int:
    """FNV-1a, 32 bits: equal in every process."""
    word = 2166136261
    for byte in name.encode():
        word = (word ^ byte) * 16777619 & 0xFFFFFFFF
    return word ^ word >> 15


def openb_trace(name: str, nodes: Sequence[NodeRecord], pods: Sequence[TracePod]) -> Trace:
    """Pods that ran, by their own clock.  Raises InputError for a list without times."""
    timed = [pod for pod in pods if pod.created_s is not None and pod.deleted_s is not None]
    if not timed:
        raise InputError("pods", None, "the list has no times: it can be filled in, but not replayed")
    world = world_of(nodes)
    first = min(pod.created_s or 0 for pod in timed)
    asked = _asked(len(timed))
    for at, pod in enumerate(timed):
        asked[at] = _openb_row(pod, world, first)
    asked[:, c.J_ESTIMATE] = estimates(asked[:, c.J_DURATION], [pod.name for pod in timed])
    notes = (f"{len(pods) - len(timed)} pods without an end are left out", "every pod writes a checkpoint an hour")
    until = int(asked[:, c.J_ARRIVAL].max())
    return Trace(name, world, work_of([pod.name for pod in timed], ["all"], asked), until, notes)


def _openb_row(pod: TracePod, world: World, first: int) -> list[int]:
    pools = sum(1 << at for at, (_, model) in enumerate(world.pools) if _runs(pod, model))
    begun = pod.scheduled_s if pod.scheduled_s is not None else pod.created_s
    row = [0] * c.J_LANE
    row[c.J_ARRIVAL], row[c.J_DURATION] = (pod.created_s or 0) - first, max(1, (pod.deleted_s or 0) - (begun or 0))
    row[c.J_TIER] = c.HP if pod.qos is None or pod.qos in HP_QOS else c.LP
    row[c.J_POOLS], row[c.J_WORKERS], row[c.J_GPUS] = pools, 1, pod.shape.gpus
    row[c.J_MILLI] = pod.shape.gpu_milli if pod.shape.gpus else 0
    row[c.J_CPU], row[c.J_MEMORY], row[c.J_CHECKPOINT] = pod.shape.cpu_milli, pod.shape.memory_mib, CHECKPOINT_S
    return row


def _runs(pod: TracePod, model: str) -> bool:
    return model in pod.models if pod.models else bool(model) or not pod.shape.gpus
