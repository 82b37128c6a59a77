"""Replace a failing node of a running gang: its members go to one other node under the same switch."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler.cluster.mobility import bound_domains, immovable
from scheduler.cluster.occupancy import Occupancy
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.room import at_home
from scheduler.cluster.snapshot import Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import compile_arena
from scheduler.consolidation.bound import bound_of
from scheduler.consolidation.clearing import milli_of
from scheduler.consolidation.columns import Arena
from scheduler.consolidation.draft import Draft
from scheduler.consolidation.filling import CHECKS, TRIES
from scheduler.consolidation.legal import legal
from scheduler.consolidation.limbo import with_limbo
from scheduler.consolidation.moves import install, take_back
from scheduler.consolidation.params import Params, Progress, Report
from scheduler.consolidation.rounds import NO_LIMIT, Search, switches
from scheduler.consolidation.seating import DIRECT, seat_all
from scheduler.plan.goal import CLUSTER, Goal, Seat
from scheduler.plan.plan import Blocker, Kept, Plan
from scheduler.plan.waiting import gang_pods, shared_domain

Clock = Callable[[], float] | None
ROOMS = 64  # nodes on which room is made, at most
NO_MOVES = np.zeros((0, c.LOG_COLUMNS), np.int64)
WORDS = {
    "gang": "its gang would fall below its minimum while it is stopped, which the owner has to allow",
    "locked": "it is locked",
    "move_never": "its owner forbids moves",
    "budget": "its disruption budget is used up",
    "terminating": "it is ending",
    "lender": "it lends its GPUs",
    "topology": "its gang does not stand in one known domain",
}


@dataclass(slots=True)
class Spare(Draft):
    """A draft with one chain: members to the spare, others out of their way."""

    goal: Goal
    failing: int
    held: tuple[Kept, ...]

    def plan(self, chains: int) -> Plan:
        made = Draft.plan(self, chains)
        moves = [move for move in made.moves if move.depth == 0]
        seats = tuple(Seat(who=move.pod, node=move.target, chain=0) for move in sorted(moves, key=lambda m: m.pod))
        goal = msgspec.structs.replace(self.goal, reached=len(seats), seats=seats)
        return msgspec.structs.replace(made, goal=goal, bound=bound_of(self.upper, goal.reached))

    def _kept(self, after: Occupancy) -> tuple[Kept, ...]:
        return self.held if self.compiled.arena.work[c.W_CHAINS] == 0 else ()

    def _served(self, log: Longs) -> dict[int, int]:
        return {0: self.failing}

    def _reopen(self) -> None:
        self.compiled.arena.node[:, c.N_OPEN] = self.compiled.takes


def replace_node(snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Clock) -> Plan:
    """The plan that takes the node's gangs to a spare, by the fewest moves of others; all members or none."""
    (name,) = params.goal.nodes
    failing = snapshot.node_name.index(name)
    members = gang_pods(snapshot, name).astype(np.int64)
    level, switch = shared_domain(snapshot, failing, params.goal.level)
    gangs = np.isin(snapshot.pod_gang, snapshot.pod_gang[members]) & snapshot.pod_live
    stay = np.setdiff1d(np.flatnonzero(gangs), members)
    held = _held(snapshot, name, members)
    refused = _refused(held, level)
    compiled = compile_arena(snapshot, np.zeros(len(snapshot.node_name), np.bool_))
    by = Search(compiled, params, seed, switches(snapshot), len(members), report=progress, clock=clock)
    by.started = clock() if clock else 0.0
    spares = _spares(snapshot, failing, level, switch)
    log = NO_MOVES if refused else _best(by, members, spares, failing, stay)
    goal = Goal(
        kind=params.goal.kind,
        name=switch,
        level=level,
        nodes=(name,),
        whole=True,
        wanted=len(members),
        reached=0,
        before=0,
        unit="members",
        refused=refused or ("" if len(log) else _nowhere(by, snapshot, members, spares, level, switch)),
    )
    install(compiled.arena, log)
    upper = 0 if refused else len(members)
    return legal(Spare(snapshot, compiled, params, seed, by.notes, upper, goal, failing, held))


def _held(snapshot: Snapshot, name: str, members: Longs) -> tuple[Kept, ...]:
    codes = immovable(snapshot)
    blockers = tuple(
        Blocker(pod=snapshot.pod_key(p), constraint=IMMOVABLE[codes[p]]) for p in members.tolist() if codes[p]
    )
    return (Kept(node=name, reason=blockers[0].constraint, blockers=blockers, targets={}),) if blockers else ()


def _refused(held: tuple[Kept, ...], level: str) -> str:
    if not level:
        return (
            "nobody knows under which switch this node stands; ask for a spare anywhere in the cluster if that will do"
        )
    if held:
        first = held[0].blockers[0]
        return f"{first.pod} does not move: {WORDS[first.constraint]}"
    return ""


def _nowhere(by: Search, snapshot: Snapshot, members: Longs, spares: Longs, level: str, switch: str) -> str:
    if by.notes:
        return ""
    where = "of the cluster" if level == CLUSTER else f"under {level} {switch}"
    held, home = _held_in(snapshot, members, spares)
    if held and not home:
        return f"its gang {held}, and no other usable node {where} stands there"
    narrower = f", and its gang {held}" if 0 < len(home) < len(spares) else ""
    return f"no other node {where} has room for all of them, or can be given it{narrower}"


def _held_in(snapshot: Snapshot, members: Longs, spares: Longs) -> tuple[str, list[int]]:
    """The network domain that a member has to stay in, in words, and the nodes of ``spares`` where all may stand."""
    bound = bound_domains(snapshot)
    homes = [bound[p] for p in members.tolist() if p in bound]
    fit = [n for n in spares.tolist() if all(at_home(snapshot, n, home) for home in homes)]
    places = sorted({place for home in homes for place in home.items() if place[1] >= 0})
    names = (f"{snapshot.levels[at]} {snapshot.domain_name[d]}" for at, d in places)
    return (f"requires one {snapshot.levels[places[0][0]]} and runs in {', '.join(names)}" if places else ""), fit


def _spares(snapshot: Snapshot, failing: int, level: str, switch: str) -> Longs:
    """Usable nodes of the same domain."""
    nodes = np.flatnonzero(snapshot.node_usable)
    return np.array(
        [n for n in nodes.tolist() if n != failing and shared_domain(snapshot, n, level) == (level, switch)], np.int64
    )


def _best(by: Search, members: Longs, spares: Longs, failing: int, stay: Longs) -> Longs:
    """Nodes with room come first, the fullest of them; else where the fewest moves of others make it."""
    a = with_limbo(by.compiled.arena, members[:0], stay)
    a.node[:-1, c.N_OPEN] = by.compiled.takes
    a.node[failing, c.N_OPEN] = 0
    limit = by.params.max_moves
    a.work[c.W_LIMIT] = NO_LIMIT if limit is None else limit - len(members)
    if limit is not None and limit < len(members):
        return NO_MOVES
    order = spares[np.lexsort((spares, a.node[spares, c.N_CPU], a.node[spares, c.N_MILLI]))]
    for spare in order.tolist():
        log = _to(a, by, members, spare, DIRECT)
        if len(log):
            return log
    found: list[tuple[int, int, int, Longs]] = []
    for i, spare in enumerate(order[::-1][:ROOMS].tolist()):
        at = Progress(1, 1, i + 1, min(len(order), ROOMS), 0, 0)
        if by.params.depth == 0 or by.stopped(at, "in the search for a spare"):
            break
        log = _to(a, by, members, spare, by.params.depth - 1)
        if len(log):
            found.append((len(log), milli_of(a.pod, log), i, log))
    return min(found, key=lambda one: one[:3])[3] if found else NO_MOVES


def _to(a: Arena, by: Search, members: Longs, spare: int, levels: int) -> Longs:
    """The moves that bring all members to this node, none where that is not possible; the tables stay as they are."""
    row = a.pod[members]
    order = members[np.lexsort((members, -row[:, c.P_CPU], -row[:, c.P_GPUS] * row[:, c.P_MILLI]))]
    places, others = np.array([spare], np.int64), np.flatnonzero(by.compiled.takes)
    seated = seat_all(a, order, places, others, levels, TRIES, CHECKS, np.zeros(1, np.int64))
    log = a.log[: a.work[c.W_MOVES]].copy()
    take_back(a, 0)
    a.work[c.W_CHAINS] = 0
    log[:, c.L_CHAIN] = 0
    return log if seated == len(members) else NO_MOVES
