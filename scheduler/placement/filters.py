"""Why a node has no room for pods of one kind, and which rule costs most room; the counting itself is in ``room``."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.reasons import TARGET_REASONS
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import UNKNOWN, Bools, Bytes, Ints, Longs, Snapshot
from scheduler.placement.ground import Ground
from scheduler.placement.parts import Part
from scheduler.placement.room import Limit, Room


class OutOfBudget(Exception):
    """More nodes would have to be judged than the policy allows: nothing is known of the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class Few:
    """``room.Rules`` of a few pods: for each the position of the rule that keeps it out, UNKNOWN where none does."""

    codes: dict[int, Bytes]  # pod -> [n]

    def eligible(self, pod: int, /) -> Bools:
        return np.asarray(self.codes[pod] == UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """Axis n: nodes."""

    slots: Longs  # pods of the kind that find room there
    reason: Bytes  # position in ``reasons.TARGET_REASONS`` of why there is none, UNKNOWN where there is some

    @property
    def reasons(self) -> dict[str, int]:
        """Word -> nodes, the most frequent first."""
        found = Counter(self.reason[self.reason != UNKNOWN].tolist())
        return {TARGET_REASONS[code]: count for code, count in sorted(found.items(), key=lambda one: (-one[1], one[0]))}


def offer(room: Room, part: Part, rules: Few) -> Offer:
    """What the nodes hold of pods like those of the part, and the first rule that keeps each node from it."""
    slots, reason = room.slots(part), rules.codes[part.pods[0]].copy()
    for word, most in room.limits(part, np.arange(len(slots))):
        reason[(reason == UNKNOWN) & (most <= 0)] = TARGET_REASONS.index(word)
    reason[slots > 0] = UNKNOWN
    return Offer(slots, reason)


def obstacle(room: Room, part: Part, wanted: int, nodes: Bools) -> str:
    """The one rule without which most more of ``wanted`` pods would find room on ``nodes``; "": no single one does."""
    rows = np.flatnonzero(nodes & room.rules.eligible(part.pods[0]) & room.snapshot.node_usable)
    rules = _by_word([*room.amounts(part, rows), *room.company.limits(part.pods[0], rows)])
    if not rules or not len(rows):
        return ""
    least = second = np.full(len(rows), wanted, np.int64)
    which = np.full(len(rows), UNKNOWN, np.int64)
    for i, most in enumerate(rules.values()):
        lower = most < least
        second = np.where(lower, least, np.minimum(second, most))
        least, which = np.where(lower, most, least), np.where(lower, i, which)
    gains = np.bincount(which + 1, weights=second - least, minlength=len(rules) + 1)[1:]
    return list(rules)[int(gains.argmax())] if gains.max() > 0 else ""


def _by_word(limits: Sequence[Limit]) -> dict[str, Longs]:
    found: dict[str, Longs] = {}
    for word, most in limits:
        found[word] = np.minimum(found[word], most) if word in found else most
    return found


@dataclass(slots=True)
class Judge:
    """Asks the law whether pods may stand together on a node, within a budget."""

    ground: Ground
    world: Snapshot
    budget: int
    asked: int = field(default=0)

    def allows(self, node: int, arrivals: Sequence[int]) -> bool:
        """Raises ``OutOfBudget`` when the budget is spent."""
        if self.asked >= self.budget:
            raise OutOfBudget
        self.asked += 1
        return next(faults(self.world, node, self.ground.residents(node), arrivals), None) is None

    def most(self, node: int, there: Sequence[int], rows: Ints, upto: int) -> int:
        """How many of ``rows`` may join ``there``, at most ``upto``; the fewer, the easier."""
        low, high = 0, min(upto, len(rows))
        if high and self.allows(node, [*there, *rows[:high].tolist()]):
            return high
        high -= 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.allows(node, [*there, *rows[:middle].tolist()]):
                low = middle
            else:
                high = middle - 1
        return max(low, 0)
