"""The one judge of plans: for planner, page, executor and tests.

Waves run one after the other, the moves of a wave together.  In a wave every new copy stands on its target while every
old copy still stands on its source; every node that receives must hold both.  Then the old copies end.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

import msgspec

from scheduler.cluster import budgets
from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.mobility import bound_domains, gang_spare, immovable
from scheduler.cluster.occupancy import EMPTY, Occupancy, occupancy
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.room import Block, at_home
from scheduler.cluster.snapshot import MOVE_MODES, MOVE_NEVER, UNKNOWN, Snapshot
from scheduler.plan import checkpoints, promise
from scheduler.plan.operations import Migrate
from scheduler.plan.outcome import counts, emptied, moved
from scheduler.plan.plan import ROLLBACK, Plan
from scheduler.plan.resolve import Rows, resolve
from scheduler.plan.standing import standing

Value = str | int | None


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan gets wrong; ``move`` is its index, None where the whole plan or a whole wave is meant."""

    move: int | None
    kind: str
    cluster: str
    object: str
    field: str = ""
    was: Value = None
    now: Value = None
    detail: str = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    ok: bool
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A plan whose names and shape are good, and what the snapshot says about it."""

    plan: Plan
    rows: Rows
    before: Occupancy
    after: Occupancy
    emptied: frozenset[int]

    @property
    def snapshot(self) -> Snapshot:
        return self.rows.snapshot


def verify(plan: Plan, snapshot: Snapshot, undone: Plan | None = None) -> Verdict:
    """Judge the whole plan on one snapshot; raises ``InputError`` if the snapshot has not the plan's cluster.

    A rollback is no less legal than any other plan, but promises something else: no gain, only that pods return.
    Each of its moves is held against ``undone``, the plan that it takes back, where that is given.
    """
    rows = resolve(plan, snapshot)
    found = [*_shape(plan), *_names(plan, rows), *_returns(plan, undone)]
    if not found:
        case = _case(plan, rows)
        found = [*_pods(case), *_checkpoints(case, True), *_targets(case), *_waves(case), *_outcome(case)]
    return Verdict(ok=not found, violations=tuple(found))


def still_legal(plan: Plan, rows: Rows) -> tuple[Violation, ...]:
    """What of a plan no longer holds on another snapshot; its promised counts, which others change too, aside.

    A node that is emptied without having been promised is no fault here; a promised one that is not emptied is.
    """
    found = [*_shape(plan), *_names(plan, rows)]
    if not found:
        case = _case(plan, rows)
        missed = (v for v in _promised(case) if v.was and plan.kind != ROLLBACK and plan.aim is None)
        found = [*_pods(case), *_checkpoints(case, False), *_targets(case), *_waves(case), *missed, *_goal_left(case)]
    return tuple(found)


def _case(plan: Plan, rows: Rows) -> _Case:
    before = occupancy(rows.snapshot)
    after = occupancy(moved(rows.snapshot, dict(zip(rows.pod, rows.target, strict=True))))
    return _Case(plan, rows, before, after, frozenset(emptied(before, after).nonzero()[0].tolist()))


def _blame(plan: Plan, move: int, kind: str, detail: str, **more: Value) -> Violation:
    pod = plan.moves[move].pod
    return Violation(
        move=move,
        kind=kind,
        cluster=plan.cluster,
        object=pod,
        detail=f"{pod}: {detail}",
        **more,  # type: ignore[arg-type]
    )


def _shape(plan: Plan) -> Iterator[Violation]:
    """Waves ascend from 0 without a gap, dependencies point back, no pod moves twice."""
    waves = plan.wave_of
    steps = {b - a for a, b in pairwise(waves)}
    if len(waves) != len(plan.moves) or (waves and waves[0] != 0) or not steps <= {0, 1}:
        detail = "waves are not given for each move, ascending from 0"
        yield Violation(move=None, kind="waves", cluster=plan.cluster, object="plan", detail=detail)
        return
    for i, move in enumerate(plan.moves):
        if any(not 0 <= a < i or waves[a] >= waves[i] for a in move.after):
            yield _blame(plan, i, "after", "waits for a move that is not in an earlier wave")
        if move.cluster != plan.cluster:
            yield _blame(plan, i, "cluster", f"moves in cluster {move.cluster}, the plan is for {plan.cluster}")
    times = Counter(move.pod for move in plan.moves)
    for i, move in enumerate(plan.moves):
        if times[move.pod] > 1:
            yield _blame(plan, i, "moves_twice", "moves more than once")


def _names(plan: Plan, rows: Rows) -> Iterator[Violation]:
    """Everything named exists, the pod is the same one, and it stands where the plan says."""
    snapshot = rows.snapshot
    for i, move in enumerate(plan.moves):
        pod = rows.pod[i]
        if rows.target[i] == UNKNOWN:
            yield _blame(plan, i, "target", f"there is no node {move.target}", now=move.target)
        if pod == UNKNOWN:
            yield _blame(plan, i, "pod", "there is no such pod")
            continue
        where = int(snapshot.pod_node[pod])
        here = snapshot.node_name[where] if snapshot.pod_live[pod] else None
        if here != move.source:
            detail = f"is on {here or 'no node'}, not on {move.source}"
            yield _blame(plan, i, "source", detail, field="node", was=move.source, now=here)
        elif rows.target[i] == where:
            yield _blame(plan, i, "target", "source and target are the same node")
        if move.uid != snapshot.pod_uid[pod]:
            detail = "is another pod of the same name"
            yield _blame(plan, i, "uid", detail, field="uid", was=move.uid, now=snapshot.pod_uid[pod])


def _pods(case: _Case) -> Iterator[Violation]:
    """Who may not move at all, and whether the plan says how it moves."""
    codes = immovable(case.snapshot)
    for i, (move, pod) in enumerate(zip(case.plan.moves, case.rows.pod, strict=True)):
        reason = IMMOVABLE[codes[pod]]
        mode = int(case.snapshot.pod_move[pod])
        if reason:
            yield _blame(case.plan, i, reason, f"may not move: {reason}")
        if mode != MOVE_NEVER and move.mode != MOVE_MODES[mode]:
            detail = f"moves by {move.mode}, its mode is {MOVE_MODES[mode]}"
            yield _blame(case.plan, i, "mode", detail, field="move", was=move.mode, now=MOVE_MODES[mode])


def _checkpoints(case: _Case, exact: bool) -> Iterator[Violation]:
    for i, detail in checkpoints.faults(case.plan, case.rows, exact):
        yield _blame(case.plan, i, "checkpoint", detail)


def _targets(case: _Case) -> Iterator[Violation]:
    """Rules of one pod and one node, whoever else is there."""
    if not case.plan.moves:
        return
    rules = eligibility(case.snapshot)
    homes = bound_domains(case.snapshot)
    for i, (pod, target) in enumerate(zip(case.rows.pod, case.rows.target, strict=True)):
        for kind in _target_faults(case, rules, pod, target):
            yield _blame(case.plan, i, kind, f"cannot go to {case.plan.moves[i].target}: {kind}")
        if pod in homes and not at_home(case.snapshot, target, homes[pod]):
            yield _blame(case.plan, i, "topology", f"{case.plan.moves[i].target} is outside its required domain")


def _target_faults(case: _Case, rules: Eligibility, pod: int, target: int) -> Iterator[str]:
    if case.snapshot.node_cordoned[target]:
        yield "cordoned"
    if not case.snapshot.node_ready[target]:
        yield "not_ready"
    if target in case.emptied:
        yield "emptied_target"
    reason = rules.reason(pod, target)
    if reason:
        yield reason


def _waves(case: _Case) -> Iterator[Violation]:
    plan, rows = case.plan, case.rows
    where = standing(case.snapshot)
    pods = budgets.covered(case.snapshot)
    room = _Room(
        pods_of_budget=tuple(frozenset(found.tolist()) for found in pods),
        left=tuple(budgets.left(case.snapshot, pods).tolist()),
        spare=tuple(gang_spare(case.snapshot).tolist()),
    )
    for wave, group in groupby(range(len(plan.moves)), key=plan.wave_of.__getitem__):
        moves = list(group)
        by_pod = {rows.pod[i]: i for i in moves}
        for target, block in where.wave([(rows.pod[i], rows.target[i]) for i in moves]):
            yield from _block(case, wave, target, block, by_pod)
        yield from _disruption(case, wave, moves, room)
        where.end([(rows.pod[i], rows.source[i], rows.target[i]) for i in moves])


@dataclass(frozen=True, slots=True)
class _Room:
    """What one wave may take: b budget, g gang."""

    pods_of_budget: tuple[frozenset[int], ...]  # [b]
    left: tuple[int, ...]  # [b]
    spare: tuple[int, ...]  # [g]


def _block(case: _Case, wave: int, target: int, block: Block, by_pod: dict[int, int]) -> Iterator[Violation]:
    name = case.snapshot.node_name[target]
    amount = "" if block.missing is None else f", {block.missing} {block.unit} too much"
    for pod in block.pods:
        yield _blame(case.plan, by_pod[pod], block.reason, f"{block.reason} on {name} in wave {wave}")
    if not block.pods:
        yield Violation(
            move=next(i for i in by_pod.values() if case.rows.target[i] == target),
            kind=block.reason,
            cluster=case.plan.cluster,
            object=name,
            field=block.unit or "",
            now=block.missing,
            detail=f"{name}: {block.reason} in wave {wave} with both copies counted{amount}",
        )


def _disruption(case: _Case, wave: int, moves: list[int], room: _Room) -> Iterator[Violation]:
    """Budgets, and gangs whose members are stopped first."""
    pods = {case.rows.pod[i] for i in moves}
    for b, budget in enumerate(case.snapshot.pdbs):
        taken = len(pods & room.pods_of_budget[b])
        if taken > max(0, room.left[b]):
            name = f"{budget.namespace} {budget.selector}"
            detail = f"{name}: {taken} moves in wave {wave}, {max(0, room.left[b])} allowed"
            yield _of_plan(case.plan, "budget", name, detail, was=room.left[b], now=taken)
    stops = [case.rows.pod[i] for i in moves if case.plan.moves[i].mode == "restart"]
    stopped = Counter(int(case.snapshot.pod_gang[p]) for p in stops)
    for gang, times in stopped.items():
        if gang != UNKNOWN and times > room.spare[gang]:
            name = case.snapshot.gangs[gang].name
            detail = f"{name}: {times} members stopped in wave {wave}, {max(0, room.spare[gang])} can be spared"
            yield _of_plan(case.plan, "gang", name, detail, was=room.spare[gang], now=times)


def _of_plan(plan: Plan, kind: str, name: str, detail: str, was: Value = None, now: Value = None) -> Violation:
    return Violation(move=None, kind=kind, cluster=plan.cluster, object=name, was=was, now=now, detail=detail)


def _outcome(case: _Case) -> Iterator[Violation]:
    """What the plan promises against what it does."""
    plan = case.plan
    yield from _promised(case)
    for field, said, is_now in (
        ("before", plan.before, counts(case.before)),
        ("after", plan.after, counts(case.after)),
    ):
        if said != is_now:
            yield _of_plan(plan, "counts", field, f"{field}: says {said}, is {is_now}")
    if plan.kind == ROLLBACK:
        return
    if plan.aim is not None:
        ended = moved(case.snapshot, dict(zip(case.rows.pod, case.rows.target, strict=True)))
        yield from (_unkept(plan, one) for one in promise.broken(plan, plan.aim, case.rows, ended))
        return
    gain = counts(case.after).empty_nodes - counts(case.before).empty_nodes
    if plan.moves and gain <= 0:
        yield _of_plan(plan, "no_gain", "plan", "moves pods and gains no empty node", now=gain)
    real = {case.snapshot.node_name[n] for n in case.emptied}
    yield from _purpose(case, real)
    yield from _opened(case, real)


def _goal_left(case: _Case) -> Iterator[Violation]:
    if case.plan.aim is not None:
        ended = moved(case.snapshot, dict(zip(case.rows.pod, case.rows.target, strict=True)))
        found = promise.left_broken(case.plan, case.plan.aim, case.rows, ended)
        yield from (_unkept(case.plan, one) for one in found)


def _unkept(plan: Plan, fault: promise.Broken) -> Violation:
    if fault.move is not None:
        return _blame(plan, fault.move, "goal", fault.detail)
    return _of_plan(plan, "goal", fault.object, fault.detail, was=fault.was, now=fault.now)


def _returns(plan: Plan, undone: Plan | None) -> Iterator[Violation]:
    """A rollback moves pods back along the very moves of the plan that it undoes, and no others."""
    if plan.kind != ROLLBACK or undone is None:
        return
    if plan.params.get("undoes") != undone.digest():
        detail = "undoes another plan than the one given"
        yield _of_plan(plan, "undoes", "plan", detail, was=undone.digest(), now=str(plan.params.get("undoes")))
    there = {(move.pod, move.target, move.source) for move in undone.moves}
    for i, move in enumerate(plan.moves):
        if (move.pod, move.source, move.target) not in there:
            yield _blame(plan, i, "undoes", "is no move of the plan that is undone, turned round")


def _promised(case: _Case) -> Iterator[Violation]:
    """Emptied and not said, or said and not emptied."""
    real = {case.snapshot.node_name[n] for n in case.emptied}
    said = set(case.plan.emptied_nodes)
    for name in sorted(real ^ said):
        detail = f"{name}: {'is emptied and not said' if name in real else 'is said to be emptied and is not'}"
        yield _of_plan(case.plan, "emptied_nodes", name, detail, was=int(name in said), now=int(name in real))


def _purpose(case: _Case, real: set[str]) -> Iterator[Violation]:
    """Every move belongs to a chain that empties a node."""
    for i, move in enumerate(case.plan.moves):
        if move.drains not in real or (move.depth == 0) != (move.source == move.drains):
            yield _blame(case.plan, i, "chain", f"helps no node to become empty (drains {move.drains})")


def _opened(case: _Case, real: set[str]) -> Iterator[Violation]:
    """Empty nodes that receive: the nodes drained by way of them must be more than they are."""
    empty = {i for i, target in enumerate(case.rows.target) if case.before.state[target] == EMPTY}
    for opened, drained, first in _linked(case.plan.moves[i] for i in sorted(empty)):
        if len(drained & real) <= len(opened):
            names = ", ".join(sorted(opened))
            yield _of_plan(case.plan, "opens_empty", first, f"{names}: was empty, and using it does not raise the net")


def _linked(moves: Iterable[Migrate]) -> list[tuple[set[str], set[str], str]]:
    """Empty targets and the drained nodes that use them, joined where they share a drained node."""
    groups: list[tuple[set[str], set[str], str]] = []
    for move in moves:
        opened, drained, first = {move.target}, {move.drains}, move.target
        apart = []
        for group in groups:
            if group[0] & opened or group[1] & drained:
                opened, drained = opened | group[0], drained | group[1]
            else:
                apart.append(group)
        groups = [*apart, (opened, drained, first)]
    return groups
