"""Rows P4 and S5: why 1,000 jobs wait on 20,000 nodes, and victims for one HP pod among 50,000 LP pods.

    python -m benchmarks.explain [--nodes 20000] [--waiting 1000] [--lp 50000] [--runs 5]

The world is drawn here from a seed: nodes of 8 GPUs, 50 under a switch, three models, every GPU in use on 19 of 20
nodes; LP pods of 1, 2 and 4 GPUs with checkpoints of any age, some in gangs.  What waits is of every kind: too large,
of no model, beyond quota, of a required level, of odd shapes.  CPU seconds; medians, least and largest.  Losses are set
against the OSDI '26 study's rule on the same pods: per node the LP pods by loss, the smallest prefix that suffices; by
its own measure and by the whole cost.  ``--oldest``: seconds that the oldest checkpoint is old.
"""

import argparse
import random
import statistics
import time
from collections import Counter

import numpy as np
from rich.console import Console
from rich.table import Table

from scheduler.admission.planner import explain
from scheduler.cluster.build import build
from scheduler.cluster.records import (
    Document,
    GangRecord,
    NodeRecord,
    PodRecord,
    QuotaRecord,
    TenantRecord,
    TopologyRecord,
)
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import UNKNOWN, Longs, Snapshot
from scheduler.placement.prey import Prey, prey_of
from scheduler.placement.victims import Claim, find_victims

NOW, TENANTS, PER_SWITCH, GPUS = 100_000, 40, 50, 8
MODELS = ("H20", "H800", "XPU-A")
ASSUMED_S = 1_800


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (
        ("nodes", 20_000),
        ("waiting", 1_000),
        ("lp", 50_000),
        ("runs", 5),
        ("claims", 50),
        ("seed", 7),
        ("oldest", NOW),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    snapshot = crowded(options.nodes, options.waiting, options.lp, options.seed, options.oldest)
    out = Console(width=150)
    out.print(_explaining(snapshot, options.runs))
    out.print(_stopping(snapshot, options.claims))


def crowded(nodes: int, waiting: int, lp: int, seed: int, oldest: int = NOW) -> Snapshot:
    """The world of both rows."""
    dice = random.Random(seed)
    pods, gangs = _residents(dice, nodes, lp, oldest)
    asked, more = _waiting(dice, waiting)
    return build(
        Document(
            taken_at="2026-11-01T00:00:00Z",
            now_s=NOW,
            nodes=[_node(i) for i in range(nodes)],
            pods=[*pods, *asked],
            gangs=[*gangs, *more],
            tenants=[_tenant(i, nodes) for i in range(TENANTS)],
        )
    )


def _node(i: int) -> NodeRecord:
    switch = i // PER_SWITCH
    return NodeRecord(
        name=f"n{i:05}", gpus=GPUS, gpu_model=MODELS[switch % len(MODELS)], cpu_milli=96_000, memory_mib=384 << 10,
        asw=f"asw-{switch:03}", gpu_memory_mib=80 << 10,
    )  # fmt: skip


def _tenant(i: int, nodes: int) -> TenantRecord:
    """One of eight has next to nothing and may not borrow."""
    nominal, limit = (4, 0) if i % 8 == 0 else (nodes * GPUS // TENANTS // 3, None)
    quotas = [QuotaRecord(gpu_model=model, nominal=nominal, borrowing_limit=limit) for model in MODELS]
    return TenantRecord(name=f"t{i:02}", cohort=f"c{i % 4}", quotas=quotas)


def _residents(dice: random.Random, nodes: int, lp: int, oldest: int) -> tuple[list[PodRecord], list[GangRecord]]:
    """LP pods over all nodes until there are enough, HP pods on what is left of full nodes."""
    pods: list[PodRecord] = []
    gangs: list[GangRecord] = []
    left = [GPUS if i % 20 else GPUS - 3 for i in range(nodes)]
    gang, members = "", 0
    for i in range(lp):
        size = dice.choice((1, 1, 2, 4))
        node = dice.randrange(nodes)
        while left[node] < size:
            node = (node + 1) % nodes
        left[node] -= size
        if members == 0 and dice.random() < 0.1:
            members, gang = dice.randint(2, 8), f"lp-gang-{i}"
            gangs.append(GangRecord(name=gang, namespace="lp", min_members=max(1, members - dice.randint(0, 2))))
        pods.append(_pod(f"lp-{i}", "lp", node, size, dice, gang=gang if members else None, tier="LP",
                         checkpoint_s=dice.randint(NOW - oldest, NOW)))  # fmt: skip
        members = max(0, members - 1)
    for node, size in enumerate(left):
        if size:
            pods.append(_pod(f"hp-{node}", "hp", node, size, dice))
    return pods, gangs


def _pod(name: str, space: str, node: int | None, gpus: int, dice: random.Random, **fields: object) -> PodRecord:
    plain = {"cpu_milli": 11_000 * gpus, "memory_mib": gpus * (40 << 10), "started_s": 0, **fields}
    where = None if node is None else f"n{node:05}"
    tenant = f"t{dice.randrange(TENANTS):02}"
    return PodRecord(name=name, namespace=space, node=where, gpus=gpus, tenant=tenant, **plain)  # type: ignore[arg-type]


def _waiting(dice: random.Random, count: int) -> tuple[list[PodRecord], list[GangRecord]]:
    pods: list[PodRecord] = []
    gangs: list[GangRecord] = []
    for i in range(count):
        size = dice.choice((1, 2, 4, 8, 8))
        fields: dict[str, object] = {"priority": dice.randint(0, 9), "started_s": None}
        fields |= {"cpu_milli": dice.choice((1, 4, 8, 11)) * 1000 * size, "gpu_model": dice.choice((*MODELS, None))}
        kind = dice.random()
        if kind < 0.05:
            fields |= dice.choice(({"gpu_model": "A100"}, {"node_selector": {"disk": "fast"}}, {"cpu_milli": 200_000}))
        if kind < 0.2:
            fields["tier"] = "LP"
        if kind > 0.8:
            gang = f"g-{i}"
            gangs.append(GangRecord(name=gang, namespace="w", min_members=2, topology=TopologyRecord(required="asw")))
            pods += [
                _pod(f"w-{i}-{k}", "w", None, size, random.Random(i), gang=gang, **fields)
                for k in range(dice.randint(2, 16))
            ]
        else:
            pods.append(_pod(f"w-{i}", "w", None, size, dice, **fields))
    return pods, gangs


def _explaining(snapshot: Snapshot, runs: int) -> Table:
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        found = explain(snapshot)
        seconds.append(time.process_time() - started)
    jobs = sum(found.totals.values())
    told = ", ".join(f"{word} {count}" for word, count in found.totals.items())
    table = Table("jobs", "nodes", "pods", "CPU s, median", "least", "largest", "target", title=f"P4: {told}")
    cells = (statistics.median(seconds), min(seconds), max(seconds))
    table.add_row(
        f"{jobs:,}", f"{len(snapshot.node_name):,}", f"{len(snapshot.pod_name):,}", *(f"{s:.2f}" for s in cells), "1"
    )
    return table


def _stopping(snapshot: Snapshot, claims: int) -> Table:
    started = time.process_time()
    prey = prey_of(snapshot, NOW, ASSUMED_S)
    index = time.process_time() - started
    waiting = np.flatnonzero(
        (snapshot.pod_node == UNKNOWN) & ~snapshot.pod_lp & (snapshot.pod_gang == UNKNOWN)
    ).tolist()
    milliseconds, outcomes = [], Counter[str]()
    ours, paper = np.zeros(2, np.int64), np.zeros(2, np.int64)
    larger, smaller = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for pod in waiting[:claims]:
        started = time.process_time()
        found = find_victims(snapshot, Claim((pod,)), prey=prey)
        milliseconds.append(1e3 * (time.process_time() - started))
        outcomes[found.reason or ("victims" if found.victims else "fits")] += 1
        theirs = papers_loss(prey, pod)
        if theirs is not None:
            mine = np.array([found.loss_milli, sum(int(prey.total.cost[v.pod]) for v in found.victims)])
            ours, paper = ours + mine, paper + theirs
            larger, smaller = larger + (mine > theirs), smaller + (mine < theirs)
    told = ", ".join(f"{word} {count}" for word, count in outcomes.most_common())
    columns = (
        "LP pods",
        "claims",
        "CPU ms, median",
        "least",
        "largest",
        "target",
        "index, CPU s",
        "C, whole cost / the study's",
    )
    table = Table(*columns, "larger", "smaller", title=f"S5: {told}")
    cells = (statistics.median(milliseconds), min(milliseconds), max(milliseconds))
    running = int((snapshot.pod_lp & snapshot.pod_live).sum())
    row = [f"{running:,}", f"{len(milliseconds)}", *(f"{ms:.1f}" for ms in cells), "20", f"{index:.2f}"]
    ratios = ", ".join(f"{one / other:.3f}" if other else "–" for one, other in zip(ours, paper, strict=True))
    table.add_row(*row, ratios, ", ".join(map(str, larger)), ", ".join(map(str, smaller)))
    return table


def papers_loss(prey: Prey, pod: int) -> Longs | None:
    """C and the whole cost of the study's set, in thousandths of GPU-seconds.

    A gang that falls below its minimum costs all of it.  Of nodes that lose the same the one of least whole cost.
    """
    snapshot = prey.snapshot
    best: tuple[int, int] | None = None
    may = snapshot.node_usable & prey.rules.eligible(pod) & (snapshot.node_allocatable >= snapshot.pod_gpus[pod])
    below = snapshot.pod_priority <= snapshot.pod_priority[pod]
    for node in np.flatnonzero(may).tolist():
        here = prey.standing(node)
        prefix, left, freed = [], list(here), int(prey.later.free_gpus[node])
        ordered = sorted((p for p in here if prey.may[p] and below[p]), key=lambda p: (prey.loss[p], p))
        for victim in [UNKNOWN, *ordered]:
            if victim != UNKNOWN:
                prefix.append(victim)
                left.remove(victim)
                freed += int(snapshot.pod_gpus[victim])
            if freed >= snapshot.pod_gpus[pod] and next(faults(snapshot, node, left, [pod]), None) is None:
                found = _whole(prey, prefix)
                best = found if found is not None and (best is None or found < best) else best
                break
    return None if best is None else np.array(best)


def _whole(prey: Prey, pods: list[int]) -> tuple[int, int] | None:
    gangs = Counter(int(prey.snapshot.pod_gang[p]) for p in pods)
    broken = {gang for gang, count in gangs.items() if gang != UNKNOWN and count > prey.spare[gang]}
    if not all(prey.whole[gang] for gang in broken):
        return None
    alone = [p for p in pods if int(prey.snapshot.pod_gang[p]) not in broken]
    lost, total = (
        sum(int(scale.cost[p]) for p in alone) + sum(int(scale.gang_cost[gang]) for gang in broken)
        for scale in (prey.lost, prey.total)
    )
    return lost, total


if __name__ == "__main__":
    main()
