"""An order of moves for places that are known, where chains one by one (``walk``) find none.

The pods of the nodes that stay move first, while the room of those that come is there; the pods of the emptied nodes
go last.  Then each emptied node becomes a chain of its own again, with no more moves than it needs; what has to go
early all the same goes with the first one.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.columns import NONE, Arena
from scheduler.consolidation.exact import Counts
from scheduler.consolidation.kinds import Kinds
from scheduler.consolidation.moves import take_back
from scheduler.consolidation.params import MAX_DEPTH
from scheduler.consolidation.refill import Doubles
from scheduler.consolidation.walk import Walk, first_fit

TRIES = 12  # orders of the pods that move early
ROUNDS = 40  # of telling early moves from others


def follow(a: Arena, kinds: Kinds, counts: Counts, levels: int, seed: int) -> bool:
    """Add the moves that empty the nodes of the counts to the log; those of as many nodes as there is an order for.

    The pods and nodes of the counts stand as before any move; ``levels`` of pods may make room for others.  Says
    whether all nodes are empty.
    """
    begin, opened = (int(a.work[c.W_MOVES]), int(a.work[c.W_CHAINS])), a.node[:, c.N_OPEN].copy()
    for way in (_walked, rearranged, _walked):
        back(a, begin, opened)
        if way(a, kinds, counts, levels, seed):
            return True
    return False


def possible(a: Arena, kinds: Kinds, counts: Counts, levels: int, seed: int) -> bool:
    """Whether there is an order; the tables are left as they stood."""
    begin, opened = (int(a.work[c.W_MOVES]), int(a.work[c.W_CHAINS])), a.node[:, c.N_OPEN].copy()
    found = follow(a, kinds, counts, levels, seed)
    back(a, begin, opened)
    return found


def back(a: Arena, begin: tuple[int, int], opened: Longs) -> None:
    """Take all moves and chains behind ``begin`` back; ``opened`` [n]: nodes that were open then."""
    take_back(a, begin[0])
    a.work[c.W_CHAINS] = begin[1]
    a.node[:, c.N_OPEN] = opened


def _walked(a: Arena, kinds: Kinds, counts: Counts, levels: int, seed: int) -> bool:
    before = int(a.work[c.W_CHAINS])
    Walk(a, kinds, counts, levels).run()
    return int(a.work[c.W_CHAINS]) - before == len(counts.drained)


def rearranged(a: Arena, kinds: Kinds, counts: Counts, levels: int, seed: int) -> bool:
    """The same by a script; where there is none, or chains are kept short, nothing moves."""
    a.node[sorted(counts.opened), c.N_OPEN] = 1
    a.node[sorted(counts.drained), c.N_OPEN] = 0
    for attempt in range(TRIES if levels == MAX_DEPTH else 0):
        script = _script(a, kinds, counts, np.random.default_rng([seed, attempt]).random(len(a.pod)))
        if script is not None:
            return Chains(a, script, counts.drained, levels).run()
    return False


def _script(a: Arena, kinds: Kinds, counts: Counts, spread: Doubles) -> Longs | None:
    """[move, pod source target] An order in which everybody has room when its turn comes.  The tables stay."""
    walk, mark = Walk(a, kinds, counts, 0), int(a.work[c.W_MOVES])
    for last in (False, True):
        pods = [p for n, leavers in walk.leavers.items() if (n in counts.drained) == last for p in leavers]
        waiting = sorted(pods, key=lambda p: float(spread[p]))
        while waiting:
            stays = [p for p in waiting if not walk.settle(p, 0, NONE)]
            if len(stays) == len(waiting):
                take_back(a, mark)
                return None
            waiting = stays
    script = a.log[mark : a.work[c.W_MOVES], [c.L_POD, c.L_SOURCE, c.L_TARGET]].copy()
    take_back(a, mark)
    return script


@dataclass(slots=True)
class Chains:
    """Moves of a script by the nodes that they empty, each after those that it needs."""

    a: Arena
    script: Longs
    drained: frozenset[int]
    levels: int
    target: dict[int, int] = field(init=False)  # pod -> node, in the order of the script
    leavers: dict[int, list[int]] = field(init=False)  # node -> pods
    early: set[int] = field(default_factory=set)  # pods that move before the chains
    asking: list[int] = field(default_factory=list)  # pods in want of room, each for the sake of the one before it

    def __post_init__(self) -> None:
        self.target, self.leavers = {}, defaultdict(list)
        for p, source, target in self.script.tolist():
            self.target[p] = target
            self.leavers[source].append(p)

    def run(self) -> bool:
        """Whoever is found in the way goes early next time; if all go early the script itself is followed."""
        begin, opened = (int(self.a.work[c.W_MOVES]), int(self.a.work[c.W_CHAINS])), self.a.node[:, c.N_OPEN].copy()
        turn = 0
        while turn < ROUNDS:
            if self._all():
                spare = self._for_nobody(begin[0])
                if not spare:
                    return True
                self._leave_out(spare)  # fewer each time, so it ends
            else:
                inner = {p for n, leavers in self.leavers.items() if n not in self.drained for p in leavers}
                blamed = {p for q in self.asking for p in self.leavers[self.target[q]]} | set(self.asking)
                more = blamed & inner - self.early
                self.early |= more if more and turn < ROUNDS - 2 else inner
                turn += 1
            back(self.a, begin, opened)
            self.asking.clear()
        return False

    def _for_nobody(self, begin: int) -> set[int]:
        """Pods that leave a node that stays, and nobody comes there afterwards."""
        came: set[int] = set()
        spare: set[int] = set()
        for p, source, target in self.a.log[begin : self.a.work[c.W_MOVES], [c.L_POD, c.L_SOURCE, c.L_TARGET]][
            ::-1
        ].tolist():
            if source not in self.drained and source not in came:
                spare.add(p)
            came.add(target)
        return spare

    def _leave_out(self, spare: set[int]) -> None:
        self.early -= spare
        for p in spare:
            del self.target[p]
        for n, leavers in self.leavers.items():
            self.leavers[n] = [p for p in leavers if p not in spare]

    def _all(self) -> bool:
        for p in self.target:
            if p in self.early and not self._go(p, 1, NONE):
                return False
        for n in sorted(self.drained, key=lambda n: (len(self.leavers[n]), n)):
            if not all(self._go(p, 0, NONE) for p in self.leavers[n]):
                return False
            self.a.work[c.W_CHAINS] += 1
        return True

    def _go(self, p: int, depth: int, parent: int) -> bool:
        """Move the pod, after as few of those that leave its target as will do."""
        if self.a.pod[p, c.P_MOVED]:
            return True
        t = self.target[p]
        self.asking.append(p)
        for q in (NONE, *self.leavers[t]):
            if q != NONE and (depth == self.levels or q in self.asking or not self._go(q, depth + 1, p)):
                return False
            if first_fit(self.a, p, np.array([t]), depth, parent) != NONE:
                self.asking.pop()
                return True
        return False
