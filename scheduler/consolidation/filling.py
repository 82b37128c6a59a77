"""Goals that are reached seat by seat: room for slots of a shape, for a pending gang, and for a gang on a spare."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler.cluster.occupancy import Occupancy
from scheduler.cluster.snapshot import Bools, Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.bound import bound_of
from scheduler.consolidation.clearing import milli_of
from scheduler.consolidation.columns import NONE, Arena
from scheduler.consolidation.draft import Draft
from scheduler.consolidation.limbo import with_limbo
from scheduler.consolidation.params import Progress
from scheduler.consolidation.rounds import NO_LIMIT, NOBODY, Search
from scheduler.consolidation.seating import A_MOVE, DIRECT, HOPELESS, prices_of, seat_all
from scheduler.plan.goal import Goal, Seat
from scheduler.plan.plan import Kept, Plan

TRIES = 48  # nodes on which room is made for one pod, at most
CHECKS = 400_000  # candidates looked at for one pod
ATTEMPTS = 4  # each with other prices
LARGE = 2_000  # nodes of a cluster that gets one attempt
HOMES = 24  # domains in which room is made, those with most free GPUs first
BEGINNINGS = 24  # nodes that are filled before seats are taken where there is room already, the cheapest first

Home = tuple[int, int]  # level and domain, NONE where the pods may stand anywhere


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """What one search found; ``log`` has the moves of others alone, ``seats`` (pod, node, chain or NONE)."""

    log: Longs
    seats: tuple[tuple[int, int, int], ...]
    home: Home

    def score(self, pod: Longs) -> tuple[int, int, int, int]:
        """More seats, then fewer moves, then fewer GPUs that move, then one domain where that was preferred."""
        return len(self.seats), -len(self.log), -milli_of(pod, self.log), int(self.home[0] != NONE)


@dataclass(slots=True)
class Filling(Draft):
    """A draft whose chains make room for ``found.seats``; without any, ``direct`` seats are all."""

    goal: Goal
    found: Filled
    direct: Filled

    def plan(self, chains: int) -> Plan:
        """Of a plan that gives up seats which were there, the first chains alone may reach less: then nothing moves."""
        made = Draft.plan(self, chains)
        kept = max((move.chain for move in made.moves), default=NONE) + 1
        from_ = self.found.seats if kept else self.direct.seats
        seats = tuple(self._seat(*one) for one in from_ if one[2] < kept)
        if kept and len(seats) <= len(self.direct.seats):
            return self.plan(0)
        goal = msgspec.structs.replace(self.goal, reached=len(seats), before=len(self.direct.seats), seats=seats)
        return msgspec.structs.replace(made, goal=goal, bound=bound_of(self.upper, goal.reached))

    def _seat(self, pod: int, node: int, chain: int) -> Seat:
        who = self.snapshot.pod_key(pod).removeprefix("/")
        return Seat(who=who, node=self.snapshot.node_name[node], chain=None if chain == NONE else chain)

    def _kept(self, after: Occupancy) -> tuple[Kept, ...]:
        return ()

    def _served(self, log: Longs) -> dict[int, int]:
        nodes: dict[int, int] = {}
        for _, node, chain in self.found.seats:
            nodes.setdefault(chain, node)
        return nodes

    def _reopen(self) -> None:
        self.compiled.arena.node[:, c.N_OPEN] = self.compiled.takes


def search(
    by: Search, pods: Longs, pools: Sequence[Bools], homes: Sequence[Home], fallback: Home | None, stay: Longs
) -> tuple[Filled, Filled]:
    """(the best that was found, the best without a move).

    ``pods`` stand nowhere; of ``pools`` [n] the nodes of one have to seat them all.  So has one of ``homes``;
    ``fallback`` is taken where that is only preferred.  Pods that ``stay`` make no room for them.
    """
    ways = [(places, home) for places in pools for home in _all(homes, fallback)]
    direct = max((_at(by, pods, *way, DIRECT, 0, stay) for way in ways), key=_score(by))
    best = direct
    if len(direct.seats) < len(pods) and by.params.depth > 0:
        attempts = 1 if len(by.compiled.arena.node) > LARGE else ATTEMPTS
        for attempt in range(attempts):
            for i, (places, home) in enumerate(_likely(by, pools, homes, fallback)):
                at = Progress(attempt + 1, attempts, i + 1, len(ways), len(best.seats), len(best.log))
                if by.stopped(at, f"in attempt {attempt + 1}"):
                    return best, direct
                best = max(best, _at(by, pods, places, home, by.params.depth - 1, attempt, stay), key=_score(by))
    if fallback is not None and _more_could(by, best, pods):
        best = _given_up(by, pods, pools, fallback, stay, best)
    return best, direct


def _more_could(by: Search, best: Filled, pods: Longs) -> bool:
    """Whether seats are missing that nothing rules out, in a cluster where looking for them is cheap."""
    few = len(by.compiled.arena.node) <= LARGE
    return few and 1 < len(pods) > len(best.seats) < by.upper and by.params.depth > 0


def _given_up(by: Search, pods: Longs, pools: Sequence[Bools], home: Home, stay: Longs, best: Filled) -> Filled:
    """The best also of the searches that fill one node first: a seat that is there may be worth less than what it holds
    up.
    """
    a = by.compiled.arena
    for places in pools:
        seats = np.flatnonzero(by.compiled.takes & places)
        prices = prices_of(a, int(_largest_first(a.pod, pods)[0]), seats)
        for i in np.argsort(prices, kind="stable")[: min(BEGINNINGS, int((prices < HOPELESS).sum()))].tolist():
            at = Progress(ATTEMPTS, ATTEMPTS, i + 1, len(seats), len(best.seats), len(best.log))
            if by.stopped(at, "in the search that gives seats up") or len(best.seats) == min(by.upper, len(pods)):
                return best
            found = _at(by, pods, places, home, by.params.depth - 1, 0, stay, seats[i : i + 1])
            best = max(best, found, key=_score(by))
    return best


def _score(by: Search) -> Callable[[Filled], tuple[int, int, int, int]]:
    return lambda found: found.score(by.compiled.arena.pod)


def _all(homes: Sequence[Home], fallback: Home | None) -> Iterator[Home]:
    yield from homes
    if fallback is not None:
        yield fallback


def _likely(
    by: Search, pools: Sequence[Bools], homes: Sequence[Home], fallback: Home | None
) -> Iterator[tuple[Bools, Home]]:
    """The domains with most free GPUs first, HOMES of them; then every pool as a whole, where that is enough."""
    a = by.compiled.arena
    ways = [(pool, home) for pool in range(len(pools)) for home in homes]
    free = {(pool, home): int(a.node[pools[pool] & inside(a, home), c.N_MILLI].clip(0).sum()) for pool, home in ways}
    yield from ((pools[pool], home) for pool, home in sorted(ways, key=lambda way: (-free[way], way))[:HOMES])
    if fallback is not None:
        yield from ((places, fallback) for places in pools)


def inside(a: Arena, home: Home) -> Bools:
    """[n] The nodes of a domain; all where there is none."""
    level, domain = home
    if level == NONE:
        return np.ones(a.at_level.shape[1], np.bool_)
    return np.asarray(a.at_level[level] != NONE if domain == NONE else a.at_level[level] == domain)


def _at(
    by: Search,
    pods: Longs,
    places: Bools,
    home: Home,
    levels: int,
    attempt: int,
    stay: Longs,
    begin: Longs = NOBODY,
) -> Filled:
    """One search, on tables of its own; nodes of ``begin`` are filled before all others."""
    a = with_limbo(by.compiled.arena, pods, stay)
    a.node[:-1, c.N_OPEN] = by.compiled.takes
    limit = by.params.max_moves
    a.work[c.W_LIMIT], a.work[c.W_MOVES], a.work[c.W_CHAINS] = NO_LIMIT if limit is None else limit, 0, 0
    members = np.flatnonzero(by.compiled.takes)
    order = _largest_first(a.pod, pods)
    seats = np.flatnonzero(by.compiled.takes & places & inside(by.compiled.arena, home))
    dice = np.random.default_rng([by.seed, attempt])
    noise = (dice.random(len(seats)) * attempt * A_MOVE).astype(np.int64)
    if len(begin):
        seat_all(a, order, begin, members, levels, TRIES, CHECKS, np.zeros(len(begin), np.int64))
        order = order[a.pod[order, c.P_NODE] == len(a.node) - 1]
    if levels != DIRECT and attempt % 2 == 0:
        seat_all(a, order, seats, members, DIRECT, TRIES, CHECKS, noise)
        order = order[a.pod[order, c.P_NODE] == len(a.node) - 1]
        members = np.setdiff1d(members, _reserved(a, order, seats, noise))
    seat_all(a, order, seats, members, levels, TRIES, CHECKS, noise)
    return _split(a.log[: a.work[c.W_MOVES]].copy(), set(pods.tolist()), home)


def _reserved(a: Arena, pods: Longs, seats: Longs, noise: Longs) -> Longs:
    """As many of the cheapest nodes as seats are missing: whoever makes room elsewhere must not fill them."""
    if not len(pods) or not len(seats):
        return seats[:0]
    prices = prices_of(a, int(pods[0]), seats)
    cheap = np.argsort(np.where(prices == HOPELESS, HOPELESS, prices + noise), kind="stable")[: len(pods)]
    return np.asarray(seats[cheap[prices[cheap] != HOPELESS]])


def _largest_first(pod: Longs, pods: Longs) -> Longs:
    row = pod[pods]
    order = np.lexsort((pods, -row[:, c.P_MEMORY], -row[:, c.P_CPU], -row[:, c.P_GPUS] * row[:, c.P_MILLI]))
    return np.asarray(pods[order])


def _split(log: Longs, waiting: set[int], home: Home) -> Filled:
    """The moves of others apart from the seats; a seat rests on the last chain that had begun by then."""
    others = np.array([p not in waiting for p in log[:, c.L_POD].tolist()], np.bool_)
    seats, begun = [], NONE
    for row, moves in zip(log.tolist(), others.tolist(), strict=True):
        if moves:
            begun = row[c.L_CHAIN]
        else:
            seats.append((row[c.L_POD], row[c.L_TARGET], begun))
    return Filled(log[others], tuple(seats), home)
