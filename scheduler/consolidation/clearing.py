"""Goals that are reached node by node: all pods leave the named nodes, and none of them goes to another named one."""

from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler.cluster.occupancy import Occupancy
from scheduler.cluster.snapshot import Bools, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.bound import bound_of
from scheduler.consolidation.draft import Draft
from scheduler.consolidation.explain import explain
from scheduler.consolidation.moves import clear, install
from scheduler.consolidation.params import Progress
from scheduler.consolidation.rounds import CHECKS, NO_LIMIT, NOBODY, Search, drain_order
from scheduler.consolidation.search import drain_all
from scheduler.plan.goal import Goal
from scheduler.plan.plan import Kept, Plan
from scheduler.plan.promise import busy_nodes, reached_on

WHOLE_NOTE = "all or nothing"
ATTEMPTS = 8  # each with another order of nodes
LARGE = 2_000  # nodes of a cluster that gets two attempts


@dataclass(slots=True)
class Clearing(Draft):
    """A draft whose chains clear ``named`` [n] nodes."""

    named: Bools
    goal: Goal

    def plan(self, chains: int) -> Plan:
        found = Draft.plan(self, chains)
        goal = msgspec.structs.replace(self.goal, reached=self.goal.before + len({m.chain for m in found.moves}))
        bound = bound_of(self.upper, goal.reached)
        return msgspec.structs.replace(found, goal=goal, bound=bound)

    def _kept(self, after: Occupancy) -> tuple[Kept, ...]:
        cut = any(not note.startswith(WHOLE_NOTE) for note in self.notes)
        kept = explain(self.snapshot, self.compiled, self.params, cut, self.named)
        # Of these every pod could leave: the others hold them
        return tuple(msgspec.structs.replace(k, reason="whole") if self._held_by_others(k, cut) else k for k in kept)

    def _held_by_others(self, kept: Kept, cut: bool) -> bool:
        return self.goal.whole and not cut and not kept.blockers

    def _reopen(self) -> None:
        """Empty nodes may receive, named ones never."""
        self.compiled.arena.node[:, c.N_OPEN] = self.compiled.takes & ~self.named


def open_for(compiled: Compiled, named: Bools) -> None:
    """Nodes outside may receive; named ones may be drained, whatever state they are in."""
    node = compiled.arena.node
    node[:, c.N_OPEN], node[:, c.N_DRAINABLE] = compiled.takes & ~named, named


def most_cleared(snapshot: Snapshot, compiled: Compiled, named: Bools) -> int:
    """No plan clears more: a node with a pod that may not move at all stays."""
    pinned = compiled.arena.node[:, c.N_PINNED] > 0
    return int((named & ~(busy_nodes(snapshot) & pinned)).sum())


def search(found: Search, named: Bools, upper: int, before: int) -> None:
    """Fill the arena's log with the moves that clear most of the nodes, then fewest moves."""
    a, limit = found.compiled.arena, found.params.max_moves
    a.work[c.W_LIMIT] = NO_LIMIT if limit is None else limit
    found.started = found.clock() if found.clock else 0.0
    members = np.flatnonzero(a.node[:, c.N_OPEN] == 1)
    rows = np.flatnonzero(named)
    best: tuple[tuple[int, int, int], Longs] | None = None
    attempts = 2 if len(a.node) > LARGE else ATTEMPTS
    for attempt in range(attempts):
        spread = np.random.default_rng([found.seed, attempt]).random(len(rows)) * attempt
        order = drain_order(a.node, rows, spread)
        for levels in range(found.params.depth + 1):
            cleared = int(a.work[c.W_CHAINS])
            moves = int(a.work[c.W_MOVES])
            now = Progress(attempt + 1, attempts, levels + 1, found.params.depth + 1, cleared, moves)
            if found.stopped(now, f"in attempt {attempt + 1}"):
                break
            drain_all(a, order, members, NOBODY, levels, CHECKS)
        log = a.log[: a.work[c.W_MOVES]]
        score = int(a.work[c.W_CHAINS]), -len(log), -milli_of(a.pod, log)
        if best is None or score > best[0]:
            best = score, log.copy()
        direct = not (log[:, c.L_DEPTH] > 0).any()
        clear(a, found.opened)
        if found.notes or (before + score[0] == upper and direct):
            break
    if best is not None:
        install(a, best[1])


def milli_of(pod: Longs, log: Longs) -> int:
    """GPUs that move, in thousandths."""
    rows = log[:, c.L_POD]
    return int((pod[rows, c.P_GPUS] * pod[rows, c.P_MILLI]).sum())


def goal_of(snapshot: Snapshot, named: Bools, **asked: object) -> Goal:
    """The goal before any search: what is asked, and what of it holds already."""
    names = tuple(snapshot.node_name[n] for n in np.flatnonzero(named))
    rough = Goal(nodes=names, wanted=len(names), reached=0, before=0, unit="nodes", **asked)  # type: ignore[arg-type]
    held = reached_on(rough, snapshot)
    return msgspec.structs.replace(rough, reached=held, before=held)
