"""Nodes that take nobody in a plan, for reasons that are no facts of the cluster: kept for others, or drained next."""

from collections.abc import Callable, Collection

import msgspec
import numpy as np

from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.reasons import APART, TARGET_REASONS
from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.plan.outcome import closed
from scheduler.plan.plan import Blocker, Kept, Plan
from scheduler.plan.statement import settled

CORDONED = "cordoned"


def beside(snapshot: Snapshot, names: Collection[str], ask: Callable[[Snapshot], Plan]) -> Plan:
    """The planner's answer that neither fills nor empties the named nodes; where they are in the way it says so.

    The planner sees them cordoned; its words are put right, so that nobody looks for a cordon that is not there.
    """
    if not names:
        return ask(snapshot)
    answer = settled(ask(closed(snapshot, names)), snapshot)
    shut = np.array([name in names for name in snapshot.node_name], np.bool_) & ~snapshot.node_cordoned
    if not shut.any():
        return answer
    may, pods = eligibility(snapshot), {snapshot.pod_key(p): p for p in range(len(snapshot.pod_name))}
    return msgspec.structs.replace(answer, kept=tuple(_told(row, snapshot, shut, may, pods) for row in answer.kept))


def _told(row: Kept, snapshot: Snapshot, shut: Bools, may: Eligibility, pods: dict[str, int]) -> Kept:
    """``targets`` count for the first blocker that finds no room; of it alone the nodes are known."""
    asked = next((one for one in row.blockers if one.constraint in TARGET_REASONS), None)
    counted = (row.targets or {}).get(CORDONED, 0)
    if asked is None or not counted:
        return row
    others = shut & may.eligible(pods[asked.pod]) & (np.array(snapshot.node_name) != row.node)
    apart = min(counted, int(others.sum()))
    left = {**(row.targets or {}), CORDONED: counted - apart, APART: apart}
    word = APART if apart > counted - apart else CORDONED
    blockers = tuple(_renamed(one, word) for one in row.blockers)
    reason = word if row.reason == CORDONED else row.reason
    targets = {name: number for name, number in left.items() if number}
    return msgspec.structs.replace(row, reason=reason, blockers=blockers, targets=targets)


def _renamed(one: Blocker, word: str) -> Blocker:
    return msgspec.structs.replace(one, constraint=word) if one.constraint == CORDONED else one
