"""After a run: what becomes of the nodes that it has emptied, looked at in every later reading for a day.

Where a cluster can keep work away, they are held for work that takes a whole node; elsewhere what is placed there is
counted and named, and nothing keeps it away.
"""

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from console.inventory.services import newest, revision_of
from console.plans import lifecycle
from console.plans.choices import Kind, StepState
from console.plans.models import EmptiedNode, NodeLock, Plan, Step
from console.plans.services import checking
from console.plans.services.staying import gpu_milli_of, tenant_of
from console.plans.services.transition import Conflict, announce
from scheduler.cluster.snapshot import Snapshot

log = structlog.get_logger(__name__)
FOLLOW_FOR = timedelta(hours=24)
HOLD_FOR = timedelta(hours=24)
NAMED = 8  # pods that are kept by name of those that refilled a node


def follow() -> None:
    """Safe to run twice at once: a node is refilled once."""
    begin_following()
    due = Plan.objects.filter(followed_until__gt=timezone.now(), emptied__isnull=False).distinct()
    for plan in due.select_related("source").defer("document", "impact", "curve"):
        if plan.followed_revision is not None and revision_of(plan.source) <= plan.followed_revision:
            continue
        try:
            look(plan)
        except Conflict as lost:
            log.info("plan.not_followed", plan=plan.pk, reason=lost.reason)


def begin_following() -> None:
    """Runs that have ended and of which nothing is in flight any more."""
    now = timezone.now()
    ended = Plan.objects.filter(
        state__in=lifecycle.FINAL, kind=Kind.CONSOLIDATION, started_at__isnull=False, followed_until__isnull=True,
        ended_at__gt=now - FOLLOW_FOR,
    ).exclude(steps__state=StepState.ISSUED)  # fmt: skip
    for plan in ended:
        with transaction.atomic():
            rows = Plan.objects.filter(pk=plan.pk, followed_until__isnull=True)
            if plan.ended_at is None or rows.update(followed_until=plan.ended_at + FOLLOW_FOR) != 1:
                continue
            EmptiedNode.objects.bulk_create(_emptied(plan), batch_size=500)


def to_hold(plan: Plan) -> dict[str, int]:
    """Nodes that are worth keeping for work that takes a whole one -> their GPUs.

    Of a rollback: all that the plan that it takes back has emptied, so that nothing of it is kept any more.
    """
    if plan.undoes is not None:
        return to_hold(plan.undoes)
    if plan.headline.get("goal"):
        return {}  # its nodes were not emptied for the sake of whole ones
    gpus = _gpus(plan)
    return {node: gpus[node] for node in sorted(_whole(plan)) if gpus.get(node)}


def _emptied(plan: Plan) -> list[EmptiedNode]:
    gpus = _gpus(plan)
    return [
        EmptiedNode(plan=plan, node=node, gpus=gpus.get(node, 0), emptied_at=at)
        for node, at in sorted(_whole(plan).items())
    ]


def _whole(plan: Plan) -> dict[str, datetime]:
    """The nodes whose chains have run whole, each with when its last pod had left."""
    promised = set(checking.signed(plan).emptied_nodes)
    states: dict[str, Counter[str]] = defaultdict(Counter)
    since: dict[str, datetime] = {}
    for node, state, ended_at in Step.objects.filter(plan=plan).values_list("drains", "state", "ended_at"):
        states[node][state] += 1
        if ended_at is not None:
            since[node] = max(ended_at, since.get(node, ended_at))
    whole = (node for node, found in states.items() if node in promised and set(found) == {StepState.SUCCEEDED})
    return {node: since[node] for node in whole}


def _gpus(plan: Plan) -> dict[str, int]:
    drawn = plan.map
    return dict(zip(drawn.names.split("\n"), bytes(drawn.gpus), strict=True))


def look(plan: Plan) -> None:
    """Compare the followed nodes with the newest reading."""
    found = newest(plan.source)
    if found is None:
        raise Conflict(f"{plan.source.name} was never observed.")
    now = checking.narrowed(plan, *found)
    seen_at = found[0].observed_at
    own = set(Step.objects.filter(plan=plan).values_list("pod", flat=True))
    changed = 0
    with transaction.atomic():
        waiting = EmptiedNode.objects.filter(plan=plan, refilled_at__isnull=True, gone_at__isnull=True)
        locked = _locked(plan)
        news = _news([row for row in waiting if row.node not in locked], now.snapshot, own)
        for row, fields in news:
            at = {name: max(seen_at, row.emptied_at) for name in ("refilled_at", "gone_at") if name in fields}
            changed += waiting.filter(pk=row.pk).update(**(fields | at))
        # What was passed over is looked at as soon as its lock goes, in the same reading if there is no newer one.
        seen = {} if locked else {"followed_revision": now.revision}
        Plan.objects.filter(pk=plan.pk).update(followed_at=seen_at, **seen)
        if changed:
            announce(plan, "plan.followed", refilled=changed)


def _locked(plan: Plan) -> set[str]:
    """Nodes that another run works on: what stands there now may be half of a move, under a name of its own."""
    mine = EmptiedNode.objects.filter(plan=plan, refilled_at__isnull=True, gone_at__isnull=True).values("node")
    locks = NodeLock.objects.filter(source_id=plan.source_id, cluster=plan.cluster, node__in=mine)
    return set(locks.values_list("node", flat=True))


def _news(rows: list[EmptiedNode], snapshot: Snapshot, own: set[str]) -> list[tuple[EmptiedNode, dict[str, Any]]]:
    place = {name: row for row, name in enumerate(snapshot.node_name)}
    pods = _working(snapshot, {place[row.node] for row in rows if row.node in place})
    news: list[tuple[EmptiedNode, dict[str, Any]]] = []
    for row in rows:
        node = place.get(row.node)
        if node is not None and pods[node]:
            news.append((row, {"refilled_at": None, "refilled_by": _named(snapshot, pods[node], own)}))
        elif node is None or snapshot.node_cordoned[node]:  # one that is not ready for a while is looked at again
            news.append((row, {"gone_at": None}))
    return news


def _working(snapshot: Snapshot, nodes: set[int]) -> dict[int, list[int]]:
    """Live pods of these nodes, agents aside."""
    found: dict[int, list[int]] = defaultdict(list)
    for pod in (snapshot.pod_live & ~snapshot.pod_agent).nonzero()[0].tolist() if nodes else ():
        node = int(snapshot.pod_node[pod])
        if node in nodes:
            found[node].append(pod)
    return found


def _named(snapshot: Snapshot, pods: list[int], own: set[str]) -> list[dict[str, Any]]:
    """Largest first; ``own`` pods are those that the plan itself had moved."""
    largest = sorted(pods, key=lambda pod: (-gpu_milli_of(snapshot, pod), snapshot.pod_key(pod)))
    return [
        {
            "pod": snapshot.pod_key(pod),
            "tenant": tenant_of(snapshot, pod),
            "workload": snapshot.pod_specs[int(snapshot.pod_spec[pod])].workload or "",
            "gpu_milli": gpu_milli_of(snapshot, pod),
            "own": snapshot.pod_key(pod) in own,
        }
        for pod in largest[:NAMED]
    ]
