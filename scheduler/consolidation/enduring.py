"""The plan without the chains whose gain will not last: slack-node hours saved for each GPU that moves.

A node that a chain empties or fills up would have come to that by itself some time: when its last pod ends, or when
work arrives that fits into what is free.  So what a chain saves lasts, in the mean, 1 / (rate of arrivals + rate of
ends) hours a node.  Run times have a heavy tail: a pod that has run for a hours runs for about a more.  Arrivals are
what the pool started lately, shared by its slack nodes.  All of this an observer sees; nobody has to say when he ends.
"""

from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.occupancy import SLACK, occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Longs, Snapshot
from scheduler.consolidation.worth import NOT_WORTH_IT, without
from scheduler.plan.operations import Migrate
from scheduler.plan.plan import Kept, Plan

type Floats = NDArray[np.float64]

RECENT_S = 2 * 3600  # starts that count as arrivals; few of them have ended by now
YOUNGEST_H = 0.5  # younger pods count as that old
HOUR_S = 3600.0


@dataclass(slots=True, eq=False)
class Standing:
    """Nodes as the chains kept so far leave them.  Axes: n node, p pod; GPUs in thousandths, times in hours."""

    snapshot: Snapshot
    age: Floats = field(init=False)  # [p]
    size: Longs = field(init=False)  # [p]
    free: Longs = field(init=False)  # [n]
    on: dict[int, set[int]] = field(init=False)
    arrivals: Floats = field(init=False)  # [n] an hour, that fit into what is free there

    def __post_init__(self) -> None:
        s, found = self.snapshot, occupancy(self.snapshot)
        self.age = _ages(s)
        self.size = s.pod_gpus.astype(np.int64) * s.pod_gpu_milli
        self.free = found.free_gpus.astype(np.int64) * WHOLE_GPU_MILLI + found.shared_rest_milli
        self.on = {n: set() for n in range(len(s.node_name))}
        for pod in np.flatnonzero(s.pod_live & ~s.pod_agent).tolist():
            self.on[int(s.pod_node[pod])].add(pod)
        self.arrivals = _arrivals(s, self.free, np.asarray(found.state == SLACK))

    def saved(self, source: int, moves: list[tuple[int, int]]) -> float:
        """Slack-node hours for each GPU that moves if these pods go to these nodes and ``source`` is left empty."""
        comes, gone = dict[int, set[int]](), {pod for pod, _ in moves}
        for pod, target in moves:
            comes.setdefault(target, set()).add(pod)
        hours = self._lasts(source, 1 / max((float(self.age[pod]) for pod in self.on[source]), default=YOUNGEST_H))
        for target, pods in comes.items():
            stay = (self.on[target] - gone) | pods
            used = sum(int(self.size[pod]) for pod in pods) - sum(int(self.size[pod]) for pod in self.on[target] & gone)
            if used == self.free[target] > 0:
                hours += self._lasts(target, float(sum(1 / self.age[pod] for pod in stay)))
        return hours * WHOLE_GPU_MILLI / max(1, sum(int(self.size[pod]) for pod in gone))

    def _lasts(self, node: int, ends: float) -> float:
        """A node that was full is no better for being emptied."""
        return 1 / (float(self.arrivals[node]) + ends) if self.free[node] else 0.0

    def take(self, moves: list[tuple[int, int]], where: dict[int, int]) -> None:
        for pod, target in moves:
            source = where[pod]
            self.on[source].discard(pod)
            self.on[target].add(pod)
            self.free[source] += self.size[pod]
            self.free[target] -= self.size[pod]


def enduring(plan: Plan, snapshot: Snapshot, least_hours: float) -> Plan:
    """The plan without chains that save less than ``least_hours`` slack-node hours for each GPU that moves.

    Chains are looked at in their order, each on what those before it leave.  A cluster that says of none of its GPU
    pods since when it runs keeps all of them, and the plan's notes say so.
    """
    if least_hours <= 0 or plan.aim is not None or not plan.moves:
        return plan
    standing = Standing(snapshot)
    if not np.isfinite(standing.age).all():
        return msgspec.structs.replace(plan, notes=(*plan.notes, "endurance: nobody says since when pods run"))
    brief = _brief(plan, standing, least_hours)
    if not brief:
        return plan
    names = {move.drains for move in plan.moves if move.chain in brief}
    note = f"endurance: {len(names)} nodes left out, each saving less than {least_hours:g} slack-node hours a GPU moved"
    shorter = without(plan, snapshot, brief)
    return msgspec.structs.replace(shorter, kept=_kept(shorter.kept, names), notes=(*plan.notes, note))


def _brief(plan: Plan, standing: Standing, least_hours: float) -> set[int]:
    snapshot = standing.snapshot
    node = {name: n for n, name in enumerate(snapshot.node_name)}
    pod = {snapshot.pod_key(p): p for p in range(len(snapshot.pod_name))}
    chains: dict[int, list[Migrate]] = {}
    for move in plan.moves:
        chains.setdefault(move.chain, []).append(move)
    brief = set()
    for chain in sorted(chains):
        moves = [(pod[move.pod], node[move.target]) for move in chains[chain]]
        if standing.saved(node[chains[chain][0].drains], moves) < least_hours:
            brief.add(chain)
        else:
            standing.take(moves, {pod[move.pod]: node[move.source] for move in chains[chain]})
    return brief


def _ages(s: Snapshot) -> Floats:
    """[p] hours; pods that do not say count as the median of those that do, NaN where nobody does."""
    known = s.pod_started_s != ABSENT
    says = known & s.pod_live & (s.pod_gpus > 0)
    age = np.maximum((s.now_s - np.where(known, s.pod_started_s, s.now_s)) / HOUR_S, YOUNGEST_H)
    return np.where(known, age, np.median(age[says]) if says.any() else np.nan)


def _arrivals(s: Snapshot, free: Longs, slack: NDArray[np.bool_]) -> Floats:
    """[n] Starts an hour in the node's pool of at most what is free there, shared by the pool's slack nodes."""
    rate, size = np.zeros(len(free)), s.pod_gpus.astype(np.int64) * s.pod_gpu_milli
    fresh = s.pod_live & (s.pod_gpus > 0) & (s.pod_node != UNKNOWN) & (s.now_s - s.pod_started_s < RECENT_S)
    fresh &= s.pod_started_s != ABSENT
    for model in np.unique(s.node_model).tolist():
        pool = s.node_model == model
        sizes = np.sort(size[fresh][pool[s.pod_node[fresh]]])
        fit = np.searchsorted(sizes, free[pool], side="right")
        rate[pool] = fit * HOUR_S / RECENT_S / max(1, int((pool & slack).sum()))
    return rate


def _kept(kept: tuple[Kept, ...], names: set[str]) -> tuple[Kept, ...]:
    return tuple(
        msgspec.structs.replace(row, reason=NOT_WORTH_IT) if row.node in names and row.reason == "cut" else row
        for row in kept
    )
