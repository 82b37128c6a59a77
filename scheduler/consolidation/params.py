"""What a caller may ask of the planner."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from scheduler.plan.ask import Ask, ParamError, within

__all__ = ["Ask", "ParamError", "Params", "Progress", "Report"]

WHOLE_NODES = Ask()
UNSAID = ("goal", "resting", "least_hours")  # fields that a plan states only where they are given
MAX_DEPTH = 3
MAX_ROUNDS = 5
MAX_HOURS = 10_000
MAX_EXACT = 500  # nodes: beyond, the exact stage's model does not fit into a minute
MAX_REPACK = 500  # nodes of a part, and of its cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Raises ``ParamError`` for the first field out of range."""

    depth: int = 3  # levels of pods that may make room for others; 0: none
    rounds: int = 3  # at most; each with a new partition
    partition: int = 500  # nodes that are solved together
    exact_up_to: int = 40  # nodes of the largest cluster that gets the exact stage; 0: none does
    repack_up_to: int = 100  # nodes of the largest part that gets new places for all pods at once; 0: none does
    max_moves: int | None = None
    seconds: float | None = None  # a safety net only: a plan that it cut says so
    models: tuple[str, ...] = ()  # empty only nodes of these GPU models; none: all
    first: tuple[str, ...] = ()  # nodes that are emptied before any other, where that is possible at all
    resting: tuple[str, ...] = ()  # workloads (``plan.pace.owner_of``) that were moved lately: their pods stay
    least_hours: float = 0.0  # slack-node hours that a chain saves for each GPU it moves (``enduring``); 0: any
    goal: Ask = WHOLE_NODES

    def __post_init__(self) -> None:
        within("depth", self.depth, 0, MAX_DEPTH)
        within("rounds", self.rounds, 1, MAX_ROUNDS)
        within("partition", self.partition, 2, 1_000_000)
        within("exact_up_to", self.exact_up_to, 0, MAX_EXACT)
        within("repack_up_to", self.repack_up_to, 0, MAX_REPACK)
        if not 0 <= self.least_hours <= MAX_HOURS:
            raise ParamError("least_hours", self.least_hours, f"must be 0 to {MAX_HOURS}")
        if self.max_moves is not None:
            within("max_moves", self.max_moves, 0, 10_000_000)
        if self.seconds is not None and not 0 < self.seconds <= 86_400:
            raise ParamError("seconds", self.seconds, "must be above 0 and at most 86400")

    def as_json(self) -> dict[str, int | float | str | None]:
        """Flat values for the plan; names joined by a comma.  The goal has a field of its own there."""
        flat = {name: value for name, value in asdict(self).items() if name not in UNSAID}
        rest = {"resting": ",".join(self.resting)} if self.resting else {}
        least = {"least_hours": self.least_hours} if self.least_hours else {}
        return {**flat, "models": ",".join(self.models), "first": ",".join(self.first), **rest, **least}


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
