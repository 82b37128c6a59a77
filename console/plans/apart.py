"""Nodes on which no plan may put pods, although nothing of the cluster says so: floors above say which, by plan."""

from collections.abc import Callable
from dataclasses import dataclass, field

from console.plans.models import Plan


@dataclass(frozen=True, slots=True)
class Apart:
    """Node -> whose it is, in words.  ``later``: better not, but rather than leave the plan without a way."""

    never: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)


_asked: dict[str, Callable[[Plan], Apart]] = {}


def register(name: str, nodes_of: Callable[[Plan], Apart]) -> None:
    """``nodes_of`` answers for a plan that is about to be computed."""
    _asked[name] = nodes_of


def apart_from(plan: Plan) -> Apart:
    never: dict[str, str] = {}
    later: dict[str, str] = {}
    for nodes_of in _asked.values():
        found = nodes_of(plan)
        never |= found.never
        later |= found.later
    own = {*(plan.params.get("goal") or {}).get("nodes", ()), *never}
    return Apart(never, {node: whose for node, whose in later.items() if node not in own})
