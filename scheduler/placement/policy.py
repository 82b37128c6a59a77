"""How places are weighed against one another, pool by pool."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from scheduler.cluster.errors import ParamError, within

TERMS = ("packing", "same_class", "eviction_history", "fragmentation", "network_load", "power", "entropy")
NODE_TERMS = TERMS[:-1]  # entropy is said of a whole placement
HEAVIEST = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Weights of the terms in ``scores``, 0 to leave one out.  Raises ``ParamError`` for the first bad field."""

    packing: float = 1.0  # few GPUs left free beside it
    same_class: float = 0.3  # HP beside HP, LP beside LP
    eviction_history: float = 0.2  # LP where few were evicted, HP where many were
    fragmentation: float = 0.5  # little growth of F(M)
    network_load: float = 0.2  # few GPUs nearby in jobs that cross the same switch
    power: float = 0.1  # no node woken that draws little while it is empty
    entropy: float = 1.0  # few domains; 0: nobody minds where the members of an unconstrained job stand
    keep_whole: bool = True  # a whole free domain is not opened for what a partly used one holds
    candidates: int = 8  # domains or nodes whose placements are worked out and compared
    alternatives: int = 3  # shown beside the best
    budget: int = 20_000  # nodes that are judged device by device before the search gives up

    def __post_init__(self) -> None:
        for term in TERMS:
            weight = getattr(self, term)
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise ParamError(term, weight, "must be a number")
            if not 0 <= weight <= HEAVIEST:
                raise ParamError(term, weight, f"must be 0 to {HEAVIEST:g}")
        within("candidates", self.candidates, 1, 1000)
        within("alternatives", self.alternatives, 0, 100)
        within("budget", self.budget, 1, 10_000_000)

    def weight(self, term: str) -> float:
        return float(getattr(self, term))

    def as_json(self) -> dict[str, float | int | bool]:
        return asdict(self)


DEFAULT = Policy()
Pools = Mapping[str, Policy]  # GPU model -> its policy


def policy_of(pools: Pools, models: tuple[str, ...], otherwise: Policy = DEFAULT) -> Policy:
    """The policy of the one pool that a request names; ``otherwise`` where it names none or several."""
    return pools.get(models[0], otherwise) if len(models) == 1 else otherwise
