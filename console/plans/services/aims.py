"""What a plan is for, as rows that stay, and how much of it is so at the end of a run."""

from typing import Any

import msgspec

from scheduler.cluster.snapshot import Snapshot
from scheduler.plan import plan as core
from scheduler.plan.goal import CLEARING, Goal
from scheduler.plan.promise import reached_on

LISTED = 200  # names and seats kept beside the document, which has them all


def goal_row(answer: core.Plan) -> dict[str, Any] | None:
    """The goal for pages and programs, long lists cut; None where whole nodes are the goal."""
    if answer.aim is None:
        return None
    row: dict[str, Any] = msgspec.to_builtins(answer.aim, str_keys=True)
    counts = {f"{name}_count": len(row[name]) for name in ("nodes", "seats")}
    short = {name: list(row[name])[:LISTED] for name in ("nodes", "seats", "unseated", "models")}
    clears = answer.aim.kind in CLEARING
    return {**row, **short, "clears": clears, **counts, "possible": answer.bound.net_upper}


def why_not(answer: core.Plan) -> str:
    """In words why a goal leads to no move."""
    goal = answer.aim
    if goal is None:
        return ""
    if goal.refused:
        return f"Not possible: {goal.refused}."
    if goal.reached == goal.wanted:
        return f"Nothing has to move: {goal.reached:,} of {goal.wanted:,} {goal.unit} are as asked already."
    told = next((note for note in answer.notes if note.startswith("all or nothing")), "")
    words = (
        f"{told[:1].upper()}{told[1:]}" if told else f"Not possible: {goal.reached:,} of {goal.wanted:,} {goal.unit}"
    )
    return f"{words}. The list says why."


def reached_now(goal: Goal, snapshot: Snapshot) -> int:
    """How much of the goal is so on this reading of the plan's cluster."""
    return reached_on(goal, snapshot)
