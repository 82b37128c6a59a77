"""Which jobs started where a run had made room, and whether they would have had to wait without it.

A job is a gang that has its least members, or a pod that takes a whole node (of a plan for a shape or a gang: what the
room was made for).  The question itself, and what it assumes, is in ``scheduler.plan.gain``.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Q

from console.inventory import archive
from console.plans.choices import StepState
from console.plans.followed import StartedJob
from console.plans.models import EmptiedNode, Plan, RoomNode, Step
from console.plans.services import checking
from console.plans.services.staying import gpu_milli_of, tenant_of
from console.plans.services.transition import Conflict
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Snapshot
from scheduler.plan.gain import ELSEWHERE, WAITS, Without, answer, without
from scheduler.plan.goal import SEATING
from scheduler.plan.waiting import pending

ASK_EVERY = timedelta(minutes=1)  # so often whoever would still have to wait is asked about again


@dataclass(frozen=True, slots=True)
class _Look:
    """One reading of a plan's cluster."""

    plan: Plan
    snapshot: Snapshot
    seen_at: datetime
    newcomers: dict[str, int]  # pods that came to nodes on which the run made room: namespace/name -> row
    first: set[str]  # of those, whoever came when nobody had used the node since
    takers: set[str]  # of those, for whom the room was made


def look(plan: Plan, now: checking.Newest, seen_at: datetime, empty: set[str]) -> None:
    """Note jobs that started since the last reading, and ask again about those that would have had to wait.

    ``empty``: nodes of the run that nobody had refilled before this reading.
    """
    one = _look(plan, now.snapshot, seen_at, empty)
    known = {job.job: job for job in StartedJob.objects.filter(plan=plan)}
    due = [job for job in known.values() if job.is_open and seen_at - job.checked_at >= ASK_EVERY]
    started = _started(one, set(known))
    if not due and not started:
        return
    still = _still(one, due)
    world = _without(one, {pod for pods in (*still.values(), *started.values()) for pod in pods})
    for name, pods in started.items():
        _note(one, world, name, pods)
    for job in due:
        _ask_again(one, world, job, still[job.job])


def _look(plan: Plan, snapshot: Snapshot, seen_at: datetime, empty: set[str]) -> _Look:
    emptied, rooms = list(EmptiedNode.objects.filter(plan=plan)), list(RoomNode.objects.filter(plan=plan))
    there = {row.node for row in emptied} | {row.node for row in rooms}
    old = {pod for room in rooms for pod in room.residents}
    moved = Step.objects.filter(plan__source=plan.source_id, plan__cluster=plan.cluster, state=StepState.SUCCEEDED)
    old |= set(moved.filter(Q(plan=plan) | Q(target_node__in=there)).values_list("pod", flat=True))
    inside = np.array([name in there for name in snapshot.node_name], np.bool_)
    pods = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_agent)
    found = {snapshot.pod_key(pod): pod for pod in pods[inside[snapshot.pod_node[pods]]].tolist()}
    newcomers = {key: pod for key, pod in found.items() if key not in old}
    seated = plan.held_for.get("kind") in SEATING
    takers = {pod for room in rooms for pod in room.takers} & set(newcomers) if seated else set()
    first = takers | {pod["pod"] for row in emptied for pod in row.refilled_by}
    first |= {key for key, pod in newcomers.items() if snapshot.node_name[snapshot.pod_node[pod]] in empty}
    return _Look(plan, snapshot, seen_at, newcomers, first & set(newcomers), takers)


def _started(one: _Look, known: set[str]) -> dict[str, list[int]]:
    """Jobs that are not known yet: name -> all their pods that run."""
    snapshot = one.snapshot
    found: dict[str, list[int]] = {}
    for key in sorted(one.first):
        pod = one.newcomers[key]
        gang = int(snapshot.pod_gang[pod])
        if gang == UNKNOWN:
            name, pods = key, [pod] if _counts(one, pod) else []
        else:
            record = snapshot.gangs[gang]
            name = f"{record.namespace}/{record.name}"
            members = (snapshot.pod_live & (snapshot.pod_gang == gang)).nonzero()[0].tolist()
            pods = members if len(members) >= max(1, record.min_members) else []
        if pods and name not in known:
            found[name] = pods
    return found


def _counts(one: _Look, pod: int) -> bool:
    """A single pod is a job where it takes the whole node, or is what the room was made for."""
    snapshot = one.snapshot
    if snapshot.pod_key(pod) in one.takers:
        return True
    node = int(snapshot.pod_node[pod])
    return gpu_milli_of(snapshot, pod) >= int(snapshot.node_allocatable[node]) * WHOLE_GPU_MILLI > 0


def _without(one: _Look, jobs: set[int]) -> Without:
    done = Step.objects.filter(plan=one.plan, state=StepState.SUCCEEDED).values_list("index", flat=True)
    return without(checking.signed(one.plan), list(done), one.snapshot, jobs | set(one.newcomers.values()))


def _note(one: _Look, world: Without, name: str, pods: list[int]) -> None:
    snapshot, found = one.snapshot, answer(world, pods)
    StartedJob.objects.get_or_create(
        plan=one.plan,
        job=name,
        defaults={
            "gang": int(snapshot.pod_gang[pods[0]]) != UNKNOWN,
            "tenant": tenant_of(snapshot, pods[0]),
            "pods": [snapshot.pod_key(pod) for pod in pods],
            "gpu_milli": sum(gpu_milli_of(snapshot, pod) for pod in pods),
            "nodes": sorted({snapshot.node_name[snapshot.pod_node[pod]] for pod in pods}),
            "waited": _waited(one, [snapshot.pod_key(pod) for pod in pods]),
            "started_at": _started_at(one, pods),
            "verdict": found.word,
            "why": found.why,
            "seen_at": one.seen_at,
            "checked_at": one.seen_at,
            "is_open": found.word == WAITS,
        },
    )


def _started_at(one: _Look, pods: list[int]) -> datetime:
    """When the last of them began, by the cluster's clock; where that is not told, the reading that showed it."""
    seconds = [int(one.snapshot.pod_started_s[pod]) for pod in pods]
    ended = one.plan.ended_at or one.seen_at
    if ABSENT in seconds:
        return one.seen_at
    age = timedelta(seconds=max(0, one.snapshot.now_s - max(seconds)))
    told = datetime.fromisoformat(one.snapshot.taken_at) - age
    return min(max(told, ended), one.seen_at)


def _waited(one: _Look, pods: list[str]) -> bool | None:
    """Whether any of them had no place in the reading that the plan rests on."""
    try:
        base = checking.base_of(one.plan)
    except (Conflict, archive.GoneError):
        return None
    wanted = set(pods)
    return any(base.pod_key(pod) in wanted for pod in pending(base).nonzero()[0].tolist())


def _still(one: _Look, due: list[StartedJob]) -> dict[str, list[int]]:
    """Of each job those of its pods that still run."""
    wanted = {key for job in due for key in job.pods}
    live = one.snapshot.pod_live.nonzero()[0].tolist() if wanted else ()
    rows = {key: pod for pod in live if (key := one.snapshot.pod_key(pod)) in wanted}
    return {job.job: [rows[key] for key in job.pods if key in rows] for job in due}


def _ask_again(one: _Look, world: Without, job: StartedJob, pods: list[int]) -> None:
    """The first later reading in which it would have fitted; before it is found, the wait is only known at least."""
    found = answer(world, pods) if pods else None
    if found is None:
        fields: dict[str, Any] = {"is_open": False, "why": "it ended before it would have found room"}
    elif found.word == ELSEWHERE:
        fields = {"is_open": False, "fits_at": one.seen_at}
    elif found.word == WAITS:
        fields = {"checked_at": one.seen_at}
    else:
        fields = {"is_open": False, "why": f"not known after that: {found.why}"}
    StartedJob.objects.filter(pk=job.pk, is_open=True).update(**fields)
