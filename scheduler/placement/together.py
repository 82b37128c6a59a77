"""Pods of several shapes on the nodes of one home, exactly: every way is looked at, within a budget.

For each node the combinations that it holds and to which nothing can be added; then node by node what may be left to
seat, of which only what no other leaves less of is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import Longs
from scheduler.placement.parts import Part
from scheduler.placement.room import Room

STEPS = 20_000  # questions to the law count as 20, combinations as one

Amounts = tuple[int, ...]  # [part] pods
Chosen = tuple[tuple[int, Amounts], ...]  # node, pods of each part there


@dataclass(slots=True)
class Budget:
    steps: int
    ran_out: bool = False

    def spend(self, steps: int) -> bool:
        """False where that is more than is left."""
        self.steps -= steps
        self.ran_out = self.ran_out or self.steps < 0
        return not self.ran_out


def together(room: Room, parts: Sequence[Part], slots: Sequence[Longs], budget: Budget) -> Chosen | None:
    """``slots`` [part][n]: pods of each part alone.  None: there is no way, or the budget ran out."""
    wanted = tuple(len(part.pods) for part in parts)
    nodes = np.flatnonzero(np.logical_or.reduce([count > 0 for count in slots])).tolist()
    ways: dict[Amounts, Chosen] = {wanted: ()}
    seen: dict[tuple[object, ...], list[Amounts]] = {}
    for node in nodes:
        alone = tuple(min(int(count[node]), want) for count, want in zip(slots, wanted, strict=True))
        kind = _kind(room, parts, node, alone)
        if kind not in seen:
            seen[kind] = list(_most(room, parts, node, alone, budget))
        if not budget.spend(len(ways) * len(seen[kind])):
            return None
        for left, chosen in list(ways.items()):
            for amounts in seen[kind]:
                rest = tuple(max(0, a - b) for a, b in zip(left, amounts, strict=True))
                if rest not in ways:
                    ways[rest] = (*chosen, (node, tuple(a - b for a, b in zip(left, rest, strict=True))))
        if not any(ways_left := min(ways, key=sum)):
            return ways[ways_left]
        ways = {left: ways[left] for left in _fewest(list(ways))}
    return None


def _kind(room: Room, parts: Sequence[Part], node: int, alone: Amounts) -> tuple[object, ...]:
    """Nodes of one kind hold the same combinations; a node that is laid out is a kind of its own."""
    if room.state.odd[node] or node in room.mixed or any(_minds(room, part) for part in parts):
        return (node,)
    left = (room.free, room.cpu, room.memory, room.places)
    return (*(int(column[node]) for column in left), *alone)


def _minds(room: Room, part: Part) -> bool:
    spec = part.spec(room.snapshot)
    company = spec.host_ports or spec.affinity or spec.anti_affinity or spec.labels
    return bool(company or spec.mig or spec.resources or part.device_memory)


def _most(room: Room, parts: Sequence[Part], node: int, alone: Amounts, budget: Budget) -> Iterator[Amounts]:
    """The combinations that the node holds and to which nothing can be added."""
    if sum(count > 0 for count in alone) < 2:
        yield alone
        return
    found = [one for one in _held(room, parts, node, alone, (), budget) if any(one)]
    yield from (one for one in found if not any(_within(one, other) for other in found if other != one))


def _held(
    room: Room, parts: Sequence[Part], node: int, alone: Amounts, before: Amounts, budget: Budget
) -> Iterator[Amounts]:
    i = len(before)
    for count in range(alone[i], -1, -1):
        if not budget.spend(20):
            return
        here = (*before, count)
        if next(faults(room.snapshot, node, room.standing(node), _pods(parts, here)), None) is not None:
            continue
        if i == len(alone) - 1:
            yield here
            return  # fewer of the last part is never more
        yield from _held(room, parts, node, alone, here, budget)


def _pods(parts: Sequence[Part], amounts: Amounts) -> list[int]:
    return [p for part, count in zip(parts, amounts, strict=False) for p in part.pods[:count]]


def _within(one: Amounts, other: Amounts) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _fewest(left: list[Amounts]) -> Iterator[Amounts]:
    """Those of which no other leaves as little of everything."""
    kept: list[Amounts] = []
    for one in sorted(left, key=sum):
        if not any(_within(other, one) for other in kept):
            kept.append(one)
            yield one
