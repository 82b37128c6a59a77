"""Ranges of the planner's parameters, as the form shows them.

The planner checks its parameters itself; a test holds these ranges to it, since web processes do not load planners.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    low: int
    high: int
    default: int | None
    label: str
    words: str


RANGES = {
    "depth": Range(0, 3, 3, "Depth", "how many pods may make room for another, one behind the other"),
    "rounds": Range(1, 5, 3, "Rounds", "each with a new partition; most is found in the first"),
    "partition": Range(2, 1_000_000, 500, "Partition", "nodes that are solved together"),
    "exact_up_to": Range(
        0,
        500,
        40,
        "Exact up to",
        "nodes; in clusters up to this size a solver improves the plan and its bound; 0: never",
    ),
    "max_moves": Range(0, 10_000_000, None, "Most moves", "empty: no limit"),
}
SEEDS = Range(0, 2**53 - 1, 0, "Seed", "the same seed on the same data gives the same plan")
