"""What a plan may do to a cluster.  Operations are facts to be executed by a connector; none of them acts."""

from collections.abc import Mapping
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
    """Tell a pod to end: its exit hook runs, and after ``grace_s`` seconds it is killed.

    A ``claimant`` is promised the room: nobody else gets it until ``kept_s`` seconds after the pod has gone.  It is
    namespace/name of a pod or a gang, or ``lease:`` and the uid of a lease; "" is nobody in particular.
    """

    cluster: str
    pod: str
    uid: str
    source: str
    grace_s: int
    claimant: str = ""
    kept_s: int = 0


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


class Sleep(msgspec.Struct, frozen=True, kw_only=True, tag="sleep"):
    """Put a high-priority pod on standby: it keeps its place, and lends its GPUs and CPU until it wakes."""

    cluster: str
    pod: str
    uid: str
    until: str = ""  # RFC 3339, when it is to wake at the latest; "" = not before it is recalled


class Recall(msgspec.Struct, frozen=True, kw_only=True, tag="recall"):
    """Wake a sleeping pod: its borrowers are told to end, are killed after ``grace_s`` seconds, and then it serves."""

    cluster: str
    pod: str
    uid: str
    grace_s: int = 60


class LaunchedPod(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    node: str
    lent_by: str = ""  # namespace/name of the sleeping pod there that lends; "" = from what is free


class Launch(msgspec.Struct, frozen=True, kw_only=True, tag="launch"):
    """Start the low-priority pods of a lease, each on the node that is named: all of them or none.

    ``gpus``, ``cpu_milli`` and ``memory_mib`` are those of each pod.  ``min_members`` > 0: they are one gang.
    """

    cluster: str
    namespace: str
    lease: str  # uid
    tenant: str
    workload: str
    pods: tuple[LaunchedPod, ...]
    gpus: int
    cpu_milli: int
    memory_mib: int
    gpu_milli: int = 1000
    min_members: int = 0
    checkpoint_interval_s: int = 0  # 0: it does not tell
    checkpoint_on_notice: bool = False  # its exit hook writes one
    min_runtime_s: int = 0
    labels: Mapping[str, str] = {}


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


Operation = Migrate | Evict | Bind | Cordon | Sleep | Recall | Launch | Hold
