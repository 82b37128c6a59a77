"""Why nodes stay: for every node that keeps pods, who blocks it and why other nodes cannot take them.

Asked of the cluster as the plan leaves it.  Blockers are all pods that cannot leave: those that no plan may move, and
those that find no room when the node's pods are placed largest first.  Without them every other pod of the node has a
place at the same time, so the node can be emptied.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.feasibility import Eligibility
from scheduler.cluster.reasons import IMMOVABLE, TOGETHER
from scheduler.cluster.snapshot import Bools, Bytes, Ints, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled, group_alike, number_alike, settle_all
from scheduler.consolidation.columns import COUNTED_REASONS, LENT, NONE, Arena
from scheduler.consolidation.mutual import mutual
from scheduler.consolidation.params import Params
from scheduler.consolidation.probe import ask_all
from scheduler.consolidation.shelves import fill_shelves
from scheduler.consolidation.shortage import Findings, Question
from scheduler.plan.plan import Blocker, Kept

LOOKS = 400_000  # at nodes, to count reasons of pods that are not plain
ASKED = [c.P_CPU, c.P_GPUS]
KIND = [
    c.P_GROUP,
    c.P_COMPANY,
    c.P_CPU,
    c.P_MEMORY,
    *(c.P_LEVEL, c.P_DOMAIN, c.P_LEVEL_2, c.P_DOMAIN_2),
]  # pods that are equal in these ask for the same of a node
APART = [c.N_CLASS, c.N_CPU, c.N_MEMORY, c.N_SLOTS, c.N_GPUS, c.N_MILLI]
UNITS = {
    "gpus": "gpus",
    "gpu_share": "gpu_milli",
    "cpu": "cpu_milli",
    "memory": "memory_mib",
    "max_pods": "pods",
}


def explain(
    snapshot: Snapshot, compiled: Compiled, params: Params, cut: bool, named: Bools | None = None
) -> tuple[Kept, ...]:
    """One entry per usable GPU node, or per ``named`` [n] node, with pods other than agents, in the order of nodes.

    The tables stand as after the plan.  ``targets`` speaks of the first blocker that finds no room: of the other nodes
    of the cluster, how many fail for which reason.  It is empty where every blocker would find room, or may not move,
    and None where nobody counted: for shares, slices and topology that takes a look at every node for every kind of
    pod, ``LOOKS`` in all, and nodes whose pods may all move come first.  ``cut``: the search was stopped early.
    """
    a = compiled.arena
    counted = snapshot.node_usable & (snapshot.node_allocatable > 0) if named is None else named
    nodes = np.flatnonzero(counted & (a.node[:, c.N_WORK] > 0))
    fixed = _fixed_pods(snapshot, a.pod)
    nodes = nodes[np.argsort([n in fixed for n in nodes.tolist()], kind="stable")]
    out = _room_for_findings(a.pod, len(nodes))
    lent = np.flatnonzero(a.pod[:, c.P_FIXED] == LENT)
    beside_lender, groups = a.pod[lent], a.pod[:, c.P_GROUP].copy()
    _ask_in_full(snapshot, a.pod, lent)
    a = a._replace(stuck=np.full((2, group_alike(a.pod), 2), c.ENDLESS, np.int64))
    ask_all(a, _question(snapshot, compiled, a), out, nodes)
    a.pod[np.ix_(lent, ASKED)], a.pod[:, c.P_GROUP] = beside_lender[:, ASKED], groups
    settle_all(a)
    found = _Reasons(snapshot, compiled, params, cut, nodes, out, fixed).rows()
    return tuple(sorted(found, key=lambda kept: kept.node))


@dataclass(frozen=True, slots=True)
class _Reasons:
    snapshot: Snapshot
    compiled: Compiled
    params: Params
    cut: bool
    nodes: Longs
    found: Findings
    fixed: dict[int, list[int]]

    def rows(self) -> Iterator[Kept]:
        first = self.found.first.tolist()
        found = self.found
        columns = found.pod, found.same_as, found.reason, found.missing, found.own
        pods, same, reasons, missing, own = (column.tolist() for column in columns)
        codes = self.compiled.arena.pod[:, c.P_FIXED].tolist()
        for i, n in enumerate(self.nodes.tolist()):
            blockers = [
                Blocker(pod=self.snapshot.pod_key(p), constraint=IMMOVABLE[codes[p]]) for p in self.fixed.get(n, ())
            ]
            for f in range(first[i], first[i + 1]):
                word = COUNTED_REASONS[reasons[f] if reasons[f] != NONE else self._commonest(same[f], own[f])]
                if word == "affinity" and pods[f] in mutual(self.compiled.arena, n):
                    word = TOGETHER
                amount = missing[f] or None
                unit = None if amount is None else UNITS[word]
                blockers.append(Blocker(pod=self.snapshot.pod_key(pods[f]), constraint=word, missing=amount, unit=unit))
            f = first[i]
            yield Kept(
                node=self.snapshot.node_name[n],
                reason=blockers[0].constraint if blockers else self._unblocked(n),
                blockers=tuple(blockers) or self._arrived(n),
                targets=self._targets(same[f], own[f]) if f < first[i + 1] else {},
            )

    def _arrived(self, node: int) -> tuple[Blocker, ...]:
        """Pods that the plan brought and that may not move again: they alone hold the node."""
        pod = self.compiled.arena.pod
        rows = np.flatnonzero((pod[:, c.P_NODE] == node) & (pod[:, c.P_MOVED] > 0)).tolist()
        return tuple(Blocker(pod=self.snapshot.pod_key(p), constraint="receives") for p in rows)

    def _commonest(self, f: int, own: int) -> int:
        """Of the reasons without an amount; a lone node has no others to ask."""
        counts = self._of_others(f, own)
        return int(counts.argmax()) if counts.any() else COUNTED_REASONS.index("gpus")

    def _of_others(self, f: int, own: int) -> Ints:
        """[x] The counts without the pod's own node, where they hold it by that word."""
        counts: Ints = self.found.counts[f].copy()
        if own != NONE and counts[own] > 0:
            counts[own] -= 1
        return counts

    def _targets(self, f: int, own: int) -> dict[str, int] | None:
        if not self.found.counted[f]:
            return None
        counts = self._of_others(f, own).tolist()
        return {word: number for word, number in zip(COUNTED_REASONS, counts, strict=True) if number}

    def _unblocked(self, node: int) -> str:
        row = self.compiled.arena.node[node]
        if row[c.N_PINNED] > 0:
            return "receives"
        if row[c.N_DRAINABLE] == 0:
            return "scope"
        return "stopped" if self.cut or self.params.max_moves is None else "max_moves"


def _ask_in_full(snapshot: Snapshot, pod: Longs, lent: Longs) -> None:
    """Borrowers leave with all that they ask for: without the lender nobody shares it with them."""
    sliced = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)[snapshot.pod_spec[lent]]
    pod[lent, c.P_CPU] = snapshot.pod_cpu_milli[lent]
    pod[lent, c.P_GPUS] = np.where(sliced, 0, snapshot.pod_gpus[lent])


def _room_for_findings(pod: Longs, nodes: int) -> Findings:
    most = int(((pod[:, c.P_NODE] >= 0) & (pod[:, c.P_AGENT] == 0)).sum()) + 1
    return Findings(
        pod=np.zeros(most, np.int64),
        same_as=np.zeros(most, np.int64),
        reason=np.zeros(most, np.int64),
        missing=np.zeros(most, np.int64),
        counts=np.zeros((most, len(COUNTED_REASONS)), np.int32),
        own=np.zeros(most, np.int64),
        counted=np.zeros(most, np.int64),
        first=np.zeros(nodes + 1, np.int64),
    )


def _question(snapshot: Snapshot, compiled: Compiled, a: Arena) -> Question:
    closed = np.full(len(a.node), NONE, np.int8)
    closed[~compiled.takes] = COUNTED_REASONS.index("host_port")
    closed[~snapshot.node_ready] = COUNTED_REASONS.index("not_ready")
    closed[snapshot.node_cordoned] = COUNTED_REASONS.index("cordoned")
    last = np.full(len(a.node), NONE, np.int8)
    last[(closed == NONE) & (a.node[:, c.N_OPEN] == 0)] = COUNTED_REASONS.index("emptied")
    last[compiled.empty_before & (a.node[:, c.N_OPEN] == 0)] = COUNTED_REASONS.index("empty")
    kind = number_alike(a.pod, KIND)
    rules = _ineligible(compiled.rules)
    outside, apart, alike = _off_the_shelves(a, rules, closed, last)
    known, tally = np.full((2, int(kind.max(initial=0)) + 1), NONE, np.int64)
    looks, groups = np.array([LOOKS], np.int64), a.stuck.shape[1]
    spare, closed_counts = np.full((groups, 2), NONE, np.int64), np.zeros((groups, len(COUNTED_REASONS)), np.int64)
    shelves = fill_shelves(a)
    return Question(
        rules, closed, last, shelves, outside, apart, alike, spare, closed_counts, kind, known, tally, looks
    )


def _off_the_shelves(a: Arena, ineligible: Bytes, closed: Bytes, last: Bytes) -> tuple[Longs, Longs, Longs]:
    """``Question.outside``, ``apart`` and ``alike``."""
    node, classes = a.node, ineligible.shape[1]
    full = np.where(node[:, c.N_SLOTS] < 1, c.R_SLOTS, np.where(node[:, c.N_GPUS] < 0, c.R_GPUS, NONE))
    reason = np.where(closed != NONE, closed, np.where(last != NONE, NONE, full))
    outside = np.zeros((len(ineligible), len(COUNTED_REASONS)), np.int64)
    everywhere = np.bincount(node[:, c.N_CLASS], minlength=classes)
    for x in np.unique(ineligible[ineligible != NONE]).tolist():
        outside[:, x] += (ineligible == x) @ everywhere
    for x in np.unique(reason[reason != NONE]).tolist():
        outside[:, x] += (ineligible == NONE) @ np.bincount(node[reason == x, c.N_CLASS], minlength=classes)
    rows = np.flatnonzero(last != NONE)
    own = np.where((node[rows, c.N_FLOATING] > 0) | _keeps_company(a)[rows], rows, NONE)
    look = np.stack([*node[rows][:, APART].T, last[rows], own], 1)
    _, first, alike = np.unique(look, axis=0, return_index=True, return_counts=True)
    return outside, rows[first], alike.astype(np.int64)


def _keeps_company(a: Arena) -> Bools:
    """[n] Nodes with pods that not everybody may stand beside, or that others ask for."""
    here = a.pod[(a.pod[:, c.P_NODE] >= 0) & _choosy(a), c.P_NODE]
    return np.asarray(np.bincount(here, minlength=len(a.node)) > 0)


def _choosy(a: Arena) -> Bools:
    """[p] Pods with ports, or with labels that others refuse or want near."""
    carries = np.diff(a.company_start[c.CARRIES])[a.pod[:, c.P_COMPANY]] > 0
    return np.asarray(carries | ((a.pod[:, c.P_TRAITS] & (c.TRAIT_PORTS | c.TRAIT_REFUSAL)) != 0))


def _ineligible(rules: Eligibility) -> Bytes:
    """[q, r] Position of the first rule that fails."""
    _, pod = np.unique(rules.pod_class, return_index=True)
    _, node = np.unique(rules.node_class, return_index=True)
    first = np.full((len(pod), len(node)), NONE, np.int8)
    for position in range(len(rules.factors) - 1, -1, -1):
        factor = rules.factors[position]
        first[~factor.good[np.ix_(factor.pod_value[pod], factor.node_value[node])]] = position
    return first


def _fixed_pods(snapshot: Snapshot, pod: Longs) -> dict[int, list[int]]:
    """Pods that no plan may move, agents apart, by node."""
    fixed = (pod[:, c.P_NODE] >= 0) & (pod[:, c.P_FIXED] > 0) & (pod[:, c.P_FIXED] != LENT) & ~snapshot.pod_agent
    found: dict[int, list[int]] = {}
    for p in np.flatnonzero(fixed).tolist():
        found.setdefault(int(pod[p, c.P_NODE]), []).append(p)
    return found
