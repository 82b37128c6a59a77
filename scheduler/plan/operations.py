"""What a plan may do to a cluster.  Operations are facts to be executed by a connector; none of them acts."""

from typing import Literal

import msgspec

Mode = Literal["copy", "restart"]
MOVE_ANYWAY, LEAVE = "move", "leave"  # what becomes of a move whose checkpoint did not come in time


class AfterCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A move that goes right after its pod's next checkpoint; seconds, as expected on the plan's reading."""

    lost_s: int  # since the last checkpoint: lost if it went at once
    lost_after_s: int  # lost if it goes after the next one
    wait_s: int  # until the next one
    limit_s: int  # the longest wait, from when nothing else holds the move up
    otherwise: str  # when that is over: MOVE_ANYWAY, or LEAVE it out with its chain


class Migrate(msgspec.Struct, frozen=True, kw_only=True, tag="migrate"):
    """Run a second copy of ``pod`` on ``target``, then end the one on ``source`` (mode ``restart``: stop it first)."""

    cluster: str
    pod: str  # namespace/name
    uid: str  # "" where the observer reports none; then the name is the identity
    source: str
    target: str
    mode: Mode
    drains: str  # the node that this move helps to empty
    chain: int  # ordinal of that node in the order in which the planner emptied nodes
    depth: int  # 0 leaves the drained node; k makes room for a move of depth k - 1
    after: tuple[int, ...] = ()  # indices in Plan.moves of earlier waves that must have ended
    after_checkpoint: AfterCheckpoint | msgspec.UnsetType = msgspec.UNSET  # not written where the move does not wait

    @property
    def checkpoint(self) -> AfterCheckpoint | None:
        """What it waits for, None where it does not."""
        return None if self.after_checkpoint is msgspec.UNSET else self.after_checkpoint


class Evict(msgspec.Struct, frozen=True, kw_only=True, tag="evict"):
    cluster: str
    pod: str
    uid: str
    source: str
    grace_s: int


class Bind(msgspec.Struct, frozen=True, kw_only=True, tag="bind"):
    cluster: str
    pod: str
    uid: str
    target: str


class Cordon(msgspec.Struct, frozen=True, kw_only=True, tag="cordon"):
    """Take a node out of service for everything new; ``lift``: take it back into service."""

    cluster: str
    node: str
    lift: bool = False


class Recall(msgspec.Struct, frozen=True, kw_only=True, tag="recall"):
    cluster: str
    pod: str
    uid: str


class Hold(msgspec.Struct, frozen=True, kw_only=True, tag="hold"):
    """Ask the cluster's own scheduler to keep ``node`` for some pods alone, for so long.

    Those of the named ``gang``; where none is named, those that ask for at least so many GPUs and so much CPU.
    The last word on a node counts: 0 seconds end a hold.
    """

    cluster: str
    node: str
    least_gpus: int
    seconds: int
    least_cpu_milli: int = 0
    gang: str = ""  # namespace/name of a gang, or of a pod without one


Operation = Migrate | Evict | Bind | Cordon | Recall | Hold
