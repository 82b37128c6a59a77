"""Explanations and victims as the documents of the command line and the API."""

from typing import Any

from scheduler.admission.claims import Claimed
from scheduler.admission.planner import Explained, Explanation
from scheduler.admission.reasons import Reason
from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.stopping import TERMS, Terms
from scheduler.placement.victims import Victim


def reason_json(reason: Reason) -> dict[str, Any]:
    return {"reason": reason.word, "sentence": reason.sentence, "numbers": dict(reason.numbers)}


def rows_json(found: Explained, row: Explanation) -> list[dict[str, Any]]:
    """One object per pending pod of the job, since pods are what people ask about."""
    snapshot, job = found.snapshot, row.job
    seats = {p: node for _, node, pods in row.seats.placed for p in pods} if row.seats is not None else {}
    shared: dict[str, Any] = {
        "job": row.key, "cluster": row.cluster, "tenant": job.tenant, "pods_of_job": len(job.pods),
        "gpu_milli": job.gpu_milli, "models": list(job.models), "position": row.position,
        "priority_class": row.called, **reason_json(row.reason),
        "others": [reason_json(other) for other in row.others],
        "largest_block": [
            {"level": block.level, "pods": block.pods, "gpu_milli": block.gpu_milli} for block in row.largest
        ],
    }  # fmt: skip
    return [
        {"pod": snapshot.pod_key(p), **shared, "node": snapshot.node_name[seats[p]] if p in seats else None}
        for p in job.pods
    ]


def victims_json(snapshot: Snapshot, claimed: Claimed) -> dict[str, Any]:
    """``cost`` and ``gpu_seconds`` in GPU-seconds of lost work, the study's C; the totals are of all terms.

    ``node`` is that of the first pod.
    """
    found = claimed.victims
    nodes = [snapshot.node_name[node] for _, node in found.placed]
    return {
        "ok": found.ok,
        "node": nodes[0] if nodes else None,
        "victims": [_victim(snapshot, victim) for victim in found.victims],
        "cost": exact(found.loss_milli),
        "total_cost": round(found.terms.total, 3),
        "terms": terms_json(found.terms),
        "reason": found.reason,
        "detail": found.detail,
        "placed": [
            {"pod": snapshot.pod_key(pod), "node": snapshot.node_name[node]} for pod, node in found.placed
        ],
        "waiting_for": [snapshot.pod_key(pod) for pod in found.leaving],
        "held_until_s": found.held_until_s,
    }  # fmt: skip


def _victim(snapshot: Snapshot, victim: Victim) -> dict[str, Any]:
    terms = {
        "gpus": exact(victim.gpu_milli), "lost_s": victim.age_s, "assumed": victim.assumed, "ground": victim.ground,
        "part": victim.part, "on_notice": victim.on_notice, "killed": round(victim.killed, 4),
        **terms_json(victim.terms),
    }  # fmt: skip
    return {
        "pod": snapshot.pod_key(victim.pod), "node": snapshot.node_name[victim.node],
        "gpu_seconds": exact(victim.loss_milli),
        "total_gpu_seconds": round(victim.total_gpu_seconds, 3), "terms": terms,
    }  # fmt: skip


def terms_json(terms: Terms) -> dict[str, float]:
    """Every term of what stopping costs, in GPU-seconds, by the name it has in ``performance.stopping``."""
    return {name: round(getattr(terms, name), 3) for name in TERMS}


def exact(milli: int) -> int | float:
    """Thousandths as a number, whole where it is whole."""
    return milli // 1000 if milli % 1000 == 0 else milli / 1000
