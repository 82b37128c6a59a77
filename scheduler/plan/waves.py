"""Put moves that are legal one after the other into as few waves as the order on each node allows."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import msgspec

from scheduler.cluster import budgets
from scheduler.cluster.mobility import gang_spare
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.plan.operations import Migrate
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import Rows
from scheduler.plan.standing import Standing, standing


@dataclass(slots=True)
class _Wave:
    """What one wave has taken so far."""

    arrivals: dict[int, list[int]] = field(default_factory=dict)  # target -> pods
    leaving: set[int] = field(default_factory=set)
    away: Counter[int] = field(default_factory=Counter)  # budget -> moves
    stopped: Counter[int] = field(default_factory=Counter)  # gang -> members stopped first
    waiting: set[int] = field(default_factory=set)  # nodes of moves that must wait: their order must not change


@dataclass(frozen=True, slots=True)
class _Limits:
    """Axes: b budget, g gang."""

    budgets_of: dict[int, list[int]]  # pod -> b
    left: tuple[int, ...]
    spare: tuple[int, ...]


def assign(plan: Plan, rows: Rows) -> tuple[tuple[Migrate, ...], tuple[int, ...]]:
    """The moves sorted by wave with ``after`` set anew, and the wave of each.

    ``plan.moves`` stand in an order in which they are legal one by one.  A move that names nothing known stays last
    in its own wave, so that the judge can say what is wrong with it.
    """
    where, limits = standing(rows.snapshot), _limits(rows)
    waiting = list(range(len(plan.moves)))
    wave_of: dict[int, int] = {}
    number = 0
    while waiting:
        taken = _fill(plan, rows, where, limits, waiting) or waiting[:1]
        known = [i for i in taken if UNKNOWN not in (rows.pod[i], rows.source[i], rows.target[i])]
        where.end([(rows.pod[i], rows.source[i], rows.target[i]) for i in known])
        wave_of |= dict.fromkeys(taken, number)
        chosen = set(taken)
        waiting = [i for i in waiting if i not in chosen]
        number += 1
    return in_waves(plan, wave_of)


def _limits(rows: Rows) -> _Limits:
    pods = budgets.covered(rows.snapshot)
    budgets_of: dict[int, list[int]] = {}
    for b, found in enumerate(pods):
        for pod in set(found.tolist()) & set(rows.pod):
            budgets_of.setdefault(pod, []).append(b)
    left = tuple(budgets.left(rows.snapshot, pods).tolist())
    return _Limits(budgets_of, left, tuple(gang_spare(rows.snapshot).tolist()))


def _fill(plan: Plan, rows: Rows, where: Standing, limits: _Limits, waiting: list[int]) -> list[int]:
    wave = _Wave()
    taken = []
    for i in waiting:
        pod, source, target = rows.pod[i], rows.source[i], rows.target[i]
        free = UNKNOWN not in (pod, source, target) and not wave.waiting & {source, target}
        if free and _takes(rows.snapshot, where, limits, wave, pod, target, plan.moves[i].mode == "restart"):
            _take(rows.snapshot, limits, wave, pod, target, plan.moves[i].mode == "restart")
            taken.append(i)
        else:
            wave.waiting |= {source, target} - {UNKNOWN}
    return taken


def _takes(
    snapshot: Snapshot, where: Standing, limits: _Limits, wave: _Wave, pod: int, target: int, stops: bool
) -> bool:
    gang = int(snapshot.pod_gang[pod])
    if any(wave.away[b] >= limits.left[b] for b in limits.budgets_of.get(pod, ())):
        return False
    if stops and gang != UNKNOWN and wave.stopped[gang] >= limits.spare[gang]:
        return False
    leaving = wave.leaving | {pod}
    checks = {target: [*wave.arrivals.get(target, ()), pod]}
    source = int(snapshot.pod_node[pod])
    if source in wave.arrivals:
        checks[source] = wave.arrivals[source]  # who leaves may be the company that an arrival there came for
    return all(
        next(faults(snapshot, node, list(where.on(node)), pods, leaving), None) is None for node, pods in checks.items()
    )


def _take(snapshot: Snapshot, limits: _Limits, wave: _Wave, pod: int, target: int, stops: bool) -> None:
    wave.arrivals.setdefault(target, []).append(pod)
    wave.leaving.add(pod)
    wave.away.update(limits.budgets_of.get(pod, ()))
    if stops:
        wave.stopped[int(snapshot.pod_gang[pod])] += 1


def in_waves(plan: Plan, wave_of: dict[int, int]) -> tuple[tuple[Migrate, ...], tuple[int, ...]]:
    """The moves sorted by the wave given for each, with ``after`` set anew, and the wave of each."""
    order = sorted(wave_of, key=lambda i: (wave_of[i], i))
    touching: dict[str, list[int]] = defaultdict(list)  # node -> new indices of moves that leave it or arrive
    moves: list[Migrate] = []
    for new, old in enumerate(order):
        move = plan.moves[old]
        # These made room on the target, or brought the company that the move needs there.
        after = tuple(i for i in touching[move.target] if wave_of[order[i]] < wave_of[old])
        moves.append(msgspec.structs.replace(move, after=after))
        for node in (move.source, move.target):
            touching[node].append(new)
    return tuple(moves), tuple(wave_of[i] for i in order)
