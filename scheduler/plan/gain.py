"""Whether a job that started after a plan could have started without it: asked of one reading of the cluster.

What is assumed of the cluster without the plan, each so that a plan is rather given too little than too much:

* Pods that the plan moved, and that still stand where it took them, stand where they stood before.  Those that have
  ended, or have moved on since, are as the reading has them.
* Whoever started on the nodes that the plan freed is not there: they would wait, too, and their room is free.
* Everything else is as the reading has it: nobody is evicted, and nobody would have come or gone at another time.
* The job fits if all of its pods find room at once, by the rules that hold for every pod (eligibility, devices, ports,
  company, and one domain where its topology requires one).

Pods that are alike are packed exactly.  Of a job with several kinds of pods, "no room" is said only where one kind
alone finds none; where the packing fails otherwise, nobody knows.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.occupancy import Occupancy, occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.room import faults, pods_by_node
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Snapshot
from scheduler.plan.outcome import moved
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import resolve
from scheduler.plan.waiting import levels_of

Word = Literal["waits", "elsewhere", "unknown"]
WAITS: Word = "waits"  # no room without the plan
ELSEWHERE: Word = "elsewhere"  # it would have fitted without the plan
NOBODY_KNOWS: Word = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """``why`` in words: how many of its pods find room, where they do, or why nobody knows."""

    word: Word
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Without:
    """A reading with the moves of a plan taken back.  Axis n: nodes."""

    snapshot: Snapshot
    there: Occupancy
    rules: Eligibility
    order: Ints
    starts: Ints
    lost: tuple[str, ...]  # nodes that pods would stand on again, and that are no longer there


def without(plan: Plan, done: Collection[int], snapshot: Snapshot, absent: Collection[int] = ()) -> Without:
    """The reading without the moves ``done`` (by index), and without the pods ``absent`` (rows of the plan's cluster).

    Raises ``InputError`` if the snapshot has not the plan's cluster.
    """
    rows = resolve(plan, snapshot)
    there = rows.snapshot
    back = {
        rows.pod[i]: rows.source[i]
        for i in done
        if rows.pod[i] != UNKNOWN and there.pod_live[rows.pod[i]] and there.pod_node[rows.pod[i]] == rows.target[i]
    }
    lost = {plan.moves[i].source for i in done if back.get(rows.pod[i]) == UNKNOWN}
    old = moved(there, {pod: node for pod, node in back.items() if node != UNKNOWN and pod not in set(absent)})
    old = _emptied_of(old, absent)
    order, starts = pods_by_node(old)
    return Without(old, occupancy(old), eligibility(old), order, starts, tuple(sorted(lost)))


def _emptied_of(snapshot: Snapshot, absent: Collection[int]) -> Snapshot:
    """These pods stand nowhere."""
    rows = list(absent)
    node, live = snapshot.pod_node.copy(), snapshot.pod_live.copy()
    node[rows], live[rows] = UNKNOWN, False
    devices = {pod: listed for pod, listed in snapshot.pod_devices.items() if pod not in set(rows)}
    return replace(snapshot, pod_node=frozen(node), pod_live=frozen(live), pod_devices=devices)


def answer(world: Without, job: Sequence[int]) -> Answer:
    """Whether the pods ``job`` (rows; all of them absent in ``world``) would have found room together."""
    if world.lost:
        return Answer(NOBODY_KNOWS, f"{', '.join(world.lost[:3])} is no longer there")
    if (world.snapshot.pod_lender[list(job)] != UNKNOWN).any():
        return Answer(NOBODY_KNOWS, "it runs on what a sleeping pod lends")
    scopes = _scopes(world.snapshot, np.array(job, np.int32))
    if scopes is None:
        return Answer(NOBODY_KNOWS, "nobody knows the domains of the level that it requires")
    best = max((_placed(world, job, scope) for scope in scopes), key=len, default={})
    if len(best) == len(job):
        names = sorted({world.snapshot.node_name[node] for node in best.values()})
        return Answer(ELSEWHERE, f"on {', '.join(names[:3])}{', …' if len(names) > 3 else ''}")
    kinds = _kinds(world.snapshot, job)
    plain = all(_plain(world.snapshot, pod) for pod in job) or len(job) == 1
    if plain and all(_never(world, kinds, scope) for scope in scopes):
        return Answer(WAITS, f"{len(best)} of {len(job)} pods find room")
    return Answer(NOBODY_KNOWS, f"{len(best)} of {len(job)} pods find room one after the other, and maybe more")


def _scopes(snapshot: Snapshot, job: Ints) -> list[Bools] | None:
    """[n] The sets of nodes that each could hold the whole job; None where a level is not known at all."""
    levels = levels_of(snapshot, job)
    everywhere = np.ones(len(snapshot.node_name), np.bool_)
    if not levels:
        return [everywhere]
    if any(level not in snapshot.levels for level in levels):
        return None
    at = [snapshot.node_at_level[snapshot.levels.index(level)] for level in levels]
    known = np.logical_and.reduce([column != UNKNOWN for column in at])
    places = sorted(set(zip(*(column[known].tolist() for column in at), strict=True)))
    return [known & np.logical_and.reduce([at[i] == one for i, one in enumerate(place)]) for place in places]


def _placed(world: Without, job: Sequence[int], scope: Bools) -> dict[int, int]:
    """Pod -> node, largest first, each on the first node that takes it; the others are missing."""
    snapshot = world.snapshot
    largest = sorted(job, key=lambda p: (-_milli(snapshot, p), -int(snapshot.pod_cpu_milli[p]), p))
    found: dict[int, int] = {}
    arrivals: dict[int, list[int]] = defaultdict(list)
    failed: set[tuple[object, ...]] = set()
    for pod in largest:
        kind = _kind(snapshot, pod)
        if kind in failed:
            continue
        node = next(_takers(world, pod, scope, arrivals), None)
        if node is None:
            failed.add(kind)
            continue
        found[pod] = node
        arrivals[node].append(pod)
    return found


def _takers(world: Without, pod: int, scope: Bools, arrivals: dict[int, list[int]]) -> Iterator[int]:
    """Nodes that take the pod beside what stands and has arrived there."""
    snapshot, there = world.snapshot, world.there
    room = snapshot.node_allocatable.astype(np.int64) * WHOLE_GPU_MILLI - there.used_gpu_milli
    able = scope & snapshot.node_usable & world.rules.eligible(pod)
    able &= (room >= _milli(snapshot, pod)) | (_milli(snapshot, pod) == 0)
    able &= snapshot.node_cpu_milli - there.used_cpu_milli >= snapshot.pod_cpu_milli[pod]
    able &= snapshot.node_memory_mib - there.used_memory_mib >= snapshot.pod_memory_mib[pod]
    for node in np.flatnonzero(able).tolist():
        residents = world.order[world.starts[node] : world.starts[node + 1]].tolist()
        if next(faults(snapshot, node, residents, [*arrivals.get(node, ()), pod]), None) is None:
            yield node


def _never(world: Without, kinds: Sequence[Sequence[int]], scope: Bools) -> bool:
    """Whether the pods of one kind alone find no room there."""
    return any(len(_placed(world, kind, scope)) < len(kind) for kind in kinds)


def _kinds(snapshot: Snapshot, job: Sequence[int]) -> list[list[int]]:
    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for pod in job:
        found[_kind(snapshot, pod)].append(pod)
    return list(found.values())


def _kind(snapshot: Snapshot, pod: int) -> tuple[object, ...]:
    """Equal for pods that fit wherever the other fits."""
    columns = (
        snapshot.pod_spec, snapshot.pod_namespace, snapshot.pod_gpus, snapshot.pod_gpu_milli,
        snapshot.pod_gpu_memory_mib, snapshot.pod_cpu_milli, snapshot.pod_memory_mib,
    )  # fmt: skip
    return tuple(int(column[pod]) for column in columns)


def _plain(snapshot: Snapshot, pod: int) -> bool:
    """Whether pods like it do not mind each other, so that filling node after node is exact."""
    spec = snapshot.pod_specs[int(snapshot.pod_spec[pod])]
    return not (spec.affinity or spec.anti_affinity)


def _milli(snapshot: Snapshot, pod: int) -> int:
    """Of GPUs; slices are none."""
    if snapshot.pod_specs[int(snapshot.pod_spec[pod])].mig:
        return 0
    return int(snapshot.pod_gpus[pod]) * int(snapshot.pod_gpu_milli[pod])
