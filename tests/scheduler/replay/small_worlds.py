"""Small seeded worlds for the replay loop, and an independent count of who uses what."""

from collections import defaultdict

import numpy as np

from scheduler.cluster.records import NodeRecord
from scheduler.replay import columns as c
from scheduler.replay.columns import State
from scheduler.replay.world import Work, World, work_of, world_of

DAY_S = 86_400
WHOLE = 1000


def small_world(nodes: int = 12) -> World:
    """Two pools: 8-GPU nodes of model A and 4-GPU nodes of model B, three to a switch, one in five unlabelled."""
    return world_of(
        [
            NodeRecord(
                name=f"n{i}",
                gpu_model="A" if i < nodes * 2 // 3 else "B",
                gpus=8 if i < nodes * 2 // 3 else 4,
                cpu_milli=96_000,
                memory_mib=400_000,
                asw=f"s{i // 3}" if i % 5 else None,
            )
            for i in range(nodes)
        ]
    )


def mixed_work(seed: int, jobs: int = 160, span_s: int = 40_000) -> Work:
    """Gangs and single pods of both tiers, shares and whole GPUs, CPU-only ones, sleepers, wishes for one switch."""
    rng = np.random.default_rng(seed)
    asked = np.zeros((jobs, c.J_LANE), np.int64)
    gpus = rng.choice([0, 1, 2, 4, 8], jobs, p=[0.05, 0.5, 0.2, 0.15, 0.1])
    share = np.where((gpus == 1) & (rng.random(jobs) < 0.4), rng.choice([300, 500, 700], jobs), WHOLE)
    hp = rng.random(jobs) < 0.5
    columns = {
        c.J_ARRIVAL: rng.integers(0, span_s, jobs),
        c.J_DURATION: rng.integers(60, 20_000, jobs),
        c.J_TIER: ~hp,
        c.J_TENANT: rng.integers(0, 3, jobs),
        c.J_POOLS: rng.choice([1, 2, 3], jobs, p=[0.6, 0.3, 0.1]),
        c.J_WORKERS: rng.choice([1, 2, 3, 5], jobs, p=[0.7, 0.15, 0.1, 0.05]),
        c.J_GPUS: gpus,
        c.J_MILLI: np.where(gpus == 0, 0, share),
        c.J_CPU: rng.integers(1, 12, jobs) * 1000 * np.maximum(gpus, 1),
        c.J_MEMORY: rng.integers(1, 20, jobs) * 1000,
        c.J_CHECKPOINT: rng.choice([0, 600, 1800], jobs),
        c.J_TOPOLOGY: rng.choice([c.ANYWHERE, c.PREFERRED, c.REQUIRED], jobs, p=[0.6, 0.3, 0.1]),
        c.J_SLEEP_AT: rng.integers(0, DAY_S, jobs),
        c.J_SLEEP_S: np.where(hp & (rng.random(jobs) < 0.5), 7_000, 0),
        c.J_RESTARTS: rng.random(jobs) < 0.3,
    }
    for column, values in columns.items():
        asked[:, column] = values
    asked[:, c.J_ESTIMATE] = 2 * asked[:, c.J_DURATION]
    return work_of([f"j{i}" for i in range(jobs)], ["t0", "t1", "t2"], asked)


def uses(world: World, state: State) -> dict[tuple[str, int, int], int]:
    """What runs now, counted from jobs and places alone: (what, node, device) -> amount.

    A sleeper uses its memory only; a job that waits for others to leave uses nothing yet; both copies of a move count.
    """
    found: dict[tuple[str, int, int], int] = defaultdict(int)
    for place in state.task:
        job = state.job[place[c.T_JOB]]
        if place[c.T_NODE] == c.NONE or job[c.J_STATUS] not in (c.RUNNING, c.LEAVING):
            continue
        copies = [(int(place[c.T_NODE]), int(place[c.T_DEVICES]))]
        if place[c.T_MOVING] != c.NONE:
            copies.append((int(place[c.T_MOVING]), int(place[c.T_MOVING_DEVICES])))
        for node, devices in copies:
            found["memory", node, 0] += int(job[c.J_MEMORY])
            if job[c.J_ASLEEP]:
                continue
            found["cpu", node, 0] += int(job[c.J_CPU])
            taken = [device for device in range(c.MOST_DEVICES) if devices >> device & 1]
            assert len(taken) == job[c.J_GPUS]
            for device in taken:
                assert device < world.gpus[node]
                found["gpu", node, device] += int(job[c.J_MILLI])
    return found
