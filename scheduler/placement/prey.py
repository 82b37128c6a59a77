"""Who may be stopped for somebody of higher standing, and what that loses.

Only LP pods of a known tenant that are not locked, no agents, not leaving already, within no guaranteed run time and of
no spent budget.
The loss is that of the OSDI '26 study, C = G (now - last checkpoint), in thousandths of GPU-seconds, so that sums are
exact; a gang that falls below its minimum loses all of it, and no gang is stopped that somebody of these protects.
"""

from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster import budgets
from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.mobility import gang_spare
from scheduler.cluster.occupancy import Occupancy, occupancy
from scheduler.cluster.room import pods_by_node
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Ints, Longs, Snapshot


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
    age_s: Longs  # [p] work that is lost, in seconds; assumed for those who report no checkpoint
    assumed: Bools  # [p]
    loss: Longs  # [p] milli-GPU-seconds of the pod alone
    gang_loss: Longs  # [g] of all members that run
    spare: Longs  # [g] members that it can do without
    whole: Bools  # [g] every running member may be stopped
    weight: Longs  # [p] part of the least loss that stopping the pod causes; a bound, never more than the truth
    cheap_first: Longs  # pods with GPUs that may be stopped, by node, then by weight per GPU
    budget_of: dict[int, list[int]]  # pod -> budgets that cover it
    budget_left: list[int]  # [b]
    ending: dict[int, list[int]]  # node -> pods that are leaving it

    def standing(self, node: int) -> list[int]:
        pods: list[int] = self.order[self.starts[node] : self.starts[node + 1]].tolist()
        return pods


def without(snapshot: Snapshot, gone: Bools) -> Snapshot:
    """The snapshot after these pods have left; for measuring alone, since its digest is that of before."""
    return replace(snapshot, pod_live=snapshot.pod_live & ~gone)


def prey_of(snapshot: Snapshot, now_s: int, assumed_age_s: int) -> Prey:
    """``assumed_age_s``: since the last checkpoint of a job that reports none, and at most since it started."""
    leaving = snapshot.pod_live & snapshot.pod_terminating
    staying = without(snapshot, leaving)
    ending: dict[int, list[int]] = {}
    for p in np.flatnonzero(leaving).tolist():
        ending.setdefault(int(snapshot.pod_node[p]), []).append(p)
    order, starts = pods_by_node(staying)
    covered = budgets.covered(snapshot)
    left = budgets.left(snapshot, covered).tolist()
    cheap_first: Longs  # pods with GPUs that may be stopped, by node, then by weight per GPU
    budget_of: dict[int, list[int]] = {}
    for b, rows in enumerate(covered):
        for p in rows.tolist():
            budget_of.setdefault(p, []).append(b)
    may = _may(snapshot, now_s)
    may[[p for p, held in budget_of.items() if any(left[b] <= 0 for b in held)]] = False
    age, assumed = _ages(snapshot, now_s, assumed_age_s)
    loss = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli * age
    running = staying.pod_live & (snapshot.pod_gang != UNKNOWN)
    gangs = snapshot.pod_gang[running]
    gang_loss = np.zeros(len(snapshot.gangs), np.int64)
    np.add.at(gang_loss, gangs, loss[running])
    whole = np.ones(len(snapshot.gangs), np.bool_)
    whole[gangs[~may[running]]] = False
    spare = np.maximum(gang_spare(snapshot), 0)
    may &= (snapshot.pod_gang == UNKNOWN) | np.append(whole | (spare > 0), True)[snapshot.pod_gang]
    weight = _weights(snapshot, may, loss, gang_loss, spare)
    rows = np.flatnonzero(may & (snapshot.pod_gpus > 0))
    cheap_first = rows[np.lexsort((weight[rows] / snapshot.pod_gpus[rows], snapshot.pod_node[rows]))]
    return Prey(
        snapshot, now_s, eligibility(snapshot), occupancy(staying), order, starts, may, age, assumed, loss, gang_loss,
        spare, whole, weight, cheap_first, budget_of, left, ending,
    )  # fmt: skip


def _may(snapshot: Snapshot, now_s: int) -> Bools:
    """[p]"""
    promised = snapshot.pod_min_runtime_s
    started = snapshot.pod_started_s
    # Who was promised a run time and has no known start is left alone: nobody can say that it is over
    guarded = (promised != ABSENT) & (promised > 0) & ((started == ABSENT) | (started + promised > now_s))
    good = snapshot.pod_live & snapshot.pod_lp & (snapshot.pod_tenant != UNKNOWN)
    return np.asarray(good & ~snapshot.pod_locked & ~snapshot.pod_agent & ~snapshot.pod_terminating & ~guarded)


def _ages(snapshot: Snapshot, now_s: int, assumed_age_s: int) -> tuple[Longs, Bools]:
    """Seconds of lost work, at most since the start; silence is no protection."""
    silent = snapshot.pod_checkpoint_s == ABSENT
    running = np.where(snapshot.pod_started_s == ABSENT, np.iinfo(np.int64).max, now_s - snapshot.pod_started_s)
    age = np.where(silent, assumed_age_s, now_s - snapshot.pod_checkpoint_s)
    return np.maximum(np.minimum(age, running), 0), silent


def _weights(snapshot: Snapshot, may: Bools, loss: Longs, gang_loss: Longs, spare: Longs) -> Longs:
    """A gang without spare members shares its loss among those on one node, by GPUs: all of them lose it together."""
    weight = loss.copy()
    rows = np.flatnonzero(may & (snapshot.pod_gang != UNKNOWN))
    rows = rows[spare[snapshot.pod_gang[rows]] == 0]
    if len(rows):
        gang, node = snapshot.pod_gang[rows].astype(np.int64), snapshot.pod_node[rows]
        _, same = np.unique(gang * len(snapshot.node_name) + node, return_inverse=True)
        gpus = snapshot.pod_gpus[rows].astype(np.int64)
        together = np.maximum(np.bincount(same, weights=gpus).astype(np.int64)[same], 1)
        weight[rows] = np.maximum(gang_loss[gang] * gpus // together, 0)
    return weight
