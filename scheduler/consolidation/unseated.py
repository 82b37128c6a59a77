"""Why pods find no seat: nodes by reason, and of all nodes the one that comes nearest, with who holds it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np

from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.mobility import immovable
from scheduler.cluster.reasons import ELIGIBILITY
from scheduler.cluster.room import Block, attracted, blocking_reason, faults, pods_by_node
from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.consolidation.filling import Filled
from scheduler.consolidation.wishes import Wish
from scheduler.plan.goal import Unseated
from scheduler.plan.outcome import moved
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import resolve

KINDS = 8  # of pods that are asked about
NEAR = 64  # nodes on which is looked for who holds the room
LEAST = ("memory", "cpu", "gpu_share", "gpus")  # what is nearest to enough, in the order of preference


@dataclass(frozen=True, slots=True, eq=False)
class _Cluster:
    """As the plan leaves it, with everybody on the node that they have or get."""

    wish: Wish
    snapshot: Snapshot
    there: dict[int, list[int]]  # node -> pods, seats among them
    stays: Bools  # [p]

    def residents(self, node: int) -> list[int]:
        return self.there.get(node, [])

    def holds(self, pod: int, short: str) -> bool:
        """Whether the pod has some of it; who runs on slices of a device has none of the whole ones."""
        snapshot = self.snapshot
        if snapshot.pod_agent[pod]:
            return False
        if short == "memory":
            return bool(snapshot.pod_memory_mib[pod] > 0)
        if short == "cpu":
            return bool(snapshot.pod_cpu_milli[pod] > 0)
        return bool(snapshot.pod_gpus[pod] > 0) and not snapshot.pod_specs[snapshot.pod_spec[pod]].mig


def with_reasons(wish: Wish, plan: Plan, found: Filled) -> Plan:
    """The plan with the reasons of those that it seats nowhere."""
    goal = plan.aim
    if goal is None or goal.refused or goal.reached == goal.wanted:
        return plan
    seated = {seat.who for seat in goal.seats}
    left = [p for p in wish.pods.tolist() if wish.snapshot.pod_key(p).removeprefix("/") not in seated]
    cluster = _after(wish, plan)
    rows = tuple(_asked(cluster, left, found))
    return msgspec.structs.replace(plan, goal=msgspec.structs.replace(goal, unseated=rows))


def _after(wish: Wish, plan: Plan) -> _Cluster:
    rows = resolve(plan, wish.snapshot)
    ended = moved(wish.snapshot, dict(zip(rows.pod, rows.target, strict=True)))
    order, starts = pods_by_node(ended)
    there = {n: order[a:b].tolist() for n, (a, b) in enumerate(pairwise(starts.tolist())) if b > a}
    pods = {wish.snapshot.pod_key(p).removeprefix("/"): p for p in wish.pods.tolist()}
    for seat in plan.aim.seats if plan.aim else ():
        there.setdefault(rows.node[seat.node], []).append(pods[seat.who])
    return _Cluster(wish, ended, there, np.asarray(immovable(ended) > 0))


def _asked(cluster: _Cluster, left: list[int], found: Filled) -> Iterator[Unseated]:
    snapshot = cluster.snapshot
    kinds: dict[tuple[int, ...], list[int]] = {}
    for p in left:
        asked = (snapshot.pod_spec, snapshot.pod_gpus, snapshot.pod_gpu_milli, snapshot.pod_cpu_milli,
                 snapshot.pod_memory_mib, snapshot.pod_gpu_memory_mib)  # fmt: skip
        kinds.setdefault(tuple(int(column[p]) for column in asked), []).append(p)
    for pods in list(kinds.values())[:KINDS]:
        yield _of_kind(cluster, pods, found)


def _of_kind(cluster: _Cluster, pods: list[int], found: Filled) -> Unseated:
    snapshot, pod = cluster.snapshot, pods[0]
    codes = eligibility(snapshot).reasons(pod)
    counts: Counter[str] = Counter(ELIGIBILITY[code] for code in codes[codes >= 0].tolist())
    level, domain = found.home
    homes = {} if level < 0 else {level: domain}
    near: list[tuple[tuple[int, int], int, Block]] = []
    for n in np.flatnonzero(codes < 0).tolist():
        block = blocking_reason(snapshot, pod, n, cluster.residents(n), homes)
        if block is None:
            block = Block("topology")  # room for one of them, on a node where the others cannot follow
        counts[block.reason] += 1
        near.append((_distance(block), n, block))
    near.sort(key=lambda one: (one[0], one[1]))
    node, block, blockers = _nearest(cluster, pod, near)
    return Unseated(
        who=snapshot.pod_key(pod).removeprefix("/"),
        count=len(pods),
        reason=block.reason if block else max(counts, key=lambda word: (counts[word], word), default="gpus"),
        missing=block.missing if block else None,
        unit=block.unit if block else None,
        node=snapshot.node_name[node] if block else None,
        blockers=blockers,
        targets=dict(sorted(counts.items())),
    )


def _distance(block: Block) -> tuple[int, int]:
    if block.missing is None or block.reason not in LEAST:
        return len(LEAST), 0
    return LEAST.index(block.reason), block.missing


def _would_hold(cluster: _Cluster, pod: int, node: int, short: str) -> bool:
    """Whether the node holds the pod once nobody is left there who holds what is short, and the others are company."""
    snapshot, here = cluster.snapshot, cluster.residents(node)
    agents = [p for p in here if snapshot.pod_agent[p]]
    others = [p for p in here if not cluster.holds(p, short)]
    too_small = any(block.reason != "affinity" for block in faults(snapshot, node, agents, [pod]))
    return not too_small and attracted(snapshot, pod, others)


def _nearest(
    cluster: _Cluster, pod: int, near: list[tuple[tuple[int, int], int, Block]]
) -> tuple[int, Block | None, tuple[str, ...]]:
    """The node that would hold the pod if the fewest of those that never move were gone; else the least short one."""
    best: tuple[int, int, Block, tuple[str, ...]] | None = None
    for _, n, block in [one for one in near if one[0][0] < len(LEAST)][:NEAR]:
        here = cluster.residents(n)
        fixed = [p for p in here if cluster.stays[p] and cluster.holds(p, block.reason)]
        if not _would_hold(cluster, pod, n, block.reason):
            continue
        if best is None or len(fixed) < best[0]:
            best = len(fixed), n, block, tuple(cluster.snapshot.pod_key(p) for p in fixed)
    if best is not None:
        return best[1], best[2], best[3]
    return (near[0][1], near[0][2], ()) if near else (-1, None, ())
