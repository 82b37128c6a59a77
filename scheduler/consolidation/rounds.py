"""Rounds over partitions: the search as a whole, which may be stopped after any partition."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Ints, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.moves import clear, install
from scheduler.consolidation.params import Params, Progress, Report
from scheduler.consolidation.partition import partition
from scheduler.consolidation.search import drain_all

CHECKS = 20_000  # candidates looked at for one node to drain, those that turn out bad at once included
Doubles = NDArray[np.float64]
Scored = tuple[tuple[int, int, int], Longs]  # net emptied nodes, less moves, less GPU milli that move; the log
ATTEMPTS = 16  # searches of a small cluster, each with another order of nodes; the best one counts
SMALL = 500  # nodes
WIDE = 24  # more of them before the exact stage, in orders that keep less to the easiest first
WIDE_FROM = 65  # nodes: in smaller clusters they find nothing more, and plans are made anew for every blocker (proof)
SCALES = (0.25, 1.0, 3.0)  # of the orders' noise, turn by turn
NOBODY = np.zeros(0, np.int64)
NO_LIMIT = np.iinfo(np.int64).max


@dataclass(slots=True)
class Search:
    """One search on one arena.  ``notes`` say what cut it short."""

    compiled: Compiled
    params: Params
    seed: int
    asw: Ints  # [n] the switch of each node, UNKNOWN where nobody knows
    upper: int  # bound on net emptied nodes: nothing is left to look for once it is reached
    first: Longs = field(default_factory=lambda: NOBODY)  # nodes that are drained before all others
    report: Report | None = None
    clock: Callable[[], float] | None = None
    notes: list[str] = field(default_factory=list)
    started: float = 0.0
    opened: Longs = field(init=False)  # [n] 1: was open before any move
    asked: Params = field(init=False)  # what ``params`` are but for searches with less depth or fewer rounds

    def __post_init__(self) -> None:
        self.opened, self.asked = self.compiled.arena.node[:, c.N_OPEN].copy(), self.params

    def run(self) -> None:
        """Fill the arena's log with moves that empty nodes."""
        a, limit, asked = self.compiled.arena, self.params.max_moves, self.asked
        a.work[c.W_LIMIT] = NO_LIMIT if limit is None else limit
        self.started = self.clock() if self.clock else 0.0
        best: Scored = (-NO_LIMIT, 0, 0), np.zeros((0, c.LOG_COLUMNS), np.int64)
        for depth, rounds in self._limits():
            if self.notes or (rounds < asked.rounds and best[0][0] == self.upper):
                break
            self.params = replace(asked, depth=depth, rounds=rounds)
            best = self._best_attempt(best)
        self.params = asked
        clear(a, self.opened)
        install(a, best[1])

    def _limits(self) -> Iterator[tuple[int, int]]:
        """(depth, rounds): what is asked for, and in small clusters all that is less, so that asking for more is never
        worse; fewer rounds only as long as the bound is not reached.
        """
        depth, rounds = self.params.depth, self.params.rounds
        every = self.params.repack_up_to > 0 and len(self.compiled.arena.node) <= SMALL
        yield depth, rounds
        if every:
            yield from ((d, rounds) for d in range(depth - 1, -1, -1))
            yield from ((d, r) for r in range(rounds - 1, 0, -1) for d in range(depth, -1, -1))

    def _best_attempt(self, best: Scored) -> Scored:
        a = self.compiled.arena
        for attempt in range(self._attempts()):
            clear(a, self.opened)
            self._attempt(attempt)
            log = a.log[: a.work[c.W_MOVES]]
            score = net_of(self.compiled), -len(log), -self._milli(log)
            if score > best[0]:
                best = score, log.copy()
            if self.notes or score[0] == self.upper:
                break
        return best

    def _milli(self, log: Longs) -> int:
        """GPU milli that move; 0 where nobody asks for more than the first of equal answers."""
        pod = self.compiled.arena.pod[log[:, c.L_POD]]
        return int((pod[:, c.P_GPUS] * pod[:, c.P_MILLI]).sum()) if self.params.repack_up_to else 0

    def _attempts(self) -> int:
        nodes = len(self.compiled.arena.node)
        if nodes > SMALL:
            return 1
        return ATTEMPTS + WIDE if WIDE_FROM <= nodes <= self.params.exact_up_to else ATTEMPTS

    def _attempt(self, attempt: int) -> None:
        noise = attempt / 4 if attempt < ATTEMPTS else (attempt - ATTEMPTS) * SCALES[attempt % len(SCALES)]
        self._drain_first()
        for turn in range(self.params.rounds):
            groups = partition(self.asw, self.params.partition, self.seed, turn)
            for i, members in enumerate(groups):
                first = attempt == 0 and self.params == self.asked
                if self._stopped(turn if first else self.asked.rounds - 1, i, len(groups)):
                    return
                spread = np.random.default_rng([self.seed, attempt, turn, i]).random(len(members)) * noise
                self._solve(members, self._empties(members, turn), spread)
        self._sweep()

    def _drain_first(self) -> None:
        if len(self.first):
            members = np.flatnonzero(self.compiled.arena.node[:, c.N_OPEN] == 1)
            for levels in (0, self.params.depth):
                drain_all(self.compiled.arena, self.first, members, NOBODY, levels, NO_LIMIT)

    def _sweep(self) -> None:
        """Nodes that move directly anywhere in the cluster, over the borders of partitions."""
        node = self.compiled.arena.node
        members = np.flatnonzero(node[:, c.N_OPEN] == 1)
        order = drain_order(node, members, np.zeros(len(members)))
        drain_all(self.compiled.arena, order, members, NOBODY, 0, NO_LIMIT)

    def _solve(self, members: Longs, empties: Longs, spread: Doubles) -> int:
        """First what takes no room-making, then the rest: whoever moves directly costs one move."""
        a, depth = self.compiled.arena, self.params.depth
        order = drain_order(a.node, members, spread)
        found = drain_all(a, order, members, NOBODY, 0, CHECKS)
        if depth or len(empties):
            found += drain_all(a, order, members, empties, depth, CHECKS)
        return found

    def _empties(self, members: Longs, turn: int) -> Longs:
        """In the last round: one empty node of each class and size, which may receive if the net rises by it."""
        if turn < self.params.rounds - 1:
            return NOBODY
        node = self.compiled.arena.node
        empty = members[self.compiled.empty_before[members] & (node[members, c.N_WORK] == 0)]
        _, first = np.unique(node[empty][:, [c.N_CLASS, c.N_ROOM, c.N_CPU, c.N_MEMORY]], axis=0, return_index=True)
        return np.asarray(empty[np.sort(first)])

    def _stopped(self, turn: int, group: int, groups: int) -> bool:
        moves = int(self.compiled.arena.work[c.W_MOVES])
        now = Progress(turn + 1, self.asked.rounds, group + 1, groups, net_of(self.compiled), moves)
        return self.stopped(now, f"in round {now.round}, partition {now.partition} of {groups}")

    def stopped(self, now: Progress, where: str) -> bool:
        """Whether the caller or the clock says to stop, which is noted once; it does not go on after that."""
        if self.notes:
            return True
        params = self.params
        if self.report is not None and not self.report(now):
            self.notes.append(f"cut: cancelled {where}")
            return True
        if self.clock is not None and params.seconds is not None and self.clock() - self.started > params.seconds:
            self.notes.append(f"cut: stopped by the wall clock after {params.seconds} s")
            return True
        return False


def net_of(compiled: Compiled) -> int:
    """Nodes drained so far less empty ones that received."""
    opened = compiled.empty_before & (compiled.arena.node[:, c.N_WORK] > 0)
    return int(compiled.arena.work[c.W_CHAINS]) - int(opened.sum())


def drain_order(node: Longs, members: Longs, spread: Doubles) -> Longs:
    """Easiest first: fewest pods (plus ``spread`` [members]), then fewest GPUs to move, then the order of names."""
    used = node[members, c.N_ROOM] * WHOLE_GPU_MILLI - node[members, c.N_MILLI]
    order = np.lexsort((members, used, node[members, c.N_WORK] + spread))
    able = (node[members, c.N_DRAINABLE] == 1) & (node[members, c.N_WORK] > 0) & (node[members, c.N_PINNED] == 0)
    return np.asarray(members[order[able[order]]])


def switches(snapshot: Snapshot) -> Ints:
    """[n] The domain of level ``asw`` of each node, else the lowest one that is known."""
    if "asw" in snapshot.levels:
        return np.asarray(snapshot.node_at_level[snapshot.levels.index("asw")])
    return np.where(snapshot.node_domain == UNKNOWN, UNKNOWN, snapshot.node_domain).astype(np.int32)
