"""The only caller of the planner here; only workers import it."""

import time
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from console.campaigns import services
from console.consolidation.planning import answer_to
from console.dispatch.services import enqueue
from scheduler.cluster.snapshot import ABSENT, Snapshot
from scheduler.plan.plan import Plan
from scheduler.plan.promise import busy_nodes

AT_A_TIME_S = 15.0  # then others who wait for a planner come first


def preview(campaign_id: int) -> None:
    """Looks at the groups one by one, each as if it alone were drained now."""
    until = time.monotonic() + AT_A_TIME_S
    now = services.newest_of(campaign_id)
    while now is not None and (found := services.group_to_preview(campaign_id)) is not None:
        group_id, names = found
        services.keep_preview(group_id, drained_alone(campaign_id, group_id, now.snapshot, names), now.revision)
        if time.monotonic() > until:
            enqueue("campaigns.preview", campaign_id=campaign_id)
            return


def drained_alone(campaign_id: int, group_id: int, snapshot: Snapshot, names: tuple[str, ...]) -> dict[str, Any]:
    """Whether all pods can leave these nodes at once, by how many moves, and what keeps them where they cannot.

    It is what the group's plan would be, made by the same code.
    """
    known = set(snapshot.node_name)
    here = tuple(name for name in names if name in known)
    gone = len(names) - len(here)
    if not here:
        return {"ok": True, "moves": 0, "nodes": 0, "gone": gone, "why": []}
    plan, others = services.question_of(campaign_id, group_id, here)
    answer = answer_to(plan, snapshot, others)
    goal = answer.aim
    assert goal is not None
    busy = busy_nodes(snapshot)
    place = {name: n for n, name in enumerate(snapshot.node_name)}
    return {
        "ok": goal.reached == goal.wanted,
        "moves": len(answer.moves),
        "nodes": sum(bool(busy[place[name]]) for name in here),
        "gone": gone,
        "why": [] if goal.reached == goal.wanted else _why(answer, snapshot),
    }


def _why(answer: Plan, snapshot: Snapshot) -> list[dict[str, Any]]:
    """By reason: how many pods, on how many nodes, and until when their locks hold; most pods first."""
    pods: dict[str, set[str]] = defaultdict(set)
    nodes: dict[str, set[str]] = defaultdict(set)
    for kept in answer.kept:
        for blocker in kept.blockers:
            pods[blocker.constraint].add(blocker.pod)
            nodes[blocker.constraint].add(kept.node)
    rows = [
        {
            "reason": word,
            "pods": len(found),
            "nodes": len(nodes[word]),
            "first": min(found),
            "until": _until(snapshot, found) if word == "locked" else None,
        }
        for word, found in pods.items()
    ]
    return sorted(rows, key=lambda row: (-int(row["pods"] or 0), str(row["reason"])))


def _until(snapshot: Snapshot, pods: set[str]) -> str | None:
    """When the last of these locks ends; None where one of them has no known end."""
    rows = [p for p in snapshot.pod_locked.nonzero()[0].tolist() if snapshot.pod_key(p) in pods]
    ends = [int(snapshot.pod_locked_until_s[p]) for p in rows]
    if not ends or ABSENT in ends:
        return None
    taken = datetime.fromisoformat(snapshot.taken_at)
    return (taken + timedelta(seconds=max(ends) - snapshot.now_s)).isoformat()
