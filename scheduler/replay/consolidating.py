"""Consolidation in a replay: the production planner on a snapshot of the loop's state, its moves by their waves."""

from collections.abc import Iterator

import numpy as np

from scheduler.cluster.build import build
from scheduler.cluster.records import ClusterRecord, Document, DomainRecord, NodeRecord, PodRecord, TopologyRecord
from scheduler.consolidation.planner import unproven
from scheduler.plan.plan import Plan
from scheduler.replay import columns as c
from scheduler.replay.columns import State
from scheduler.replay.rules import Rules
from scheduler.replay.turning import plan_move
from scheduler.replay.world import Work, World

INSTANT = "2026-01-01T00:00:00Z"
TASK = "t"


def tidy(world: World, work: Work, rules: Rules, state: State, *, seed: int) -> tuple[Plan, ...]:
    """Plan every cluster and hand its moves to the loop; a wave starts when the one before it has ended."""
    plans = []
    for cluster in sorted({cluster for cluster, _ in world.pools}):
        document = document_of(world, state, cluster, rules.stay_s)
        if not document.pods:
            continue
        plan = unproven(build(document), rules.consolidation, seed, None, None)
        plans.append(plan)
        for move, wave in zip(plan.moves, plan.wave_of, strict=True):
            at = int(state.clock[c.C_NOW]) + 1 + wave * (rules.move_s + 1)
            plan_move(state, int(move.pod.partition("/")[2][1:]), int(move.target[1:]), at, rules.move_s)
    return tuple(plans)


def document_of(world: World, state: State, cluster: str, stay_s: int = 0) -> Document:
    """What an observer would see of one cluster now.  Nodes and pods are named by their rows.

    Pods whose owners say that they end within ``stay_s`` are locked.
    """
    inside = [at for at, (name, _) in enumerate(world.pools) if name == cluster]
    rows = np.flatnonzero(np.isin(world.pool, inside))
    switches = sorted({world.asws[asw] for asw in world.asw[rows].tolist() if asw != c.NONE})
    return Document(
        taken_at=INSTANT,
        now_s=int(state.clock[c.C_NOW]),
        clusters=[ClusterRecord(name=cluster)],
        domains=[DomainRecord(name=name, level="asw", cluster=cluster) for name in switches],
        nodes=[_node(world, state, cluster, node) for node in rows.tolist()],
        pods=list(_pods(world, state, cluster, set(inside), stay_s)),
    )


def _node(world: World, state: State, cluster: str, node: int) -> NodeRecord:
    asw = int(world.asw[node])
    row = state.node[node]
    return NodeRecord(
        name=f"n{node}",
        cluster=cluster,
        gpu_model=world.pools[world.pool[node]][1],
        gpus=int(world.gpus[node]),
        cpu_milli=int(world.cpu_milli[node]),
        memory_mib=int(world.memory_mib[node]),
        domain=world.asws[asw] if asw != c.NONE else None,
        ready=bool(row[c.N_UP]),
        cordoned=bool(row[c.N_HELD] != c.NONE),
    )


def _pods(world: World, state: State, cluster: str, inside: set[int], stay_s: int) -> Iterator[PodRecord]:
    """Every task that has a place.  Who leaves, sleeps, borrows or waits for others to leave stays where it is."""
    for task in np.flatnonzero(state.task[:, c.T_NODE] != c.NONE).tolist():
        place = state.task[task]
        node = int(place[c.T_NODE])
        if int(world.pool[node]) not in inside:
            continue
        job = state.job[place[c.T_JOB]]
        fixed = job[c.J_FIXED] or job[c.J_STATUS] != c.RUNNING or job[c.J_ASLEEP] or place[c.T_BORROWS]
        ends = job[c.J_STARTED] + job[c.J_ESTIMATE] - job[c.J_SAVED]
        fixed = fixed or 0 < ends - state.clock[c.C_NOW] < stay_s
        shared = 0 < job[c.J_MILLI] < c.WHOLE
        devices = [device for device in range(c.MOST_DEVICES) if int(place[c.T_DEVICES]) >> device & 1]
        yield PodRecord(
            name=f"{TASK}{task}",
            node=f"n{node}",
            cluster=cluster,
            gpus=0 if place[c.T_BORROWS] else int(job[c.J_GPUS]),
            gpu_milli=int(job[c.J_MILLI]) or c.WHOLE,
            devices=devices if shared and not place[c.T_BORROWS] else [],
            cpu_milli=0 if place[c.T_BORROWS] else int(job[c.J_CPU]),
            memory_mib=int(job[c.J_MEMORY]),
            gpu_model=[world.pools[pool][1] for pool in sorted(inside) if int(job[c.J_POOLS]) >> pool & 1],
            tier="LP" if job[c.J_TIER] == c.LP else "HP",
            locked=bool(fixed),
            move="restart" if job[c.J_RESTARTS] else "copy",
            started_s=int(job[c.J_STARTED]) if job[c.J_STATUS] == c.RUNNING else None,
            topology=TopologyRecord(required="asw") if job[c.J_TOPOLOGY] == c.REQUIRED else None,
        )
