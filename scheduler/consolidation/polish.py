"""The exact stage on top of the chains: the solver's counts, walked as chains, where they are better."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.snapshot import Bools, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.exact import NOTHING, Counts, Key, Part, parts_of
from scheduler.consolidation.kinds import Kinds, kinds_of
from scheduler.consolidation.moves import clear, install
from scheduler.consolidation.params import Progress
from scheduler.consolidation.patches import Asker
from scheduler.consolidation.rearrange import follow
from scheduler.consolidation.rounds import Search, net_of
from scheduler.consolidation.solver import NO_BOUND, Answer, GoOn


@dataclass(frozen=True, slots=True, eq=False)
class Polished:
    """``log`` as in the arena; ``upper`` bounds net emptied nodes; ``effort`` was spent, in the solver's measure.

    Where ``net`` reaches ``upper`` no plan empties as many nodes in fewer than ``fewest`` moves.
    """

    log: Longs
    net: int
    upper: int
    fewest: int
    effort: float


def polish(search: Search, snapshot: Snapshot) -> Polished:
    """Look for better moves than those that the search has found; its tables stand after whichever are better."""
    compiled, a = search.compiled, search.compiled.arena
    log = a.log[: a.work[c.W_MOVES]].copy()
    clear(a, search.opened)
    kinds = kinds_of(a, borrowers(snapshot))
    start = counts_of(log, kinds, compiled)
    parts = _parts(search, snapshot.node_usable, kinds)
    answer = _ask(search, snapshot.node_usable, kinds, parts, start)
    for part in parts:
        follow(a, kinds, part.of(answer.counts), search.params.depth, search.seed)
    if _score(compiled) <= (start.net, -start.moves, -_milli(compiled, log)):
        clear(a, search.opened)
        install(a, log)
    # A bound on plans that empty the nodes asked for first says nothing about the others
    upper = search.upper if start.drained & first_of(search) else min(search.upper, answer.upper)
    return Polished(a.log[: a.work[c.W_MOVES]].copy(), net_of(compiled), upper, answer.fewest, answer.effort)


def _parts(search: Search, usable: Bools, kinds: Kinds) -> list[Part]:
    """A limit of moves makes one part of all."""
    if search.params.max_moves is None:
        return parts_of(search.compiled.arena, kinds, usable)
    return [Part(frozenset(range(len(kinds.first))), np.ones(len(usable), np.bool_))]


def _ask(search: Search, usable: Bools, kinds: Kinds, parts: list[Part], start: Counts) -> Answer:
    """What the solver says of each part, taken together."""
    asker = Asker(
        compiled=search.compiled,
        kinds=kinds,
        usable=usable,
        first=first_of(search),
        limit=search.params.max_moves,
        levels=search.params.depth,
        seed=search.seed,
        go_on=go_on(search, start, "in the exact stage"),
    )
    total = Answer(NOTHING, 0, 0, 0.0)
    for part in parts:
        begun = part.of(start)
        total += Answer(begun, NO_BOUND, 0, 0.0) if search.notes else asker.ask(part, begun)
    return total


def first_of(search: Search) -> frozenset[int]:
    """Nodes that stay emptied once they are."""
    return frozenset(search.first.tolist())


def go_on(search: Search, start: Counts, where: str) -> GoOn | None:
    """Report what the chains have reached for as long as a later stage works; None if nobody listens."""
    if search.report is None and search.clock is None:
        return None
    rounds = search.params.rounds
    now = Progress(rounds, rounds, 1, 1, start.net, start.moves)
    return lambda: not search.stopped(now, where)


def counts_of(log: Longs, kinds: Kinds, compiled: Compiled) -> Counts:
    """What moves say, as counts."""
    leaves: dict[Key, int] = defaultdict(int)
    reaches: dict[Key, int] = defaultdict(int)
    for p, source, target in log[:, [c.L_POD, c.L_SOURCE, c.L_TARGET]].tolist():
        leaves[source, int(kinds.of[p])] += 1
        reaches[target, int(kinds.of[p])] += 1
    drained = log[log[:, c.L_DEPTH] == 0, c.L_SOURCE]
    opened = [t for t in np.unique(log[:, c.L_TARGET]).tolist() if compiled.empty_before[t]]
    return Counts(dict(leaves), dict(reaches), frozenset(drained.tolist()), frozenset(opened))


def _score(compiled: Compiled) -> tuple[int, int, int]:
    """Order of preference between plans, before the order of names."""
    a = compiled.arena
    log = a.log[: a.work[c.W_MOVES]]
    return net_of(compiled), -len(log), -_milli(compiled, log)


def _milli(compiled: Compiled, log: Longs) -> int:
    """GPU milli that move."""
    pods = compiled.arena.pod[log[:, c.L_POD]]
    return int((pods[:, c.P_GPUS] * pods[:, c.P_MILLI]).sum())
