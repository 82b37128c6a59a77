"""Further nodes to empty: new places for all pods of a part at once, then as many of them as can be back home.

Pods of an emptied node may move last of all, since nobody waits for their room.  Until then the others have all the
room among the nodes that stay which those pods fill in the end, so that an order of moves mostly exists
(``rearrange``): what is looked for here is places.
"""

from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.snapshot import Bools, Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.exact import Counts, Part, standing
from scheduler.consolidation.kinds import Kinds
from scheduler.consolidation.packing import packing
from scheduler.consolidation.rearrange import possible
from scheduler.consolidation.refill import AMOUNTS, SLOTS, Packing, anneal
from scheduler.consolidation.solver import GoOn

ODD = c.TRAIT_SLICES | c.TRAIT_AFFINITY  # pods that stay here: what they need is not seen
TURNS = 3000  # for each node, in search of places
UNLIMITED = np.iinfo(np.int64).max
BACK = 2000  # for each node, to bring pods home
AT_ONCE = 20_000  # of either, before the caller is asked whether to go on
TRADES = 3  # of a node to be empty for another one, where somebody finds no place
HOT, COLD = 1 / 32, 1 / 500  # of a node: what a change for the worse may cost
NOISE = 0.3
AT_HOME = 0.1  # of a node: what it is worth that a pod stays
ANYBODY, LARGE = 0.003, 0.3  # of a node: what any pod is worth beside what it asks for, and one that fills a node
EFFORT = 1 / 80_000  # of one turn, in the measure of the solver


@dataclass(slots=True)
class Repack:
    """One part of a cluster.  The tables stand before any move and are only read."""

    compiled: Compiled
    kinds: Kinds
    part: Part
    first: frozenset[int]  # nodes that stay emptied
    levels: int  # of pods that may make room for others
    seed: int
    go_on: GoOn | None
    turns: int = TURNS
    left: int = UNLIMITED  # turns of all kinds: no further node is tried once they are used up
    effort: float = 0.0  # that was spent
    bins: Bools = field(init=False)  # [n] may receive
    able: Bools = field(init=False)  # [n] may be emptied
    odd: Bools = field(init=False)  # [k]
    home: Longs = field(init=False)  # [n, k]

    def __post_init__(self) -> None:
        a = self.compiled.arena
        self.odd = (a.pod[self.kinds.first, c.P_TRAITS] & ODD) != 0
        self.home = np.zeros((len(a.node), len(self.odd)), np.int64)
        for (n, k), count in standing(a, self.kinds).items():
            self.home[n, k] = count
        # Where there is too much already nobody may arrive, and nobody is counted on to leave
        within = (a.node[:, [c.N_CPU, c.N_MEMORY, c.N_SLOTS, c.N_MILLI, c.N_GPUS]] >= 0).all(axis=1)
        self.bins = self.part.nodes & self.compiled.takes & ~self.compiled.empty_before & within
        drainable = (a.node[:, c.N_DRAINABLE] == 1) & (a.node[:, c.N_WORK] > 0) & (a.node[:, c.N_PINNED] == 0)
        self.able = self.bins & drainable & ~self.home[:, self.odd].any(axis=1)

    def good(self, counts: Counts) -> bool:
        """Whether there is an order of moves."""
        return possible(self.compiled.arena, self.kinds, counts, self.levels, self.seed)

    def beyond(self, start: Counts, upper: int) -> Counts:
        """The good counts that empty most nodes, at most ``upper``; ``start`` where none empty more."""
        best, drained, q = start, sorted(start.drained), self._packing(start)
        while q is not None and self.left > 0 and len(drained) < min(upper, int(self.able.sum())):
            self._empty(q, drained, np.ones(len(q.kind), np.bool_))
            if not self._placed(q, drained):
                break
            found = self._closer(q, drained)
            best = best if found is None else found
        return best

    def _empty(self, q: Packing, drained: list[int], anyone: Bools) -> None:
        """One more node: rather none that may take these kinds; then the smallest, with the fewest pods at home."""
        able = self.able.copy()
        able[drained] = False
        rows = np.flatnonzero(able)
        takes = (q.most[rows][:, anyone] > 0).any(axis=1)
        stayed = np.minimum(q.held[rows], q.home[rows]).sum(axis=1)
        n = int(rows[np.lexsort((rows, stayed, q.node[rows, self._tight(q, drained)], takes))[0]])
        drained.append(n)
        q.loose[:] += q.held[n]
        q.held[n] = 0

    def _placed(self, q: Packing, drained: list[int]) -> bool:
        """Whether everybody finds a place, with other nodes emptied if need be."""
        found = self._search(q, drained)
        for _ in range(TRADES):
            if found or not self._traded(q, drained):
                break
            found = self._search(q, drained)
        return found

    def _traded(self, q: Packing, drained: list[int]) -> bool:
        """Take a node back that could hold who is loose, and empty another one."""
        loose = q.loose > 0
        back = [n for n in drained if n not in self.first and (q.most[n, loose] > 0).any()]
        if not back or self.able.sum() == len(drained):
            return False
        n = max(back, key=lambda n: (int(self.home[n].sum()), -n))
        self._empty(q, drained, loose)
        drained.remove(n)
        return True

    def _search(self, q: Packing, drained: list[int]) -> bool:
        nodes, tight = self._nodes(drained), self._tight(q, drained)
        size = _size(q, nodes, tight)
        largest = (q.kind[:, :AMOUNTS] / np.maximum(q.node[nodes, :AMOUNTS].max(axis=0, initial=0), 1)).max(axis=1)
        q.worth[:] = q.kind[:, tight] + size * (ANYBODY + LARGE * largest**2)
        self._anneal(q, nodes, tight, self.turns, (size * HOT, size * COLD), 0.0)
        return not q.loose.any()

    def _closer(self, q: Packing, drained: list[int]) -> Counts | None:
        """The counts, after bringing home whoever can be while all have places; None if they are no good."""
        nodes, tight = self._nodes(drained), self._tight(q, drained)
        stay = AT_HOME * _size(q, nodes, tight)
        for _ in range(2):
            self._anneal(q, nodes, tight, BACK, (stay, stay / 10), stay)
            found = self._counts(q, drained)
            if self.good(found):
                return found
        return None

    def _anneal(self, q: Packing, nodes: Longs, tight: int, each: int, heat: tuple[float, float], stay: float) -> None:
        hot, cold = heat
        turns, whole = each * len(nodes), not q.loose.any()
        for at in range(0, turns, AT_ONCE):
            if self.go_on is not None and not self.go_on():
                break
            now, then = (hot * (cold / hot) ** (turn / turns) for turn in (at, at + AT_ONCE))
            left = anneal(q, nodes, AT_ONCE, tight, now, then, NOISE, stay)
            self.left -= AT_ONCE - left
            self.effort += (AT_ONCE - left) * EFFORT
            if not whole and not q.loose.any():
                break

    def _nodes(self, drained: list[int]) -> Longs:
        bins = self.bins.copy()
        bins[drained] = False
        return np.flatnonzero(bins)

    def _tight(self, q: Packing, drained: list[int]) -> int:
        """The amount of which the smallest share would be left over; slots do not count, they have no size."""
        asked = (q.home.sum(axis=0) @ q.kind[:, :AMOUNTS]).astype(np.float64)
        share = asked / np.maximum(q.node[self._nodes(drained), :AMOUNTS].sum(axis=0), 1)
        share[SLOTS] = 0
        return int(np.argmax(share))

    def _counts(self, q: Packing, drained: list[int]) -> Counts:
        change = q.held - q.home
        leaves, reaches = ({(n, k): abs(int(change[n, k])) for n, k in np.argwhere(sign * change > 0).tolist()}
                           for sign in (-1, 1))  # fmt: skip
        return Counts(leaves, reaches, frozenset(drained), frozenset())

    def _packing(self, start: Counts) -> Packing | None:
        """The nodes as ``start`` leaves them; None where it does what is not seen here."""
        if start.opened or not self.able[sorted(start.drained)].all():
            return None
        home = self.home * (self.bins[:, None] & ~self.odd)
        held = home.copy()
        for sign, counts in ((-1, start.leaves), (1, start.reaches)):
            for (n, k), count in counts.items():
                held[n, k] += sign * count
                if self.odd[k] or not self.bins[n]:
                    return None
        return packing(self.compiled.arena, self.kinds, home, held, self.seed)


def _size(q: Packing, nodes: Longs, amount: int) -> float:
    """What a node has of the amount on average; over-committed nodes may have nothing of it together."""
    return max(1.0, float(q.node[nodes, amount].sum()) / max(1, len(nodes)))
