"""Disruption budgets: which pods they cover and how many of those may be away at one time."""

from collections import defaultdict

import numpy as np

from scheduler.cluster.snapshot import Longs, Snapshot


def covered(snapshot: Snapshot) -> tuple[Longs, ...]:
    """[b] Live pods of each budget's cluster and namespace that carry its ``key=value``."""
    by_term: dict[str, list[int]] = defaultdict(list)
    wanted = {budget.selector for budget in snapshot.pdbs}
    for i, spec in enumerate(snapshot.pod_specs) if wanted else ():
        for key, value in spec.labels:
            if (term := f"{key}={value}") in wanted:
                by_term[term].append(i)
    clusters = {record.name: c for c, record in enumerate(snapshot.clusters)}
    spaces = {name: i for i, name in enumerate(snapshot.namespaces)}
    found = []
    for budget in snapshot.pdbs:
        carries = np.zeros(len(snapshot.pod_specs), np.bool_)
        carries[by_term.get(budget.selector, [])] = True
        rows = _rows(snapshot, clusters[budget.cluster], spaces.get(budget.namespace, -1))
        found.append(rows[carries[snapshot.pod_spec[rows]] & snapshot.pod_live[rows]])
    return tuple(found)


def _rows(snapshot: Snapshot, cluster: int, namespace: int) -> Longs:
    """Pods of one namespace; rows are sorted by cluster, then namespace."""
    first, last = np.searchsorted(snapshot.pod_cluster, [cluster, cluster + 1])
    low, high = np.searchsorted(snapshot.pod_namespace[first:last], [namespace, namespace + 1])
    return np.arange(first + low, first + high)


def left(snapshot: Snapshot, pods: tuple[Longs, ...]) -> Longs:
    """[b] What is left of each budget, negative where it is overdrawn.  ``pods`` = ``covered(snapshot)``."""
    found = np.zeros(len(snapshot.pdbs), np.int64)
    for b, budget in enumerate(snapshot.pdbs):
        leaving = int(snapshot.pod_terminating[pods[b]].sum())
        if budget.max_unavailable is not None:
            found[b] = budget.max_unavailable - leaving
        else:
            found[b] = len(pods[b]) - leaving - (budget.min_available or 0)
    return found
