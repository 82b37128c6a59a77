"""The loop begun from a snapshot: who runs stands where it stands, who waits waits in the order of the queue.

Running pods of one gang and one shape are one job here, since nothing of them is placed again.  Nodes out of service
and what stands on them are left out; a pod that borrows from a sleeper takes no more than the sleeper holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Longs, Snapshot
from scheduler.replay import columns as c
from scheduler.replay.accounts import Quotas
from scheduler.replay.columns import State
from scheduler.replay.recorded import world_at
from scheduler.replay.rules import Rules, Ways
from scheduler.replay.state import grown, new_state, refuse
from scheduler.replay.turning import FULL, MARGIN, advance, stand
from scheduler.replay.world import Work, World, work_of

ENDLESS = 1 << 60
ASW_WISH = {"asw": c.REQUIRED}


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """``runs`` [j]: rows of the job's pods in the snapshot, () of who waits; ``waits``: place in the queue -> job."""

    snapshot: Snapshot
    world: World
    work: Work
    places: Longs  # [t, 3] task, node, bits of devices; tasks of who runs
    runs: tuple[tuple[int, ...], ...]
    waits: tuple[int, ...]


def open_queue(snapshot: Snapshot, jobs: Sequence[Job], arrivals_s: Sequence[int] | None = None) -> Opening:
    """``jobs`` that wait, in the order of the queue; ``arrivals_s``: seconds from now at which each may start at all.

    A waiting job is its pods of the largest shape: as many as it has in all.
    """
    world, node_of = _in_service(snapshot)
    tenants = [*sorted(set(snapshot.tenants)), ""]
    row = {name: at for at, name in enumerate(tenants)}
    groups = list(_running(snapshot, node_of))
    names = [f"r{at:08}" for at in range(len(groups))] + [f"q{at:08}" for at in range(len(jobs))]
    asked = [_asked(snapshot, world, row, group[0], len(group)) for group in groups]
    for at, job in enumerate(jobs):
        one = _asked(snapshot, world, row, job.parts[0].pods[0], len(job.pods))
        one[c.J_ARRIVAL] = 0 if arrivals_s is None else arrivals_s[at]
        one[c.J_TOPOLOGY] = max((ASW_WISH.get(level, c.ANYWHERE) for level in job.levels), default=c.ANYWHERE)
        one[c.J_TIER] = c.LP if job.lp else c.HP
        asked.append(one)
    work = work_of(names, tenants, np.array(asked, np.int64).reshape(-1, c.J_LANE))
    at_row = {name: at for at, name in enumerate(work.names)}
    runs: list[tuple[int, ...]] = [()] * len(names)
    for at, group in enumerate(groups):
        runs[at_row[names[at]]] = tuple(group)
    waits = tuple(at_row[name] for name in names[len(groups) :])
    return Opening(snapshot, world, work, _places(snapshot, world, node_of, work, runs), tuple(runs), waits)


def starts(
    opening: Opening, rules: Rules, lasts_s: Longs, *, until_s: int, quota: Quotas | None = None, seed: int = 0
) -> Longs:
    """[w] seconds from now at which each waiting job starts, NONE where not within ``until_s``.

    ``lasts_s`` [j]: how long each job still runs, or will run once it has started.
    """
    asked = opening.work.asked.copy()
    asked[:, c.J_DURATION] = np.maximum(lasts_s, 1)
    asked[:, c.J_ESTIMATE] = asked[:, c.J_DURATION]
    work = replace(opening.work, asked=asked)
    state = new_state(opening.world, work, rules, Ways(), seed=seed, quota=quota)
    refuse(state, opening.world)
    while state.heap.shape[0] < len(opening.runs) + 2 * MARGIN:
        state = grown(state)
    stand(state, opening.places)
    state = _onwards(state, until_s)
    return np.ascontiguousarray(state.job[list(opening.waits), c.J_FIRST], np.int64)


def _onwards(state: State, until_s: int) -> State:
    while advance(state, until_s, ENDLESS) == FULL:
        state = grown(state)
    return state


def _in_service(snapshot: Snapshot) -> tuple[World, Longs]:
    """(the world of the nodes in service, [n] row in it or UNKNOWN)."""
    whole = world_at(snapshot)
    names = [cluster.name for cluster in snapshot.clusters]
    of = {(names[snapshot.node_cluster[n]], name): n for n, name in enumerate(snapshot.node_name)}
    nodes = [of[whole.pools[pool][0], name] for pool, name in zip(whole.pool.tolist(), whole.names, strict=True)]
    keep = np.flatnonzero(snapshot.node_usable[nodes] | (snapshot.node_gpus[nodes] == 0) & snapshot.node_ready[nodes])
    kept: dict[str, Any] = {
        field.name: value[keep]
        for field in fields(whole)
        if isinstance(value := getattr(whole, field.name), np.ndarray) and len(value) == len(whole.names)
    }
    node_of = np.full(len(nodes), UNKNOWN, np.int64)
    node_of[np.array(nodes, np.int64)[keep]] = np.arange(len(keep))
    return replace(whole, names=tuple(whole.names[at] for at in keep.tolist()), **kept), node_of


def _running(snapshot: Snapshot, node_of: Longs) -> Iterator[list[int]]:
    """Rows of pods that run, by gang and shape."""
    rows = np.flatnonzero(snapshot.pod_live & (snapshot.pod_lender == UNKNOWN) & (snapshot.pod_node != UNKNOWN))
    rows = rows[node_of[snapshot.pod_node[rows]] != UNKNOWN]
    columns = (
        np.where(snapshot.pod_gang[rows] == UNKNOWN, -2 - rows, snapshot.pod_gang[rows]), snapshot.pod_gpus[rows],
        snapshot.pod_gpu_milli[rows], snapshot.pod_cpu_milli[rows], snapshot.pod_memory_mib[rows],
        snapshot.pod_lp[rows],
    )  # fmt: skip
    _, at = np.unique(np.column_stack(columns).astype(np.int64), axis=0, return_inverse=True)
    order = np.argsort(at.reshape(-1), kind="stable")
    ends = np.flatnonzero(np.diff(at.reshape(-1)[order], append=-1)) + 1
    for group in np.split(rows[order], ends[:-1]) if len(rows) else []:
        yield group.tolist()


def _asked(snapshot: Snapshot, world: World, tenants: dict[str, int], pod: int, workers: int) -> list[int]:
    spec, gpus = snapshot.pod_specs[snapshot.pod_spec[pod]], int(snapshot.pod_gpus[pod])
    cluster, tenant = snapshot.clusters[snapshot.pod_cluster[pod]].name, int(snapshot.pod_tenant[pod])
    row = [0] * c.J_LANE
    row[c.J_TIER] = c.LP if snapshot.pod_lp[pod] else c.HP
    row[c.J_TENANT] = tenants[snapshot.tenants[tenant] if tenant != UNKNOWN else ""]
    row[c.J_POOLS] = sum(
        1 << at
        for at, (home, model) in enumerate(world.pools)
        if home == cluster and (model in spec.gpu_models if spec.gpu_models else bool(model) or not gpus)
    )
    row[c.J_WORKERS], row[c.J_GPUS] = workers, gpus
    row[c.J_MILLI] = int(snapshot.pod_gpu_milli[pod]) if gpus else 0
    row[c.J_CPU], row[c.J_MEMORY] = int(snapshot.pod_cpu_milli[pod]), int(snapshot.pod_memory_mib[pod])
    return row


def _places(snapshot: Snapshot, world: World, node_of: Longs, work: Work, runs: Sequence[tuple[int, ...]]) -> Longs:
    """Whole devices first, then shares; where more is promised than there is, on those with most left."""
    first_task = np.cumsum(work.column(c.J_WORKERS)) - work.column(c.J_WORKERS)
    tasks = [
        (int(snapshot.pod_gpu_milli[pod]) < WHOLE_GPU_MILLI, -int(snapshot.pod_gpu_milli[pod]), pod, task)
        for job, pods in enumerate(runs)
        for task, pod in enumerate(pods, int(first_task[job]))
    ]
    left: dict[int, list[int]] = {}
    found = []
    for _, _, pod, task in sorted(tasks):
        node = int(node_of[snapshot.pod_node[pod]])
        room = left.setdefault(node, [WHOLE_GPU_MILLI] * int(world.gpus[node]))
        chosen = _devices(snapshot, pod, room)
        for device in chosen:
            room[device] -= int(snapshot.pod_gpu_milli[pod])
        found.append((task, node, sum(1 << device for device in chosen)))
    return np.array(found, np.int64).reshape(-1, 3)


def _devices(snapshot: Snapshot, pod: int, room: list[int]) -> list[int]:
    gpus, milli = int(snapshot.pod_gpus[pod]), int(snapshot.pod_gpu_milli[pod])
    listed = [device for device in snapshot.pod_devices.get(pod, ()) if device < len(room)]
    if listed:
        return listed[:gpus]
    fitting = sorted(range(len(room)), key=lambda device: (room[device] < milli, room[device], device))
    tight = [device for device in fitting if room[device] >= milli][:gpus]
    rest = sorted(set(range(len(room))) - set(tight), key=lambda device: (-room[device], device))
    return [*tight, *rest[: gpus - len(tight)]]
