"""What a goal promises, worked out anew from the cluster as the plan leaves it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Snapshot
from scheduler.plan.goal import CLEARING, DOMAIN, Goal
from scheduler.plan.outcome import moved
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import Rows, resolve

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
    if goal.kind in CLEARING:
        yield from _clearing(plan, goal, rows, ended)


def reached_on(goal: Goal, snapshot: Snapshot) -> int:
    """How much of the goal holds on this snapshot as it stands."""
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
    return goal.reached if not plan.moves or chains else goal.before


def recounted(goal: Goal, plan: Plan, snapshot: Snapshot, chains: Collection[int]) -> Goal:
    """The goal of a plan that keeps only ``chains`` of a longer one, counted on ``snapshot``."""
    rows = resolve(plan, snapshot)
    targets = {p: t for p, t in zip(rows.pod, rows.target, strict=True) if p >= 0 and t >= 0}
    ended = moved(rows.snapshot, targets)
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


def _numbers(plan: Plan, goal: Goal, rows: Rows, ended: Snapshot) -> Iterator[Broken]:
    for word, said, is_now in (
        ("reached", goal.reached, reached_on(goal, ended)),
        ("before", goal.before, reached_on(goal, rows.snapshot)),
        ("wanted", goal.wanted, len(goal.nodes)),
    ):
        if said != is_now:
            yield Broken(word, f"goal: says {said} {goal.unit} {word}, is {is_now}", said, is_now)
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
