"""What a plan is for, and how much of it the plan reaches.  Plans that empty as many nodes as they can have no goal."""

import msgspec

NODES = "nodes"  # as many whole nodes as possible
DRAIN = "drain"  # all pods off the named nodes
DOMAIN = "domain"  # all pods off the nodes of one network domain
SHAPE = "shape"  # room for a number of slots of GPUs and CPU together
GANG = "gang"  # room for a pending gang or pod
SPARE = "spare"  # a gang's members go from a failing node to another one under the same switch
KINDS = (NODES, DRAIN, DOMAIN, SHAPE, GANG, SPARE)
HOST = "host"  # a level that every cluster has: one node
CLUSTER = "cluster"  # a level for spares: any node of the cluster
CLEARING = (DRAIN, DOMAIN)  # goals that are reached node by node
SEATING = (SHAPE, GANG)  # goals that are reached seat by seat, for pods that stand nowhere yet


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod or slot finds room once the plan has run; nobody is bound by the plan itself."""

    who: str  # namespace/name, or "slot 1"
    node: str
    chain: int | None = None  # the last chain whose moves it needs; None: it has room without any


class Unseated(msgspec.Struct, frozen=True, kw_only=True):
    """Pods or slots of one kind without a seat, and why nodes are none for them."""

    who: str  # the first of them
    count: int
    reason: str  # of the most promising node, else of the most nodes
    missing: int | None  # there, in ``unit``
    unit: str | None
    node: str | None  # the most promising node
    blockers: tuple[str, ...]  # pods there that may not move and hold what is missing
    targets: dict[str, int]  # reason -> number of nodes


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """``wanted``, ``reached`` and ``before`` count ``unit``; ``before`` is what holds without any move."""

    kind: str
    name: str = ""  # of the domain, shape, gang or pod
    level: str = ""  # of the domain; for a spare: of the domain that the two nodes share, CLUSTER: none is asked for
    nodes: tuple[str, ...] = ()  # that are to be cleared
    models: tuple[str, ...] = ()  # GPU models on which slots count; none: all
    whole: bool = False  # all or nothing
    wanted: int
    reached: int
    before: int
    unit: str  # "nodes", "slots", "members" or "pods"
    seats: tuple[Seat, ...] = ()
    unseated: tuple[Unseated, ...] = ()
    refused: str = ""  # in words: why nothing of it can be done, whatever moves
