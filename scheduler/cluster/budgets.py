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
    # A namespace may hold most pods of a fleet, a term only a few of them: start from the pods that carry it.
    live = np.flatnonzero(snapshot.pod_live)
    by_spec = live[np.argsort(snapshot.pod_spec[live], kind="stable")]
    ends = np.cumsum(np.bincount(snapshot.pod_spec[live], minlength=len(snapshot.pod_specs)))
    found = []
    for budget in snapshot.pdbs:
        carriers = [by_spec[ends[i - 1] if i else 0 : ends[i]] for i in by_term.get(budget.selector, [])]
        rows = np.sort(np.concatenate([live[:0], *carriers]))
        home = snapshot.pod_cluster[rows] == clusters[budget.cluster]
        found.append(rows[home & (snapshot.pod_namespace[rows] == spaces.get(budget.namespace, -1))])
    return tuple(found)


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
