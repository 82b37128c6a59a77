"""What a goal asks seats for: which pods, on which nodes, in which domains; and why that may be hopeless."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.columns import NONE
from scheduler.consolidation.filling import Filled, Home
from scheduler.consolidation.params import Params
from scheduler.plan.ask import Ask, ParamError
from scheduler.plan.goal import SHAPE, Goal
from scheduler.plan.slots import asked_by, with_slots
from scheduler.plan.waiting import Waiting, domains_at, levels_of, mates, on_devices, one_model, waiting_of

ANYWHERE: Home = (NONE, NONE)
NOTHING = Filled(np.zeros((0, c.LOG_COLUMNS), np.int64), (), ANYWHERE)


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """``snapshot`` has the slots, where there are some.  Axis n: nodes."""

    snapshot: Snapshot
    goal: Goal
    pods: Longs
    pools: tuple[Bools, ...]  # [n] nodes of one GPU model each, and those without GPUs: one of these has to hold all
    homes: tuple[Home, ...]  # one of these has to hold all
    fallback: Home | None  # taken where a home is only preferred, or none is asked for
    stay: Longs  # running members of the same gang: nobody scatters a gang to complete it


def slots_of(snapshot: Snapshot, params: Params) -> Wish:
    ask, models = params.goal, params.models
    longer = with_slots(snapshot, ask.name, ask.slots, models)
    goal = Goal(
        kind=ask.kind,
        name=ask.name,
        models=models,
        whole=ask.all_or_nothing,
        wanted=ask.slots,
        reached=0,
        before=0,
        unit="slots",
    )
    for model in models:
        if model not in snapshot.models:
            raise ParamError("models", model, f"no such GPU model; there are {', '.join(snapshot.models)}")
    pods = np.arange(len(snapshot.pod_name), len(longer.pod_name))
    return Wish(longer, goal, pods, (np.ones(len(snapshot.node_name), np.bool_),), (), ANYWHERE, pods[:0])


def gang_of(snapshot: Snapshot, ask: Ask) -> Wish:
    found = waiting_of(snapshot, ask.name)
    if found is None:
        raise ParamError("name", ask.name, "no such gang or pod")
    refused = _hopeless(snapshot, found)
    homes, fallback = ((), None) if refused else _homes(snapshot, found)
    if not refused and not homes and fallback is None:
        refused = "no node stands in a known domain of the level that it requires"
    goal = Goal(
        kind=ask.kind,
        name=ask.name,
        whole=True,
        wanted=len(found.pods),
        reached=0,
        before=0,
        unit=found.unit,
        refused=refused,
    )
    stay = mates(snapshot, found.gang).astype(np.int64)
    return Wish(snapshot, goal, found.pods.astype(np.int64), _pools(snapshot, found, stay), homes, fallback, stay)


def _pools(snapshot: Snapshot, found: Waiting, stay: Longs) -> tuple[Bools, ...]:
    """One job stays within one GPU model."""
    waiting = sum(on_devices(snapshot, p) for p in found.pods.tolist())
    model = one_model(snapshot, waiting, stay[~snapshot.pod_terminating[stay]].tolist())
    if model is None:
        return (np.ones(len(snapshot.node_name), np.bool_),)
    bare = snapshot.node_gpus == 0
    return tuple(bare | (model == m) for m in np.unique(model[~bare & (model != UNKNOWN)]).tolist()) or (bare,)


def _hopeless(snapshot: Snapshot, found: Waiting) -> str:
    """Why no move could help."""
    if not len(found.pods):
        return "nobody of it waits for a place"
    there = mates(snapshot, found.gang)
    if found.gang != UNKNOWN:
        gang = snapshot.gangs[found.gang]
        have = len(there) + len(found.pods)
        if have < gang.min_members:
            return f"it has {have} members, and starts with {gang.min_members}"
    for level in levels_of(snapshot, found.pods):
        if level not in snapshot.levels:
            return f"it requires one {level}, and no network domain of that level is known"
        if len(there) and (len(domains := domains_at(snapshot, level, snapshot.pod_node[there])) > 1
                           or UNKNOWN in domains):  # fmt: skip
            return f"its running members do not stand in one known {level}"
    return ""


def _homes(snapshot: Snapshot, found: Waiting) -> tuple[tuple[Home, ...], Home | None]:
    required = levels_of(snapshot, found.pods)
    level = required[0] if required else _preferred(snapshot, found)
    if level not in snapshot.levels:
        return (), ANYWHERE
    at = snapshot.levels.index(level)
    fallback = None if required else ANYWHERE
    if found.gang == UNKNOWN:
        return (((at, NONE),), None) if required else ((), ANYWHERE)
    there = mates(snapshot, found.gang)
    everywhere = np.arange(len(snapshot.node_name), dtype=np.int32)
    inside = domains_at(snapshot, level, snapshot.pod_node[there] if len(there) else everywhere)
    return tuple((at, d) for d in sorted(inside - {UNKNOWN})), fallback


def _preferred(snapshot: Snapshot, found: Waiting) -> str:
    own = snapshot.pod_specs[snapshot.pod_spec[found.pods[0]]].topology
    of_gang = None if found.gang == UNKNOWN else snapshot.gangs[found.gang].topology
    return next((wish.preferred for wish in (of_gang, own) if wish is not None and wish.preferred), "")


def most_seats(wish: Wish, compiled: Compiled) -> int:
    """No plan seats more: of a gang all; of slots what would fit if every pod that may move were gone at once.

    Nor can all nodes together hold more than what is free on them now, since moves change no sum.
    """
    if wish.goal.kind != SHAPE:
        return wish.goal.wanted
    gpus, cpu = asked_by(wish.goal.name)
    a, first = compiled.arena, int(wish.pods[0])
    able = compiled.takes & a.eligible[a.pod[first, c.P_CLASS], a.node[:, c.N_CLASS]]
    fixed = (a.pod[:, c.P_FIXED] > 0) & (a.pod[:, c.P_FIXED] != c.LENT)
    stays = np.flatnonzero((a.pod[:, c.P_NODE] >= 0) & (fixed | (a.pod[:, c.P_AGENT] > 0)))
    room_milli, room_cpu = a.node[:, c.N_ROOM] * WHOLE_GPU_MILLI, wish.snapshot.node_cpu_milli.copy()
    np.subtract.at(room_milli, a.pod[stays, c.P_NODE], a.pod[stays, c.P_GPUS] * a.pod[stays, c.P_MILLI])
    np.subtract.at(room_cpu, a.pod[stays, c.P_NODE], a.pod[stays, c.P_CPU])
    each = _times(room_milli, gpus * WHOLE_GPU_MILLI) if cpu == 0 else np.minimum(
        _times(room_milli, gpus * WHOLE_GPU_MILLI), _times(room_cpu, cpu)
    )  # fmt: skip
    free, room = occupancy(wish.snapshot), wish.snapshot.node_allocatable.astype(np.int64) * WHOLE_GPU_MILLI
    sums: Sequence[tuple[int, int]] = (
        (int(np.maximum(room - free.used_gpu_milli, 0)[wish.snapshot.node_usable].sum()), gpus * WHOLE_GPU_MILLI),
        (int(np.maximum(wish.snapshot.node_cpu_milli - free.used_cpu_milli, 0)[wish.snapshot.node_usable].sum()), cpu),
    )
    together = min(total // asked for total, asked in sums if asked)
    return min(wish.goal.wanted, int(each[able].sum()), together)


def _times(room: Longs, asked: int) -> Longs:
    return np.maximum(room, 0) // asked
