"""What every wire to a cluster can do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.operations import Operation

State = Literal["succeeded", "failed", "running"]


class ConnectorError(Exception):
    """The cluster could not be reached or read; the text is fit for the source's line on the page."""


class Requests(NamedTuple):
    """What clients asked of the moved pod's service while it moved: how many were answered, and how many were not."""

    served: int
    failed: int


class Ending(NamedTuple):
    """A pod that was told to end.  ``checkpoint_at``: its exit hook has written one then."""

    pod: str
    uid: str
    lease: str  # uid of its lease, "" where it has none
    gpu_milli: int
    noticed_at: datetime
    hook_ended_at: datetime | None  # None while it runs, and where it was killed
    ended_at: datetime | None
    killed: bool
    checkpoint_at: datetime | None


class Reclaim(NamedTuple):
    """How far a recall or an eviction has come; what lies ahead is None.  ``serving_at``: of the pod that was woken."""

    noticed_at: datetime
    last_gone_at: datetime | None
    killed: int
    serving_at: datetime | None
    endings: tuple[Ending, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an operation stands.  ``running``: ask again with the key; ``detail`` says what is awaited or why not.

    ``requests`` is told with the end of a move, None by a connector that does not count them; ``reclaim`` of a recall
    or an eviction that has begun, also while it runs.
    """

    state: State
    detail: str
    requests: Requests | None = None
    reclaim: Reclaim | None = None


class Aside(NamedTuple):
    """Something that a reading could not hold.  ``done`` is what became of it, ``field`` a path in the object."""

    what: str
    done: str
    kind: str
    namespace: str
    name: str
    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class Told:
    """A reading together with what it could not hold."""

    document: Document
    aside: tuple[Aside, ...]


class Connector(Protocol):
    """One cluster manager, or a file that stands for one.

    ``cluster`` may be left out where the source observes a single cluster; with several it must be named.
    """

    acts: bool  # False: the source can only be looked at
    holds: bool  # True: it can keep work away from a node (``operations.Hold``)
    launches: bool  # True: it can start the pods of a lease (``operations.Launch``), and end them
    recalls: bool  # True: it can put pods to sleep and wake them (``operations.Sleep``, ``Recall``)

    def version(self) -> str:
        """A token that differs whenever ``observe`` would tell something new; cheap to ask."""
        ...

    def observe(self) -> Document | Snapshot | Told:
        """The whole state now.  Raises ``ConnectorError`` or ``InputError``."""
        ...

    def read_pod(self, key: str, cluster: str | None = None) -> PodRecord | None:
        """The pod ``namespace/name`` as it is now, None where there is none."""
        ...

    def read_node(self, name: str, cluster: str | None = None) -> NodeRecord | None:
        """The node as it is now, None where there is none."""
        ...

    def execute(self, operation: Operation, key: str, *, released: bool = False) -> Outcome:
        """Does ``operation`` at most once per ``key``; the same key again goes on with it or repeats its outcome.

        ``released``: the owner of the pod lets it be moved now, although it is locked.
        """
        ...


class Layer(Protocol):
    """Something that others measured, laid over a document.  Both answer at once, whatever the others do."""

    def version(self, beneath: str) -> str:
        """Settles what ``laid_over`` will do, and differs whenever that is something else.

        ``beneath`` is the version of the document that it will be laid over.
        """
        ...

    def laid_over(self, document: Document) -> Document: ...


def the_cluster(asked: str | None, known: tuple[str, ...]) -> str:
    """The cluster meant by ``asked``; raises ``ConnectorError`` where that is not clear."""
    if asked is not None:
        return asked
    if len(known) != 1:
        raise ConnectorError(f"name one of the clusters {', '.join(known)}" if known else "the source has no cluster")
    return known[0]
