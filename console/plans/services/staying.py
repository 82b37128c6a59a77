"""What the nodes that stay are short of, and whose locks hold the most of them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.plan import plan as core

LOCKED = "locked"


def tenant_of(snapshot: Snapshot, row: int) -> str:
    """Its name; empty where the pod is of none."""
    tenant = int(snapshot.pod_tenant[row])
    return "" if tenant == UNKNOWN else snapshot.tenants[tenant]


def gpu_milli_of(snapshot: Snapshot, row: int) -> int:
    return int(snapshot.pod_gpus[row]) * int(snapshot.pod_gpu_milli[row])


def short(answer: core.Plan, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """By first reason of a node, over the pods that it holds back: {"unit", "missing", "pods", "gpu_milli"}.

    ``missing`` is a sum in ``unit``, None where the reason has no amount; ``gpu_milli`` is what those pods ask for.
    """
    rows = _blocking_rows(answer, snapshot)
    found: dict[str, dict[str, Any]] = {}
    for kept in answer.kept:
        for blocker in kept.blockers:
            if blocker.constraint != kept.reason:
                continue
            entry = found.setdefault(kept.reason, {"unit": blocker.unit, "missing": None, "pods": 0, "gpu_milli": 0})
            entry["pods"] += 1
            entry["gpu_milli"] += gpu_milli_of(snapshot, rows[blocker.pod]) if blocker.pod in rows else 0
            if blocker.missing is not None:
                entry["missing"] = (entry["missing"] or 0) + blocker.missing
    return found


def largest_unlock(answer: core.Plan, snapshot: Snapshot) -> dict[str, Any] | None:
    """The tenant whose locks alone hold the most nodes: {"tenant", "locks", "nodes"}; None where no node is held so.

    Nodes with a blocker of another kind or of another tenant would stay all the same, so they do not count.
    """
    rows = _blocking_rows(answer, snapshot)
    locks: dict[str, int] = defaultdict(int)
    nodes: dict[str, int] = defaultdict(int)
    for kept in answer.kept:
        tenant = _only_locker(kept.blockers, rows, snapshot)
        if tenant is not None:
            locks[tenant] += len(kept.blockers)
            nodes[tenant] += 1
    if not nodes:
        return None
    most = min(nodes, key=lambda name: (-nodes[name], locks[name], name))
    return {"tenant": most, "locks": locks[most], "nodes": nodes[most]}


def _only_locker(blockers: Sequence[core.Blocker], rows: dict[str, int], snapshot: Snapshot) -> str | None:
    if not blockers or any(one.constraint != LOCKED or one.pod not in rows for one in blockers):
        return None
    tenants = {tenant_of(snapshot, rows[one.pod]) for one in blockers}
    return tenants.pop() if len(tenants) == 1 else None


def _blocking_rows(answer: core.Plan, snapshot: Snapshot) -> dict[str, int]:
    wanted = {blocker.pod for kept in answer.kept for blocker in kept.blockers}
    return {key: row for row in range(len(snapshot.pod_name)) if (key := snapshot.pod_key(row)) in wanted}
