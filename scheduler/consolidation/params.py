"""What a caller may ask of the planner."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass

from scheduler.plan.goal import DOMAIN, DRAIN, GANG, KINDS, NODES, SHAPE, SPARE
from scheduler.plan.slots import SHAPE_WORDS

MAX_DEPTH = 3
MAX_ROUNDS = 5
MAX_EXACT = 500  # nodes: beyond, the exact stage's model does not fit into a minute


class ParamError(ValueError):
    """A parameter outside its range; ``field`` names it."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        self.field, self.value, self.reason = field, value, reason
        super().__init__(f"{field}: {reason} (got {value!r})")


MOST_NAMED = 10_000  # nodes of a drain, slots of a shape
GIVEN = {  # what each goal is asked with
    NODES: (),
    DRAIN: ("nodes",),
    DOMAIN: ("name", "level"),
    SHAPE: ("name", "slots"),
    GANG: ("name",),
    SPARE: ("nodes",),
}
ALL_OR_NOTHING = (DOMAIN, GANG, SPARE)  # unless said otherwise; of a gang and a spare a part is no use


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a plan is to reach.  Raises ``ParamError`` for the first field that its kind cannot be asked with."""

    kind: str = NODES  # of ``plan.goal.KINDS``
    nodes: tuple[str, ...] = ()  # DRAIN: the nodes to clear; SPARE: the failing one
    name: str = ""  # DOMAIN: of the domain; SHAPE: such as 8G128C; GANG: namespace/name of a gang or pod
    level: str = ""  # DOMAIN: of the domain; "" where only one has that name
    slots: int = 0  # SHAPE: how many
    whole: bool | None = None  # all or nothing; None: as is usual for this kind

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParamError("goal", self.kind, f"must be one of {', '.join(KINDS)}")
        for field in ("nodes", "name", "level", "slots"):
            given, known = getattr(self, field), field in GIVEN[self.kind]
            if given and not known:
                raise ParamError(field, given, f"says nothing for the goal {self.kind}")
            if known and not given and field != "level":
                raise ParamError(field, given, f"is needed for the goal {self.kind}")
        self._check()

    def _check(self) -> None:
        if len(set(self.nodes)) < len(self.nodes) or len(self.nodes) > MOST_NAMED:
            raise ParamError("nodes", len(self.nodes), f"must be at most {MOST_NAMED} names, each once")
        if self.kind == SPARE and len(self.nodes) != 1:
            raise ParamError("nodes", self.nodes, "must be one node: spares are found one by one")
        if self.kind == SHAPE:
            _within("slots", self.slots, 1, MOST_NAMED)
            if not re.fullmatch(SHAPE_WORDS, self.name):
                raise ParamError("name", self.name, "must be a shape such as 8G128C: GPUs, then CPU cores")
        if self.kind == GANG and not all(self.name.partition("/")):
            raise ParamError("name", self.name, "must be namespace/name of a gang or pod")
        if self.kind in (GANG, SPARE) and self.whole is False:
            raise ParamError("whole", False, "a part of a gang is of no use: it is all or nothing")

    @property
    def all_or_nothing(self) -> bool:
        return self.kind in ALL_OR_NOTHING if self.whole is None else self.whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Raises ``ParamError`` for the first field out of range."""

    depth: int = 3  # levels of pods that may make room for others; 0: none
    rounds: int = 3  # at most; each with a new partition
    partition: int = 500  # nodes that are solved together
    exact_up_to: int = 40  # nodes of the largest cluster that gets the exact stage; 0: none does
    max_moves: int | None = None
    seconds: float | None = None  # a safety net only: a plan that it cut says so
    models: tuple[str, ...] = ()  # empty only nodes of these GPU models; none: all
    first: tuple[str, ...] = ()  # nodes that are emptied before any other, where that is possible at all
    goal: Ask = Ask()

    def __post_init__(self) -> None:
        _within("depth", self.depth, 0, MAX_DEPTH)
        _within("rounds", self.rounds, 1, MAX_ROUNDS)
        _within("partition", self.partition, 2, 1_000_000)
        _within("exact_up_to", self.exact_up_to, 0, MAX_EXACT)
        if self.max_moves is not None:
            _within("max_moves", self.max_moves, 0, 10_000_000)
        if self.seconds is not None and not 0 < self.seconds <= 86_400:
            raise ParamError("seconds", self.seconds, "must be above 0 and at most 86400")

    def as_json(self) -> dict[str, int | float | str | None]:
        """Flat values for the plan; names joined by a comma.  The goal has a field of its own there."""
        flat = {name: value for name, value in asdict(self).items() if name != "goal"}
        return {**flat, "models": ",".join(self.models), "first": ",".join(self.first)}


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the planner stands; rounds and partitions count from 1."""

    round: int
    rounds: int
    partition: int
    partitions: int
    emptied: int  # net so far
    moves: int


Report = Callable[[Progress], bool]  # False: stop and return the valid plan so far


def _within(field: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParamError(field, value, f"must be a whole number from {low} to {high}")
