"""Pods of one node that want each other's company: none of them can go first, and no plan takes them in one step.

A copy is company only from the end of its wave on, so that a wave may be run in parts (``plan.pace``).
"""

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.columns import NONE, Arena


def mutual(a: Arena, node: int) -> frozenset[int]:
    """The pods of the node that may move, and would have to go together with others of it, as things stand."""
    pods = _movable(a, node)
    wants, carries = ({p: _terms(a, kind, p) for p in pods} for kind in (c.WANTS, c.CARRIES))
    first: set[int] = set()
    more = True
    while more:
        found = {p for p in pods if all(any(t in carries[q] for q in first - {p}) for t in wants[p])}
        more, first = bool(found - first), first | found
    bound = [p for p in pods if p not in first]
    follows = {p: {q for q in bound if q != p and wants[p] & carries[q]} for p in bound}
    return frozenset(p for p in bound if p in _reached(follows, p))


def _reached(follows: dict[int, set[int]], pod: int) -> set[int]:
    reached: set[int] = set()
    ahead = set(follows[pod])
    while ahead:
        reached |= ahead
        ahead = {r for q in ahead for r in follows[q]} - reached
    return reached


def _movable(a: Arena, node: int) -> list[int]:
    found, p = [], int(a.node[node, c.N_FIRST])
    while p != NONE:
        if a.pod[p, c.P_FIXED] == 0 and a.pod[p, c.P_MOVED] == 0 and a.pod[p, c.P_AGENT] == 0:
            found.append(p)
        p = int(a.pod[p, c.P_NEXT])
    return sorted(found)


def _terms(a: Arena, kind: int, pod: int) -> frozenset[int]:
    k = a.pod[pod, c.P_COMPANY]
    entries: Longs = a.company[a.company_start[kind, k] : a.company_start[kind, k + 1]]
    return frozenset(np.unique(entries).tolist())
