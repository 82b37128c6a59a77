"""Further nodes without a solver: new places for all pods (``repack``), part by part, in a number of steps.

Nothing is done where the bound by flows says that a part cannot have more nodes emptied than the chains have found.
"""

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.snapshot import Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.bound import net_uppers
from scheduler.consolidation.exact import Part, parts_of
from scheduler.consolidation.kinds import Kinds, among, kinds_of
from scheduler.consolidation.moves import clear, install
from scheduler.consolidation.params import MAX_DEPTH, MAX_REPACK
from scheduler.consolidation.polish import Polished, counts_of, first_of, go_on
from scheduler.consolidation.rearrange import follow
from scheduler.consolidation.repack import Repack
from scheduler.consolidation.rounds import Search, net_of

TURNS = 300  # for each node, in search of places: where there are some, most are found in the first few
MOST_TURNS = 500_000  # of one plan; a node that is begun before is seen to its end
EFFORT = 1 / 1_500_000  # of one turn, as the proof of blockers counts: these take about as long as its one
WHERE = "while all pods were placed anew"


def wanted(search: Search) -> bool:
    """Whether it may be asked at all: nobody counts moves, keeps chains short, or has a large cluster."""
    params, nodes = search.params, len(search.compiled.arena.node)
    plain = params.max_moves is None and params.depth == MAX_DEPTH
    return plain and params.repack_up_to > 0 and nodes <= MAX_REPACK and net_of(search.compiled) < search.upper


def place_anew(search: Search, snapshot: Snapshot) -> Polished:
    """Look for places with which more nodes are empty; the tables stand after whichever moves are better."""
    compiled, a = search.compiled, search.compiled.arena
    log = a.log[: a.work[c.W_MOVES]].copy()
    clear(a, search.opened)
    kinds = kinds_of(a, borrowers(snapshot))
    parts = parts_of(a, kinds, snapshot.node_usable)
    uppers = net_uppers(snapshot, compiled, (part.nodes for part in parts))
    left, rows = MOST_TURNS, [log]
    for part, upper in zip(parts, uppers, strict=True):
        if part.nodes.sum() > search.params.repack_up_to or left <= 0 or search.notes:
            continue
        repack = _repack(search, among(kinds, part.kinds), part, left)
        inside = part.nodes[rows[0][:, c.L_SOURCE]]
        found = _further(search, repack, rows[0][inside], upper)
        left = repack.left
        if found is not None:
            rows = [rows[0][~inside], *rows[1:], found]
    clear(a, search.opened)
    install(a, _joined(rows))
    upper, effort = min(search.upper, sum(uppers)), (MOST_TURNS - left) * EFFORT
    return Polished(a.log[: a.work[c.W_MOVES]].copy(), net_of(compiled), upper, 0, effort)


def _repack(search: Search, kinds: Kinds, part: Part, left: int) -> Repack:
    first, params = first_of(search), search.params
    return Repack(search.compiled, kinds, part, first, params.depth, search.seed, None, TURNS, left)


def _further(search: Search, repack: Repack, log: Longs, upper: int) -> Longs | None:
    """Moves of one part that empty more nodes than those of ``log``; the tables stand before any move."""
    a, kinds = search.compiled.arena, repack.kinds
    start = counts_of(log, kinds, search.compiled)
    if start.net >= upper or not repack.good(start):
        return None
    repack.go_on = go_on(search, start, WHERE)
    found = repack.beyond(start, upper)
    if found.net <= start.net or not follow(a, kinds, found, search.params.depth, search.seed):
        return None
    moves = a.log[: a.work[c.W_MOVES]].copy()
    clear(a, search.opened)
    return moves


def _joined(rows: list[Longs]) -> Longs:
    """One log of several, their chains numbered one after the other."""
    joined, chains = np.concatenate(rows), 0
    at = 0
    for one in rows:
        numbers, number = np.unique(one[:, c.L_CHAIN], return_inverse=True)
        joined[at : at + len(one), c.L_CHAIN] = number + chains
        at, chains = at + len(one), chains + len(numbers)
    return joined
