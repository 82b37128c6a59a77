"""The study's public release as a trace: pods arrive in the hour in which they are first seen, and sleep in theirs."""

from collections.abc import Sequence

import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import NodeRecord
from scheduler.replay import columns as c
from scheduler.replay.trace import CHECKPOINT_S, Trace, estimates
from scheduler.replay.world import World, work_of, world_of
from scheduler.worlds.asi_release import HOUR_S, ReleasedPod, spans

NOTES = (
    "times are as exact as the release: an hour; what it says of delays is not needed, the policy makes its own",
    "each pod is a job: the release does not say which pods of a workload start together",
    "the release names no tenants and no memory; every pod writes a checkpoint an hour",
    "what owners say of run times is drawn: 1 to 5 times the truth",
)


def released_trace(name: str, servers: Sequence[NodeRecord], pods: Sequence[ReleasedPod]) -> Trace:
    """A pod runs for as many hours as it was seen running or asleep.  Raises InputError where none ran."""
    world = world_of(servers)
    ran = sorted((pod for pod in pods if pod.ran), key=lambda pod: pod.name)
    if not ran:
        raise InputError("pods", len(pods), "no pod was seen running: there is nothing to replay")
    first = min(min(pod.seen) for pod in ran) * HOUR_S
    asked = np.array([_row(pod, world, first) for pod in ran], np.int64)
    names = [pod.name for pod in ran]
    asked[:, c.J_ESTIMATE] = estimates(asked[:, c.J_DURATION], names)
    windows = [
        (at, a - first, b - first) for at, pod in enumerate(ran) if pod.tier == "HP" for a, b in spans(pod.asleep)
    ]
    other = sum(pod.tier == "Other" for pod in ran)
    until = (max(max(pod.seen) for pod in ran) + 1) * HOUR_S - first
    notes = (
        *NOTES,
        f"{len(pods) - len(ran)} pods that were never seen running are left out",
        *((f"{other} pods of other priority count as HP",) if other else ()),
        f"{len({row[0] for row in windows})} pods have windows of standby",
    )
    work = work_of(names, ["all"], asked, np.array(windows, np.int64).reshape(-1, 3))
    return Trace(name, world, work, until, notes)


def _row(pod: ReleasedPod, world: World, first: int) -> list[int]:
    row = [0] * c.J_LANE
    row[c.J_ARRIVAL], row[c.J_DURATION] = min(pod.seen) * HOUR_S - first, len(pod.ran) * HOUR_S
    row[c.J_TIER] = c.LP if pod.tier == "LP" else c.HP
    row[c.J_POOLS] = sum(
        1 << at
        for at, (cluster, model) in enumerate(world.pools)
        if cluster == pod.cluster and (model == pod.model or not pod.gpus)
    )
    row[c.J_WORKERS], row[c.J_GPUS], row[c.J_MILLI] = 1, pod.gpus, pod.gpu_milli
    row[c.J_CPU], row[c.J_CHECKPOINT] = pod.cpu_milli, CHECKPOINT_S
    return row
