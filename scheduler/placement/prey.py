"""Who may be stopped for somebody of higher standing, and what that loses.

Only LP pods of a known tenant that are not locked, no agents, not leaving already, within no guaranteed run time and of
no spent budget.
The loss is that of the OSDI '26 study, C = G (now - last checkpoint), in thousandths of GPU-seconds, so that sums are
exact; the whole cost has the other terms of ``performance.stopping`` beside it.  A gang that falls below its minimum
loses all of it, and no gang is stopped that somebody of these protects.
"""

from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster import budgets
from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.mobility import gang_spare
from scheduler.cluster.occupancy import Occupancy, occupancy
from scheduler.cluster.room import pods_by_node
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.performance.stopping import StopCosts, Stops, guaranteed_left_s, stops_of


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """One way to measure what stopping pods costs, in thousandths of GPU-seconds."""

    cost: Longs  # [p] of the pod alone
    gang_cost: Longs  # [g] of all members that run
    weight: Longs  # [p] part of the least cost that stopping the pod causes; a bound, never more than the truth
    cheap_first: Longs  # pods with GPUs that may be stopped, by node, then by weight per GPU


@dataclass(frozen=True, slots=True, eq=False)
class Prey:
    """One snapshot at one instant, for any number of claimants.  Axes: p pods, n nodes, g gangs, b budgets."""

    snapshot: Snapshot
    now_s: int
    rules: Eligibility
    later: Occupancy  # when those who leave have left
    order: Ints  # live pods that stay, by node
    starts: Ints  # [n + 1]
    may: Bools  # [p] may be stopped, whoever asks
    guarded: Bools  # [p] it is within a guaranteed run time
    stops: Stops
    lost: Scale  # the study's C
    total: Scale  # every term
    spare: Longs  # [g] members that it can do without
    whole: Bools  # [g] every running member may be stopped
    budget_of: dict[int, list[int]]  # pod -> budgets that cover it
    budget_left: list[int]  # [b]
    ending: dict[int, list[int]]  # node -> pods that are leaving it

    @property
    def loss(self) -> Longs:
        """[p] The study's C of the pod alone."""
        return self.lost.cost

    @property
    def gang_loss(self) -> Longs:
        """[g]"""
        return self.lost.gang_cost

    def standing(self, node: int) -> list[int]:
        pods: list[int] = self.order[self.starts[node] : self.starts[node + 1]].tolist()
        return pods


def without(snapshot: Snapshot, gone: Bools) -> Snapshot:
    """The snapshot after these pods have left; for measuring alone, since its digest is that of before."""
    return replace(snapshot, pod_live=snapshot.pod_live & ~gone)


def prey_of(
    snapshot: Snapshot,
    now_s: int,
    assumed_age_s: int,
    costs: StopCosts | None = None,
    *,
    guaranteed: bool = False,
) -> Prey:
    """``assumed_age_s``: since the last checkpoint of a job that reports none; see ``performance.stopping``.

    ``guaranteed``: pods within a guaranteed run time may be stopped, too, and what is owed for it is a term.
    """
    leaving = snapshot.pod_live & snapshot.pod_terminating
    staying = without(snapshot, leaving)
    ending: dict[int, list[int]] = {}
    for p in np.flatnonzero(leaving).tolist():
        ending.setdefault(int(snapshot.pod_node[p]), []).append(p)
    order, starts = pods_by_node(staying)
    covered = budgets.covered(snapshot)
    left = budgets.left(snapshot, covered).tolist()
    budget_of: dict[int, list[int]] = {}
    for b, rows in enumerate(covered):
        for p in rows.tolist():
            budget_of.setdefault(p, []).append(b)
    # Who was promised a run time and has no known start is left alone: nobody can say that it is over
    guarded = guaranteed_left_s(snapshot, np.arange(len(snapshot.pod_name)), now_s) > 0
    may = _may(snapshot) & (guaranteed | ~guarded)
    may[[p for p, held in budget_of.items() if any(left[b] <= 0 for b in held)]] = False
    running = staying.pod_live & (snapshot.pod_gang != UNKNOWN)
    gangs = snapshot.pod_gang[running]
    whole = np.ones(len(snapshot.gangs), np.bool_)
    whole[gangs[~may[running]]] = False
    spare = np.maximum(gang_spare(snapshot), 0)
    may &= (snapshot.pod_gang == UNKNOWN) | np.append(whole | (spare > 0), True)[snapshot.pod_gang]
    stops = stops_of(snapshot, now_s, assumed_age_s, costs)
    loss = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli * stops.age_s
    lost, total = (_scale(snapshot, may, cost, running, spare) for cost in (loss, stops.total))
    return Prey(
        snapshot, now_s, eligibility(snapshot), occupancy(staying), order, starts, may, guarded & _may(snapshot), stops,
        lost, total, spare, whole, budget_of, left, ending,
    )  # fmt: skip


def _may(snapshot: Snapshot) -> Bools:
    """[p]"""
    good = snapshot.pod_live & snapshot.pod_lp & (snapshot.pod_tenant != UNKNOWN)
    return np.asarray(good & ~snapshot.pod_locked & ~snapshot.pod_agent & ~snapshot.pod_terminating)


def _scale(snapshot: Snapshot, may: Bools, cost: Longs, running: Bools, spare: Longs) -> Scale:
    gang_cost = np.zeros(len(snapshot.gangs), np.int64)
    np.add.at(gang_cost, snapshot.pod_gang[running], cost[running])
    weight = _weights(snapshot, may, cost, gang_cost, spare)
    rows = np.flatnonzero(may & (snapshot.pod_gpus > 0))
    cheap_first = rows[np.lexsort((weight[rows] / snapshot.pod_gpus[rows], snapshot.pod_node[rows]))]
    return Scale(cost, gang_cost, weight, cheap_first)


def _weights(snapshot: Snapshot, may: Bools, cost: Longs, gang_cost: Longs, spare: Longs) -> Longs:
    """A gang without spare members shares its cost among those on one node, by GPUs: all of them lose it together."""
    weight = cost.copy()
    rows = np.flatnonzero(may & (snapshot.pod_gang != UNKNOWN))
    rows = rows[spare[snapshot.pod_gang[rows]] == 0]
    if len(rows):
        gang, node = snapshot.pod_gang[rows].astype(np.int64), snapshot.pod_node[rows]
        _, same = np.unique(gang * len(snapshot.node_name) + node, return_inverse=True)
        gpus = snapshot.pod_gpus[rows].astype(np.int64)
        together = np.maximum(np.bincount(same, weights=gpus).astype(np.int64)[same], 1)
        weight[rows] = np.maximum(gang_cost[gang] * gpus // together, 0)
    return weight
