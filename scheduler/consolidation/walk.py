"""From counts to moves: chains that are legal one after the other and empty the nodes that the exact stage chose."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.columns import NONE, Arena
from scheduler.consolidation.exact import Counts, Key
from scheduler.consolidation.kernel import edition, entry
from scheduler.consolidation.kinds import Kinds
from scheduler.consolidation.moves import move, take_back
from scheduler.consolidation.room import fits


@dataclass(slots=True)
class Walk:
    """The tables stand before any move.  ``run`` leaves those moves in the log that were possible."""

    a: Arena
    kinds: Kinds
    counts: Counts
    levels: int  # of pods that may make room for others
    places: dict[int, dict[int, int]] = field(init=False)  # kind -> target -> how many are still to arrive
    leavers: dict[int, list[int]] = field(init=False)  # node -> pods that leave it, largest first

    def __post_init__(self) -> None:
        self.places, self.leavers = defaultdict(dict), defaultdict(list)
        for (n, k), count in self.counts.reaches.items():
            self.places[k][n] = count
        here = self._pods_by_kind()
        for (n, k), count in self.counts.leaves.items():
            self.leavers[n] += here[n, k][:count]
        for pods in self.leavers.values():
            pods.sort(key=self._size)

    def _pods_by_kind(self) -> dict[Key, list[int]]:
        """Those without company first: they go more easily."""
        pod, here = self.a.pod, defaultdict(list)
        rows = np.flatnonzero(self.kinds.of != NONE)
        for p in rows[np.argsort(pod[rows, c.P_TRAITS] != 0, kind="stable")].tolist():
            here[int(pod[p, c.P_NODE]), int(self.kinds.of[p])].append(p)
        return here

    def _size(self, p: int) -> tuple[int, int, int]:
        row = self.a.pod[p]
        return -int(row[c.P_GPUS] * row[c.P_MILLI]), -int(row[c.P_CPU]), p

    def run(self) -> None:
        """Drain the nodes, easiest first, and again those that failed as long as others succeed."""
        self.a.node[sorted(self.counts.opened), c.N_OPEN] = 1
        waiting = sorted(self.counts.drained, key=lambda n: (len(self.leavers[n]), n))
        while waiting:
            failed = [n for n in waiting if not self._drain(n)]
            if len(failed) == len(waiting):
                break
            waiting = failed

    def _drain(self, node: int) -> bool:
        """Empty the node, or change nothing."""
        a = self.a
        mark, places = int(a.work[c.W_MOVES]), {k: dict(targets) for k, targets in self.places.items()}
        a.node[node, c.N_OPEN] = 0
        for p in self.leavers[node]:
            if not self._send(p, 0, NONE, frozenset()):
                take_back(a, mark)
                self.places = defaultdict(dict, places)
                a.node[node, c.N_OPEN] = 1
                return False
        a.work[c.W_CHAINS] += 1
        return True

    def _send(self, p: int, depth: int, parent: int, asked: frozenset[int]) -> bool:
        """Move the pod to a node that is to take its kind; whoever is to leave there may have to go first."""
        if self.settle(p, depth, parent):
            return True
        for t in sorted(self.places[int(self.kinds.of[p])]) if depth < self.levels else ():
            if t in asked or t in self.counts.drained:
                continue
            for q in reversed(self.leavers[t]):
                gone = self.a.pod[q, c.P_MOVED] == 0 and self._send(q, depth + 1, p, asked | {t})
                if gone and self.settle(p, depth, parent):
                    return True
        return False

    def settle(self, p: int, depth: int, parent: int) -> bool:
        """Move the pod to the first node that takes it, the one with the fewest still to come before others."""
        targets = self.places[int(self.kinds.of[p])]
        order = sorted(targets, key=lambda t: (targets[t], t))
        t = int(first_fit(self.a, p, np.array(order, np.int64), depth, parent)) if order else NONE
        if t == NONE:
            return False
        targets[t] -= 1
        if targets[t] == 0:
            del targets[t]
        return True


def _first_fit_entry(stamp: int) -> Callable[[Arena, int, Longs, int, int], int]:
    @entry
    def first_fit(a: Arena, p: int, targets: Longs, depth: int, parent: int) -> int:
        """Move the pod to the first of the nodes that takes it; NONE where none does."""
        for t in targets:
            if a.node[t, c.N_OPEN] == 1 and fits(a, p, t) and stamp >= 0:
                move(a, p, t, depth, parent)
                return t  # type: ignore[no-any-return]
        return NONE

    return first_fit


first_fit = _first_fit_entry(edition("room", "moves", "walk"))
