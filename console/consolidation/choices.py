"""Ranges of the planner's parameters, as the form shows them.

The planner checks its parameters itself; a test holds these ranges to it, since web processes do not load planners.
"""

from dataclasses import dataclass

from console.ui.ranges import Range

RANGES = {
    "depth": Range(0, 3, "Depth", "how many pods may make room for another, one behind the other", default=3),
    "rounds": Range(1, 5, "Rounds", "each with a new partition; most is found in the first", default=3),
    "partition": Range(2, 1_000_000, "Partition", "nodes that are solved together", default=500),
    "exact_up_to": Range(
        0,
        500,
        "Exact up to",
        "nodes; in clusters up to this size a solver improves the plan and its bound; 0: never",
        default=40,
    ),
    "repack_up_to": Range(
        0,
        500,
        "Repack up to",
        "nodes; in larger clusters, parts up to this size get new places for all pods where the bound says that more "
        "nodes could be empty; 0: never",
        default=100,
    ),
    "max_moves": Range(0, 10_000_000, "Most moves", "empty: no limit", default=None),
}


@dataclass(frozen=True, slots=True)
class GoalChoice:
    """``fields`` are those of the form that this goal is asked with, beside those that all goals have."""

    label: str
    words: str
    fields: tuple[str, ...] = ()
    searched: tuple[str, ...] = ("depth", "max_moves")
    labels: tuple[tuple[str, str, str], ...] = ()  # field, label, help


GOALS = {
    "nodes": GoalChoice(
        "Whole nodes",
        "as many empty nodes as possible",
        ("models",),
        ("depth", "rounds", "partition", "exact_up_to", "repack_up_to", "max_moves"),
    ),
    "drain": GoalChoice(
        "Drain nodes",
        "all pods leave the named nodes, for maintenance; none of them goes to another named one",
        ("nodes", "whole"),
        labels=(("nodes", "Nodes to drain", "one a line, or between spaces or commas"),),
    ),
    "domain": GoalChoice(
        "Empty a switch",
        "all pods leave the nodes of one ASW or other network domain, for a job that needs it whole",
        ("name", "level", "whole"),
        labels=(
            ("name", "ASW or other domain", "its name as on the map"),
            ("level", "Level", "only where several levels have a domain of this name"),
        ),
    ),
    "shape": GoalChoice(
        "Room for a shape",
        "GPUs and CPU free beside each other, as often as asked, such as 8G128C",
        ("name", "slots", "models", "whole"),
        labels=(
            ("name", "Shape", "GPUs, then CPU cores: 8G128C, 4G64C, 1G12C"),
            ("slots", "How often", "slots of this shape that are free at once"),
        ),
    ),
    "gang": GoalChoice(
        "Make a job fit",
        "all pods of a waiting gang find room together, or nobody moves; says what would unblock it otherwise",
        ("name",),
        labels=(("name", "Gang or pod", "namespace/name; a pod stands for its whole gang"),),
    ),
    "spare": GoalChoice(
        "Replace a node",
        "the gangs on a failing node go to another one under the same switch, where room is made if none is free",
        ("nodes", "level"),
        labels=(
            ("nodes", "Failing node", "one name"),
            ("level", "Spare within", "empty: the same switch; else a level such as agg, or cluster for anywhere"),
        ),
    ),
}
SHAPES = ("1G8C", "1G12C", "4G32C", "4G48C", "4G64C", "8G64C", "8G96C", "8G128C")  # to choose from; any other is taken
WHOLE_UNLESS_SAID = ("domain",)
SEEDS = Range(0, 2**53 - 1, "Seed", "the same seed on the same data gives the same plan", default=0)
