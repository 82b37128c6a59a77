"""A plan as ``slackline consolidate`` tells it: one JSON document, or lines for people."""

from typing import Any

import msgspec

from scheduler.plan.goal import NODES, SHAPE
from scheduler.plan.plan import Plan


def plan_json(plan: Plan, seconds: float) -> dict[str, Any]:
    return {
        "snapshot_digest": plan.snapshot_digest,
        "plan_digest": plan.digest(),
        "emptied_nodes": list(plan.emptied_nodes),
        "moves": [
            {
                "pod": move.pod,
                "from": move.source,
                "to": move.target,
                "wave": wave,
                "mode": move.mode,
                "after": list(move.after),
                **({} if move.checkpoint is None else {"after_checkpoint": msgspec.to_builtins(move.checkpoint)}),
            }
            for move, wave in zip(plan.moves, plan.wave_of, strict=True)
        ],
        "goal": goal_json(plan),
        "before": {"slack_nodes": plan.before.slack_nodes, "empty_nodes": plan.before.empty_nodes},
        "after": {"slack_nodes": plan.after.slack_nodes, "empty_nodes": plan.after.empty_nodes},
        "kept": [
            {
                "node": kept.node,
                "reason": kept.reason,
                "blockers": [{"pod": b.pod, "constraint": b.constraint, "missing": b.missing} for b in kept.blockers],
                "targets": kept.targets,
            }
            for kept in plan.kept
        ],
        "bound": {"net_upper": plan.bound.net_upper, "gap": plan.bound.gap, "proven": plan.bound.proven},
        "notes": list(plan.notes),
        "seconds": round(seconds, 3),
    }


def goal_json(plan: Plan) -> dict[str, Any]:
    """``wanted`` is null where as many nodes as possible are."""
    if plan.aim is None:
        return {"kind": NODES, "unit": "nodes", "wanted": None, "reached": plan.net_emptied}
    row: dict[str, Any] = msgspec.to_builtins(plan.aim)
    return row


def goal_lines(plan: Plan) -> list[str]:
    """What was asked and how far the plan comes; nothing where whole nodes are the goal."""
    goal = plan.aim
    if goal is None:
        return []
    of = f" of {goal.name}" if goal.name else f" of {', '.join(goal.nodes[:8])}"
    rule = ", all or nothing" if goal.whole else ""
    lines = [f"{goal.kind}{of}: {goal.reached} of {goal.wanted} {goal.unit}{rule}; {goal.before} without any move"]
    if goal.refused:
        lines.append(f"not possible: {goal.refused}")
    for one in goal.unseated:
        short = "" if one.missing is None else f", {one.missing} {one.unit} short"
        near = "" if one.node is None else f" on {one.node}{short}"
        held = f", held by {', '.join(one.blockers)}" if one.blockers else ""
        counted = ", ".join(f"{word} {count}" for word, count in one.targets.items())
        which = "slots" if goal.kind == SHAPE else f"like {one.who}"
        lines.append(f"{one.count} {which} without a seat: {one.reason}{near}{held}; nodes: {counted or 'none'}")
    return lines
