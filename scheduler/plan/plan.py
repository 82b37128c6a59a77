"""A plan: waves of operations on one snapshot, as frozen facts with a digest that an approver signs."""

import hashlib

import msgspec

from scheduler.plan.goal import Goal
from scheduler.plan.operations import Migrate

CONSOLIDATION = "consolidation"
ROLLBACK = "rollback"  # takes the moves of another plan back; ``params["undoes"]`` is that plan's digest


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes by state, said only of ready, uncordoned nodes with allocatable GPUs."""

    slack_nodes: int
    empty_nodes: int
    full_nodes: int


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that keeps a node from being emptied; ``missing`` in the constraint's own unit, None where it has none."""

    pod: str
    constraint: str
    missing: int | None = None
    unit: str | None = None  # "gpus", "gpu_milli", "cpu_milli", "memory_mib", "pods"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A node that stays: its first reason, all its blockers, and why other nodes could not take them."""

    node: str
    reason: str
    blockers: tuple[Blocker, ...]
    targets: dict[str, int] | None  # reason -> number of nodes that were no target for it; None: nobody counted


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """Upper bound on net emptied nodes, or on what a goal counts.  gap = (net_upper - net) / net_upper, or 0."""

    net_upper: int
    gap: float
    proven: bool


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Waves run one after the other; the moves of one wave run together; ``moves`` are sorted by wave.

    ``Migrate.chain`` numbers the drained nodes in the order in which the planner emptied them.  Keeping only the moves
    of the first k chains is legal again once waves are assigned anew; that is how an operator cuts a plan shorter.
    """

    kind: str  # CONSOLIDATION or ROLLBACK
    cluster: str
    snapshot_digest: str
    planner: str  # name and version of the planner that made it
    params: dict[str, int | float | str | None]
    seed: int
    moves: tuple[Migrate, ...]
    wave_of: tuple[int, ...]  # wave of each move, ascending from 0
    emptied_nodes: tuple[str, ...]
    before: Counts
    after: Counts
    kept: tuple[Kept, ...]
    bound: Bound  # of what the goal counts
    goal: Goal | msgspec.UnsetType = msgspec.UNSET  # not written, and so not signed, where whole nodes are the goal
    notes: tuple[str, ...] = ()  # e.g. "cut: stopped by the wall clock"; part of what is signed

    @property
    def net_emptied(self) -> int:
        return self.after.empty_nodes - self.before.empty_nodes

    @property
    def aim(self) -> Goal | None:
        """What was asked for, None where it was as many whole nodes as possible."""
        return None if self.goal is msgspec.UNSET else self.goal

    @property
    def gain(self) -> int:
        """What the bound bounds: what is reached of the goal, or net emptied nodes."""
        return self.net_emptied if self.aim is None else self.aim.reached

    def to_json(self) -> bytes:
        """Canonical JSON: keys sorted, no white space; equal plans give equal bytes."""
        return msgspec.json.encode(self, order="deterministic")

    def digest(self) -> str:
        """sha256 hex of the canonical JSON."""
        return hashlib.sha256(self.to_json()).hexdigest()


def from_json(document: bytes) -> Plan:
    """The inverse of ``Plan.to_json``; raises ``msgspec.ValidationError`` on anything else."""
    return msgspec.json.decode(document, type=Plan)
