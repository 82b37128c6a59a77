"""What a goal promises, worked out anew from the cluster as the plan leaves it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Snapshot
from scheduler.plan.goal import CLEARING, CLUSTER, DOMAIN, GANG, SEATING, SPARE, Goal, Seat
from scheduler.plan.outcome import moved
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import Rows, resolve
from scheduler.plan.seats import candidates, extended, holding, seat_faults, seated_already
from scheduler.plan.waiting import gang_pods, shared_domain, waiting_of

Value = str | int | None


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise that is not kept; ``move`` None where no single move is to blame."""

    object: str
    detail: str
    was: Value = None
    now: Value = None
    move: int | None = None


def broken(plan: Plan, goal: Goal, rows: Rows, ended: Snapshot) -> Iterator[Broken]:
    """Everything that the goal's plan promises and does not keep; ``ended`` is the cluster after the last wave."""
    yield from _numbers(plan, goal, rows, ended)
    yield from left_broken(plan, goal, rows, ended)


def left_broken(plan: Plan, goal: Goal, rows: Rows, ended: Snapshot) -> Iterator[Broken]:
    """The same of a part of a plan, on another snapshot: what its own moves are there for, and no totals."""
    yield from _scattered(plan, goal, rows)
    if goal.kind in CLEARING:
        yield from _clearing(plan, goal, rows, ended)
    elif goal.kind == SPARE:
        yield from _spare(plan, goal, rows, ended)
    else:
        yield from _seating(plan, goal, rows, ended)


def reached_on(goal: Goal, snapshot: Snapshot) -> int:
    """How much of the goal holds on this snapshot as it stands."""
    if goal.kind not in CLEARING:
        return len(held_seats(goal, snapshot))
    row = {name: n for n, name in enumerate(snapshot.node_name)}
    busy = busy_nodes(snapshot)
    return sum(name in row and not busy[row[name]] for name in goal.nodes)


def served(plan: Plan) -> tuple[str, ...]:
    """The nodes that the plan is there to clear, and does."""
    goal = plan.aim
    if goal is None:
        return plan.emptied_nodes
    helped = {move.drains for move in plan.moves}
    return tuple(name for name in goal.nodes if name in helped)


def gained(plan: Plan, chains: Sequence[int]) -> int:
    """What the plan's first chains alone reach; about right where chains share what they open."""
    goal = plan.aim
    if goal is None:
        return len(chains)
    if goal.kind in CLEARING:
        return goal.before + len(chains)
    if goal.kind == SPARE:
        return goal.reached if chains else 0
    if not chains:
        return goal.before  # seats that the plan gives up for others are there
    return sum(seat.chain is None or seat.chain in set(chains) for seat in goal.seats)


def recounted(goal: Goal, plan: Plan, snapshot: Snapshot, chains: Collection[int]) -> Goal:
    """The goal of a plan that keeps only ``chains`` of a longer one, counted on ``snapshot``."""
    rows = resolve(plan, snapshot)
    targets = {p: t for p, t in zip(rows.pod, rows.target, strict=True) if p >= 0 and t >= 0}
    ended = moved(rows.snapshot, targets)
    if goal.kind not in CLEARING:
        seats = [seat for seat in goal.seats if seat.chain is None or seat.chain in chains]
        held = held_seats(msgspec.structs.replace(goal, seats=tuple(seats)), ended)
        return msgspec.structs.replace(goal, reached=len(held), seats=held)
    return msgspec.structs.replace(goal, reached=reached_on(goal, ended), before=reached_on(goal, rows.snapshot))


def busy_nodes(snapshot: Snapshot) -> Bools:
    """[n] Nodes with live pods other than agents, usable or not."""
    here = snapshot.pod_node[snapshot.pod_live & ~snapshot.pod_agent]
    return np.asarray(np.bincount(here, minlength=len(snapshot.node_name)) > 0)


def nodes_of(snapshot: Snapshot, level: str, name: str) -> tuple[str, ...]:
    """The nodes under a network domain, in their order; none where there is no such domain."""
    for d, found in enumerate(snapshot.domain_name):
        if found == name and snapshot.levels[snapshot.domain_level[d]] == level:
            inside = snapshot.node_at_level[snapshot.domain_level[d]] == d
            return tuple(snapshot.node_name[n] for n in np.flatnonzero(inside))
    return ()


def held_seats(goal: Goal, snapshot: Snapshot) -> tuple[Seat, ...]:
    """Of the seats those that hold; one whose pod is bound meanwhile does."""
    if goal.kind == SPARE:
        where = {snapshot.pod_key(p): int(snapshot.pod_node[p]) for p in np.flatnonzero(snapshot.pod_live).tolist()}
        row = {name: n for n, name in enumerate(snapshot.node_name)}
        return tuple(s for s in goal.seats if s.node in row and where.get(s.who) == row[s.node])
    longer, bound = extended(goal, snapshot), seated_already(goal, snapshot)
    there = tuple(seat for seat in goal.seats if seat.who in bound)
    return there + holding(goal, [seat for seat in goal.seats if seat.who not in bound], longer)


def _wanted(goal: Goal, snapshot: Snapshot) -> int:
    if goal.kind in CLEARING:
        return len(goal.nodes)
    if goal.kind == SPARE:
        return sum(len(gang_pods(snapshot, name)) for name in goal.nodes)
    return len(candidates(goal, extended(goal, snapshot)))


def _scattered(plan: Plan, goal: Goal, rows: Rows) -> Iterator[Broken]:
    """The gang that a plan is there for makes no room for itself."""
    gang = UNKNOWN
    if goal.kind == GANG and (found := waiting_of(rows.snapshot, goal.name)) is not None:
        gang = found.gang
    leaving = set(gang_pods(rows.snapshot, goal.nodes[0]).tolist()) if goal.kind == SPARE and goal.nodes else set()
    own = ({int(rows.snapshot.pod_gang[p]) for p in leaving} | {gang}) - {UNKNOWN}
    for i, pod in enumerate(rows.pod):
        if pod not in leaving and int(rows.snapshot.pod_gang[pod]) in own:
            yield Broken(plan.moves[i].pod, "is a running member of the gang that the plan is for", move=i)


def _seating(plan: Plan, goal: Goal, rows: Rows, ended: Snapshot) -> Iterator[Broken]:
    """Seats hold when all moves are done, and each move makes room for one."""
    bound = seated_already(goal, ended)
    seats = [seat for seat in goal.seats if seat.who not in bound]
    for who, detail in seat_faults(goal, seats, extended(goal, ended)):
        yield Broken(who, f"{who} {detail}")
    helped = {(seat.node, seat.chain) for seat in goal.seats}
    for i, move in enumerate(plan.moves):
        serves = (move.drains, move.chain) in helped and move.depth > 0
        if not serves or (move.depth == 1) != (move.source == move.drains):
            yield Broken(move.pod, f"makes room for no seat (on {move.drains})", move=i)


def _spare(plan: Plan, goal: Goal, rows: Rows, ended: Snapshot) -> Iterator[Broken]:
    """All members of gangs leave the failing node for one other under the same switch; others only make room there."""
    failing = goal.nodes[0] if len(goal.nodes) == 1 else ""
    left = {ended.pod_key(p) for p in gang_pods(ended, failing).tolist()}
    chosen = {seat.node for seat in goal.seats}
    if not plan.moves:
        return
    if left or len(chosen) != 1:
        yield Broken(failing, f"{failing}: {len(left)} members stay, the others go to {len(chosen)} nodes")
        return
    (spare,) = chosen
    for name in (failing, spare):
        n = rows.node.get(name, UNKNOWN)
        placed = (goal.level, goal.name) if goal.name or goal.level == CLUSTER else None
        if n == UNKNOWN or shared_domain(ended, n, goal.level) != placed:
            yield Broken(name, f"{name} is not under {goal.level} {goal.name}")
    members = {seat.who for seat in goal.seats}
    for i, move in enumerate(plan.moves):
        goes = move.depth == 0 and move.source == failing and move.target == spare and move.pod in members
        makes_room = move.depth > 0 and (move.depth == 1) == (move.source == spare) and failing != move.target
        if move.drains != failing or not (goes or makes_room):
            yield Broken(move.pod, f"helps no member of a gang to leave {failing}", move=i)


def _numbers(plan: Plan, goal: Goal, rows: Rows, ended: Snapshot) -> Iterator[Broken]:
    for word, said, is_now in (
        ("reached", goal.reached, reached_on(goal, ended)),
        ("before", goal.before, reached_on(goal, rows.snapshot) if goal.kind in CLEARING else goal.before),
        ("wanted", goal.wanted, _wanted(goal, rows.snapshot)),
        ("seats", len(goal.seats), 0 if goal.kind in CLEARING else goal.reached),
    ):
        if said != is_now:
            yield Broken(word, f"goal: says {said} {goal.unit} {word}, is {is_now}", said, is_now)
    if goal.kind in SEATING:
        waits = candidates(goal, extended(goal, rows.snapshot))
        yield from (Broken(s.who, f"{s.who} waits for no seat here") for s in goal.seats if s.who not in waits)
    if plan.moves and goal.whole and goal.reached < goal.wanted:
        detail = f"all or nothing is asked for, and {goal.reached} of {goal.wanted} {goal.unit} are reached"
        yield Broken("whole", detail, goal.wanted, goal.reached)


def _clearing(plan: Plan, goal: Goal, rows: Rows, ended: Snapshot) -> Iterator[Broken]:
    """Named nodes are left by all of their pods and receive none; every move helps one of them."""
    named, busy = set(goal.nodes), busy_nodes(ended)
    for name in goal.nodes:
        if name not in rows.node:
            yield Broken(name, f"there is no node {name}", name)
    if goal.kind == DOMAIN and set(nodes_of(rows.snapshot, goal.level, goal.name)) != named:
        yield Broken(goal.name, f"{goal.level} {goal.name} has other nodes than the plan says")
    for i, move in enumerate(plan.moves):
        if move.target in named:
            yield Broken(move.pod, f"goes to {move.target}, which is to be cleared", move=i)
        if move.drains not in named or (move.depth == 0) != (move.source == move.drains):
            yield Broken(move.pod, f"helps no named node to be cleared (drains {move.drains})", move=i)
    for name in dict.fromkeys(move.drains for move in plan.moves):
        n = rows.node.get(name, UNKNOWN)
        if n != UNKNOWN and busy[n]:
            left = int(np.count_nonzero(ended.pod_live & ~ended.pod_agent & (ended.pod_node == n)))
            yield Broken(name, f"{name} is to be cleared, and {left} of its pods stay", 0, left)
