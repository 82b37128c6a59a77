"""What a plan is for, in words for people.  Reads the row that ``services.aims`` kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console.ui.figures import number, plural

Row = Mapping[str, Any]
VERBS = {
    "drain": "cleared",
    "domain": "cleared",
    "shape": "with room",
    "gang": "with a seat",
    "spare": "on a spare",
}
CHAINS = {"drain": "clears", "domain": "clears", "spare": "replaces", "shape": "makes room on", "gang": "makes room on"}


@dataclass(frozen=True, slots=True)
class GoalWords:
    """``sentence`` says what was asked and how far the plan comes; ``ok`` None where a part of it is reached."""

    title: str
    sentence: str
    note: str
    seats_title: str
    ok: bool | None


def goal_words(goal: Row | None, moves: int) -> GoalWords | None:
    if not goal:
        return None
    reached, wanted = goal["reached"], goal["wanted"]
    verb = VERBS[goal["kind"]]
    said = f"{number(reached)} of {number(wanted)} {goal['unit']} {verb} by {plural(moves, 'move')}"
    if moves == 0:
        said = f"{number(reached)} of {number(wanted)} {goal['unit']} {verb}, without a move"
    ok = True if reached == wanted else None if reached > goal["before"] else False
    return GoalWords(_title(goal), f"{said}.", _note(goal), _seats_title(goal), ok)


def _title(goal: Row) -> str:
    match goal["kind"]:
        case "drain":
            return f"Drain {plural(goal['nodes_count'], 'node')}"
        case "domain":
            return f"Empty {goal['level']} {goal['name']}"
        case "shape":
            return f"Room for {goal['wanted']} × {goal['name']}"
        case "gang":
            return f"Make {goal['name']} fit"
        case _:
            return f"A spare for {', '.join(goal['nodes'])}"


def _note(goal: Row) -> str:
    rule = "all or nothing" if goal["whole"] else "as many as possible"
    before = f", {number(goal['before'])} already" if goal["before"] else ""
    return f"{rule}{before}, at most {number(goal['possible'])}"


def _seats_title(goal: Row) -> str:
    return "Slots" if goal["kind"] == "shape" else "Members" if goal["unit"] == "members" else "Pods"


def short_words(goal: Row) -> str:
    """For lists: "3 of 4 nodes"."""
    return f"{number(goal['reached'])} of {number(goal['wanted'])} {goal['unit']}"


def goal_unit(headline: Row) -> str:
    """What the marginal curve counts."""
    goal = headline.get("goal")
    return f"{goal['unit']} {VERBS[goal['kind']]}" if goal else "net emptied nodes"


def goal_tiles(headline: Row) -> dict[str, str]:
    """Notes under the figures of a plan with a goal; nothing for others."""
    goal = headline.get("goal")
    if not goal:
        return {}
    proven = "proven" if headline["proven"] else "not proven"
    return {
        "goal_unit": f"of {number(goal['wanted'])} {goal['unit']}",
        "goal_note": f"{VERBS[goal['kind']]}; {number(goal['before'])} without any move",
        "goal_bound_note": f"{number(goal['reached'])} of at most {number(goal['possible'])}, {proven}",
    }
