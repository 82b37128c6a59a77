"""The joint answer beside what the largest-first greedy gives, job by job."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import Snapshot
from scheduler.placement.ground import Ground
from scheduler.placement.joint import Joint, Outcome, Seated
from scheduler.placement.options import by_domain, entropy_level, models_on
from scheduler.placement.request import Request
from scheduler.plan.waiting import pending

SAME, ELSEWHERE, JOINT_ONLY, GREEDY_ONLY, NEITHER = "same", "elsewhere", "joint_only", "greedy_only", "neither"
DIFFERENCES = (JOINT_ONLY, GREEDY_ONLY, ELSEWHERE, SAME, NEITHER)


@dataclass(frozen=True, slots=True)
class Held:
    """Nodes and domains of one job that has a place; GPUs are devices that it touches."""

    nodes: tuple[tuple[str, int, int], ...]  # node, pods, GPUs
    domains: tuple[tuple[str | None, int], ...]  # at the level of entropy; None: nodes of which nobody knows it
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """One job: how its two answers differ, a word of ``DIFFERENCES``, and where it stands in each; None: nowhere."""

    difference: str
    joint: Held | None
    greedy: Held | None


def beside(ground: Ground, requests: Sequence[Request], found: Joint) -> tuple[Beside, ...]:
    """[job] in the order of the requests; ``ground`` is of the snapshot that was asked about."""
    at = {name: n for n, name in enumerate(ground.snapshot.node_name)}
    rows = zip(requests, found.found.jobs, found.greedy.jobs, strict=True)
    return tuple(
        Beside(difference(ours, greedy), _held(ground, at, request, ours), _held(ground, at, request, greedy))
        for request, ours, greedy in rows
    )


def difference(ours: Seated, greedy: Seated) -> str:
    """Equal pods may change places: only how many stand on which node counts."""
    if not ours.assignment or not greedy.assignment:
        return JOINT_ONLY if ours.assignment else GREEDY_ONLY if greedy.assignment else NEITHER
    here, there = (Counter(node for _, node in one.assignment) for one in (ours, greedy))
    return SAME if here == there else ELSEWHERE


def _held(ground: Ground, at: dict[str, int], request: Request, one: Seated) -> Held | None:
    if not one.assignment:
        return None
    each = {member: group.gpus for group in request.groups for member in group.members}
    pods, gpus = Counter[str](), Counter[str]()
    for member, node in one.assignment:
        pods[node] += 1
        gpus[node] += each[member]
    weight = {at[node]: amount for node, amount in (gpus if request.gpus else pods).items() if amount}
    nodes = np.array([at[node] for node in pods], np.int32)
    return Held(
        nodes=tuple((node, count, gpus[node]) for node, count in pods.items()),
        domains=by_domain(ground, entropy_level(ground), weight),
        models=models_on(ground.snapshot, nodes),
    )


def mean_entropy(one: Outcome) -> float | None:
    """Of the jobs that have a place, each weighing as its GPUs; None where no GPU is seated."""
    seated = [job for job in one.jobs if job.assignment]
    gpus = sum(job.gpus for job in seated)
    return sum((job.entropy or 0.0) * job.gpus for job in seated) / gpus if gpus else None


def mean_all_reduce_s(one: Outcome) -> float | None:
    """Predicted for 1 GiB, as ``mean_entropy``; None, too, where one of the times is unknown."""
    return one.all_reduce_s / one.seated_gpus if one.all_reduce_s is not None and one.seated_gpus else None


def with_seated(snapshot: Snapshot, jobs: Iterable[Seated]) -> Snapshot:
    """The snapshot of one cluster in which these pending pods run where they were seated."""
    rows = {snapshot.pod_key(p): p for p in np.flatnonzero(pending(snapshot)).tolist()}
    at = {name: n for n, name in enumerate(snapshot.node_name)}
    node, live = snapshot.pod_node.copy(), snapshot.pod_live.copy()
    for member, name in _assigned(jobs):
        node[rows[member]], live[rows[member]] = at[name], True
    return replace(snapshot, pod_node=frozen(node), pod_live=frozen(live))


def _assigned(jobs: Iterable[Seated]) -> Iterator[tuple[str, str]]:
    for one in jobs:
        yield from one.assignment
