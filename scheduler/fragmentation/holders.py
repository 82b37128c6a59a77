"""What keeps nodes from being emptied: the first reason on each node, how many nodes and free GPUs, and until when.

Reasons are the words of ``cluster.reasons.IMMOVABLE``, and ``only_node`` for a pod bound to its node by name.  No names
of people or tenants: those stand with the pods themselves.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.mobility import immovable
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.snapshot import ABSENT, Bytes, Longs, Snapshot
from scheduler.fragmentation.capacity import Capacity

WORDS = (*IMMOVABLE, "only_node")
NOT_HELD = len(WORDS)


@dataclass(frozen=True, slots=True)
class Holder:
    """``until_s``: when the last of these locks ends, on the snapshot's clock; None where one has no known end."""

    reason: str
    nodes: int
    free_gpus: int
    until_s: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Holds:
    """Axis n: node."""

    reason: Bytes  # -> WORDS, NOT_HELD where all pods but agents may move
    until_s: Longs  # latest known end of the locks there, ABSENT where one has none


def holds_of(snapshot: Snapshot) -> Holds:
    """The first reason on each node, in the order of ``WORDS``."""
    named = np.array([spec.only_node is not None for spec in snapshot.pod_specs], np.bool_)[snapshot.pod_spec]
    code = immovable(snapshot).astype(np.int8)
    code[(code == 0) & named] = WORDS.index("only_node")
    pods = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_agent & (code > 0))
    reason = np.full(len(snapshot.node_name), NOT_HELD, np.int8)
    np.minimum.at(reason, snapshot.pod_node[pods], code[pods])
    locks = pods[code[pods] == WORDS.index("locked")]
    until = np.full(len(snapshot.node_name), ABSENT, np.int64)
    np.maximum.at(until, snapshot.pod_node[locks], snapshot.pod_locked_until_s[locks])
    until[snapshot.pod_node[locks[snapshot.pod_locked_until_s[locks] == ABSENT]]] = ABSENT
    return Holds(reason, until)


def holders(capacity: Capacity, holds: Holds, members: Longs) -> tuple[Holder, ...]:
    """The reasons that hold nodes with free GPUs among ``members``, most GPUs first."""
    kept = members[(capacity.free[members] > 0) & (holds.reason[members] != NOT_HELD)]
    found = [_holder(capacity, holds, kept[holds.reason[kept] == code], WORDS[code]) for code in range(len(WORDS))]
    return tuple(sorted((one for one in found if one.nodes), key=lambda one: (-one.free_gpus, one.reason)))


def _holder(capacity: Capacity, holds: Holds, nodes: Longs, reason: str) -> Holder:
    ends = holds.until_s[nodes]
    known = reason == "locked" and ends.size > 0 and bool((ends != ABSENT).all())
    return Holder(reason, int(nodes.size), int(capacity.free[nodes].sum()), int(ends.max()) if known else None)
