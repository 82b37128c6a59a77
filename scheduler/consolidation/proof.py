"""Blockers put to the test: without them the planner itself has to empty the node.

What keeps a node in the plan at hand need not keep it in the next one, which starts anew and may send pods of others
there.  So in small clusters each list is planned without: while the node still holds pods, what keeps it there is
added; then whatever is not needed is dropped again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Snapshot
from scheduler.plan.plan import Blocker, Kept, Plan

MOST_NODES = 64
PLANS = 64  # made anew at most
EFFORT = 1.0  # of the exact stage in all of them, in its solver's measure: two or three seconds of one core
FIXED = ("terminating", "locked", "move_never", "lender")  # pods that have to go whatever else happens
BY_CHOICE = ("scope", "max_moves")  # nodes that no pod keeps

Again = Callable[[Snapshot], tuple[Plan, float]]  # the same planner, params and seed; with its effort


@dataclass(slots=True)
class Proof:
    """``left``: how many more plans may be made; ``effort``: how much of the exact stage is left for them."""

    snapshot: Snapshot
    again: Again
    left: int
    effort: float

    def of(self, kept: tuple[Kept, ...]) -> tuple[Kept, ...]:
        """The same nodes in the same order; lists that were not reached stay as they are."""
        longer = [self._enough(row) for row in kept]
        return tuple(self._fewest(row) for row in longer)

    @property
    def _may_ask(self) -> bool:
        return self.left > 0 and self.effort > 0

    def _enough(self, kept: Kept) -> Kept:
        """Add blockers until the node is emptied without them."""
        found = {blocker.pod: blocker for blocker in kept.blockers}
        while found and kept.reason not in BY_CHOICE and self._may_ask:
            more = [b for b in self._still_there(kept.node, set(found)) if b.pod not in found]
            if not more:
                break
            found |= {blocker.pod: blocker for blocker in more}
        return msgspec.structs.replace(kept, blockers=tuple(found.values()))

    def _fewest(self, kept: Kept) -> Kept:
        """Drop each blocker, the last one first, without which the node is emptied all the same."""
        found = {blocker.pod: blocker for blocker in kept.blockers}
        for pod in [b.pod for b in reversed(kept.blockers) if b.constraint not in FIXED]:
            if len(found) > 1 and self._may_ask and not self._still_there(kept.node, set(found) - {pod}):
                del found[pod]
        return msgspec.structs.replace(kept, blockers=tuple(found.values()))

    def _still_there(self, node: str, pods: set[str]) -> list[Blocker]:
        """What keeps the node once these pods are gone; nothing if it is emptied."""
        self.left -= 1
        lighter = without(self.snapshot, pods)
        plan, effort = self.again(lighter)
        self.effort -= effort
        where = _after(lighter, plan)
        row = self.snapshot.node_name.index(node)
        here = np.flatnonzero(lighter.pod_live & ~lighter.pod_agent & (where == row)).tolist()
        if not here:
            return []
        known = {b.pod: b for kept in plan.kept if kept.node == node for b in kept.blockers}
        arrived = [p for p in here if lighter.pod_node[p] != row]
        named = (Blocker(pod=lighter.pod_key(p), constraint="receives") for p in arrived)
        # A node that takes pods in holds its own by choice of the planner: whoever came is in the way of them
        return [*known.values(), *(b for b in named if b.pod not in known)] or list(_own(lighter, here))


def _own(snapshot: Snapshot, pods: list[int]) -> Iterator[Blocker]:
    for p in pods:
        yield Blocker(pod=snapshot.pod_key(p), constraint="stopped")


def prove(snapshot: Snapshot, plan: Plan, again: Again) -> Plan:
    """The plan with its blockers proven, in clusters of at most MOST_NODES nodes, as far as PLANS and EFFORT go."""
    if len(snapshot.node_name) > MOST_NODES or plan.notes:
        return plan
    kept = Proof(snapshot, again, PLANS, EFFORT).of(plan.kept)
    return msgspec.structs.replace(plan, kept=kept)


def without(snapshot: Snapshot, pods: set[str]) -> Snapshot:
    """The snapshot as if these pods did not exist; rows, digest and warnings stay."""
    gone = np.array([snapshot.pod_key(p) in pods for p in range(len(snapshot.pod_name))], np.bool_)
    lender = snapshot.pod_lender
    orphaned = gone | np.append(gone, False)[lender]
    return replace(
        snapshot,
        pod_live=snapshot.pod_live & ~gone,
        pod_node=_unset(snapshot.pod_node, gone),
        pod_gang=_unset(snapshot.pod_gang, gone),
        pod_lender=_unset(lender, orphaned),
        pod_devices={p: listed for p, listed in snapshot.pod_devices.items() if not gone[p]},
    )


def _unset[T: np.ndarray](column: T, gone: Bools) -> T:
    return np.where(gone, UNKNOWN, column).astype(column.dtype)  # type: ignore[return-value]


def _after(snapshot: Snapshot, plan: Plan) -> np.ndarray:
    row = {name: n for n, name in enumerate(snapshot.node_name)}
    target = {move.pod: row[move.target] for move in plan.moves}
    where = snapshot.pod_node.copy()
    for p in range(len(where)) if target else ():
        where[p] = target.get(snapshot.pod_key(p), where[p])
    return where
