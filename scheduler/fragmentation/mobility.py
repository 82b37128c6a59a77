"""Which live pods may not move in any plan, and why: the first reason that holds, in the order of ``HOLDS``."""

import numpy as np

from scheduler.cluster.records import PdbRecord
from scheduler.cluster.snapshot import ABSENT, MOVE_NEVER, UNKNOWN, Bools, Bytes, Longs, Snapshot

FREE_TO_MOVE = -1
HOLDS = ("locked", "move_never", "terminating", "lends", "only_node", "disruption_budget")


def holds(snapshot: Snapshot) -> Bytes:
    """[p] -> ``HOLDS``, or FREE_TO_MOVE; pods that are not live, and agents, hold nothing."""
    counted = snapshot.pod_live & ~snapshot.pod_agent
    pinned = np.fromiter((spec.only_node is not None for spec in snapshot.pod_specs), np.bool_, len(snapshot.pod_specs))
    reasons = (
        snapshot.pod_locked,
        snapshot.pod_move == MOVE_NEVER,
        snapshot.pod_terminating,
        _lends(snapshot),
        pinned[snapshot.pod_spec] if snapshot.pod_specs else np.zeros(counted.size, np.bool_),
        _budget_used_up(snapshot),
    )
    code = np.full(counted.size, FREE_TO_MOVE, np.int8)
    for rank in range(len(reasons) - 1, -1, -1):
        code[reasons[rank] & counted] = rank
    return code


def _lends(snapshot: Snapshot) -> Bools:
    """Pods named by any ``lent_by``."""
    lends = np.zeros(snapshot.pod_live.size, np.bool_)
    lends[snapshot.pod_lender[snapshot.pod_lender != UNKNOWN]] = True
    return lends


def _budget_used_up(snapshot: Snapshot) -> Bools:
    """Pods of a disruption budget of which nothing is left now."""
    stuck = np.zeros(snapshot.pod_live.size, np.bool_)
    if not snapshot.pdbs:
        return stuck
    labels = _specs_by_label(snapshot)
    scope = _scope(snapshot)
    for budget in snapshot.pdbs:
        specs = labels.get(budget.selector)
        first, last = _span(snapshot, scope, budget)
        if specs is None or first == last:
            continue
        chosen = np.arange(first, last)[specs[snapshot.pod_spec[first:last]] & snapshot.pod_live[first:last]]
        if _left(snapshot, budget, chosen) <= 0:
            stuck[chosen] = True
    return stuck


def _left(snapshot: Snapshot, budget: PdbRecord, chosen: Longs) -> int:
    leaving = int(snapshot.pod_terminating[chosen].sum())
    if budget.max_unavailable is not None:
        return budget.max_unavailable - leaving
    return int(chosen.size) - leaving - (budget.min_available or 0)


def _specs_by_label(snapshot: Snapshot) -> dict[str, Bools]:
    """For each ``key=value`` that a budget selects: which pod specs carry it."""
    wanted = {budget.selector for budget in snapshot.pdbs}
    found = {selector: np.zeros(len(snapshot.pod_specs), np.bool_) for selector in wanted}
    for index, spec in enumerate(snapshot.pod_specs):
        for key, value in spec.labels:
            if (label := f"{key}={value}") in found:
                found[label][index] = True
    return found


def _scope(snapshot: Snapshot) -> Longs:
    """[p] an ascending ordinal of (cluster, namespace): pods are in that order."""
    return snapshot.pod_cluster.astype(np.int64) * max(len(snapshot.namespaces), 1) + snapshot.pod_namespace


def _span(snapshot: Snapshot, scope: Longs, budget: PdbRecord) -> tuple[int, int]:
    """First pod of the budget's cluster and namespace, and the one after the last."""
    clusters = [cluster.name for cluster in snapshot.clusters]
    if budget.cluster not in clusters or budget.namespace not in snapshot.namespaces:
        return 0, 0
    key = clusters.index(budget.cluster) * len(snapshot.namespaces) + snapshot.namespaces.index(budget.namespace)
    first, last = np.searchsorted(scope, [key, key + 1])
    return int(first), int(last)


def locked_until_s(snapshot: Snapshot, pods: Longs) -> int | None:
    """The last known end of these pods' locks; None where one of them has none."""
    ends = snapshot.pod_locked_until_s[pods]
    return int(ends.max()) if ends.size and bool((ends != ABSENT).all()) else None
