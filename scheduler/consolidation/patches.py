"""Large parts: the linear relaxation as the bound, and the solver on one patch of nodes after the other.

A patch holds whole what the counts at hand say of its nodes: whoever leaves one of them reaches one of them.  So its
best answer, with all else as it is, is an answer for the part; patches are drawn anew each turn, by count and seed.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.snapshot import Bools
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.exact import NOTHING, Counts, Model, Part, standing
from scheduler.consolidation.kinds import Kinds
from scheduler.consolidation.params import MAX_DEPTH
from scheduler.consolidation.relaxation import least
from scheduler.consolidation.repack import Repack
from scheduler.consolidation.solver import NO_BOUND, TINY, Answer, GoOn, Question

WHOLE = 100  # nodes of the largest part that is asked about as one
PATCH = 60  # nodes of a patch, unless one chain needs more
TURNS = 4
EFFORT = 0.012  # of the solver for each node
LEAST_EFFORT = 1.0
RELAXED = 20.0  # effort for the relaxation of a part


@dataclass(slots=True)
class Asker:
    """What all questions about one cluster share.  ``first``: nodes that stay emptied; ``limit``: of all moves."""

    compiled: Compiled
    kinds: Kinds
    usable: Bools  # [n]
    first: frozenset[int]
    limit: int | None
    levels: int  # of pods that may make room for others
    seed: int
    go_on: GoOn | None

    def ask(self, part: Part, start: Counts) -> Answer:
        """The best counts found for the part, and what holds for every plan."""
        if part.nodes.sum() <= WHOLE:
            return self._exact(part, start, self.limit, self._repack(part))
        upper = self._relaxed(part, start)
        found, effort = start, 0.0
        for turn in range(TURNS):
            for patch in self._patches(part, found, turn):
                if self.go_on is not None and not self.go_on():
                    return Answer(found, upper, 0, effort)
                inside = patch.of(found)
                left = None if self.limit is None else self.limit - found.moves + inside.moves
                answer = self._exact(patch, inside, left, None)
                found, effort = found.without(inside) + answer.counts, effort + answer.effort
        return self._further(part, Answer(found, upper, 0, effort))

    def _repack(self, part: Part) -> Repack | None:
        """None where moves are counted, or chains kept short: there anybody may make room for anybody."""
        if self.limit is not None or self.levels < MAX_DEPTH:
            return None
        return Repack(self.compiled, self.kinds, part, self.first, self.levels, self.seed, self.go_on)

    def _further(self, part: Part, answer: Answer) -> Answer:
        repack = self._repack(part)
        if repack is None or answer.counts.net >= answer.upper or not repack.good(answer.counts):
            return answer
        found = repack.beyond(answer.counts, answer.upper)
        return replace(answer, counts=found, effort=answer.effort + repack.effort)

    def _exact(self, part: Part, start: Counts, limit: int | None, repack: Repack | None) -> Answer:
        model = Model(self.compiled, self.kinds, self.usable, part)
        if not model.drained:
            return Answer(NOTHING, 0, 0, 0.0)
        model.demand(limit, sorted(start.drained & self.first))
        return Question(model, max(LEAST_EFFORT, EFFORT * int(part.nodes.sum())), self.go_on, repack).ask(start)

    def _relaxed(self, part: Part, start: Counts) -> int:
        """Bound on the net emptied nodes."""
        model = Model(self.compiled, self.kinds, self.usable, part)
        model.demand(self.limit, sorted(start.drained & self.first))
        model.rules.minimize(-model.net)
        bound = least(model.rules, RELAXED)
        return NO_BOUND if bound is None else int(np.floor(TINY - bound))

    def _patches(self, part: Part, counts: Counts, turn: int) -> Iterator[Part]:
        units = list(_units(part, counts))
        dice = np.random.default_rng([self.seed, turn])
        stands = standing(self.compiled.arena, self.kinds)
        nodes: list[int] = []
        for position, i in enumerate(dice.permutation(len(units)).tolist()):
            nodes += units[i]
            if len(nodes) >= PATCH or position == len(units) - 1:
                inside = np.zeros(len(part.nodes), np.bool_)
                inside[nodes] = True
                yield Part(frozenset(k for n, k in stands if inside[n]), inside)
                nodes = []


def _units(part: Part, counts: Counts) -> Iterator[list[int]]:
    """Nodes that the counts join: a pod that leaves one may be the one that reaches the other."""
    group = np.arange(len(part.nodes))
    arrive: dict[int, list[int]] = defaultdict(list)
    for (n, k), count in sorted(counts.reaches.items()):
        arrive[k] += [n] * count
    for (n, k), count in sorted(counts.leaves.items()):
        for _ in range(count):
            target = arrive[k].pop()
            group[group == group[target]] = group[n]
    members: dict[int, list[int]] = defaultdict(list)
    for n in np.flatnonzero(part.nodes).tolist():
        members[int(group[n])].append(n)
    yield from members.values()
