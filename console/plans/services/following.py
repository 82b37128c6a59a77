"""After a run: what becomes of the nodes that it has emptied, looked at in every later reading for a day.

What is placed there is counted and named; whether anything keeps work away is the business of ``holding``.
"""

from collections import defaultdict
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from console.inventory.services import newest, revision_of
from console.plans import lifecycle
from console.plans.choices import Kind, StepState
from console.plans.models import EmptiedNode, NodeLock, Plan, RoomNode, Step
from console.plans.services import checking, freed, gaining, holding
from console.plans.services.staying import gpu_milli_of, tenant_of
from console.plans.services.transition import Conflict, announce
from scheduler.cluster.snapshot import Snapshot

log = structlog.get_logger(__name__)
FOLLOW_FOR = timedelta(hours=24)
NAMED = 8  # pods that are kept by name of those that refilled a node


def follow() -> None:
    """Safe to run twice at once: a node is refilled once."""
    begin_following()
    now = timezone.now()
    nodes = [Exists(rows.objects.filter(plan=OuterRef("pk"))) for rows in (EmptiedNode, RoomNode)]
    due = Plan.objects.filter(Q(followed_until__gt=now) & (nodes[0] | nodes[1]) | Q(held_until__gt=now))
    for plan in due.select_related("source").defer("document", "impact", "curve"):
        if plan.followed_revision is not None and revision_of(plan.source) <= plan.followed_revision:
            continue
        try:
            look(plan)
        except Conflict as lost:
            log.info("plan.not_followed", plan=plan.pk, reason=lost.reason)
    holding.tell_again()


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


def _emptied(plan: Plan) -> list[EmptiedNode]:
    gpus = freed.gpus_of(plan)
    return [
        EmptiedNode(plan=plan, node=node, gpus=gpus.get(node, 0), emptied_at=at)
        for node, at in sorted(freed.emptied_whole(plan).items())
    ]


def look(plan: Plan) -> None:
    """Compare the followed nodes with the newest reading."""
    found = newest(plan.source)
    if found is None:
        raise Conflict(f"{plan.source.name} was never observed.")
    now = checking.narrowed(plan, *found)
    seen_at = found[0].observed_at
    holding.look(plan, now.snapshot)
    if plan.followed_until is None or plan.followed_until <= timezone.now():
        Plan.objects.filter(pk=plan.pk).update(followed_revision=now.revision)
        return
    own = set(Step.objects.filter(plan=plan).values_list("pod", flat=True))
    changed = 0
    empty: set[str] = set()
    with transaction.atomic():
        waiting = EmptiedNode.objects.filter(plan=plan, refilled_at__isnull=True, gone_at__isnull=True)
        locked = _locked(plan)
        free = [row for row in waiting if row.node not in locked]
        empty = {row.node for row in free}
        news = _news(free, now.snapshot, own)
        for row, fields in news:
            at = {name: max(seen_at, row.emptied_at) for name in ("refilled_at", "gone_at") if name in fields}
            changed += waiting.filter(pk=row.pk).update(**(fields | at))
        # What was passed over is looked at as soon as its lock goes, in the same reading if there is no newer one.
        seen = {} if locked else {"followed_revision": now.revision}
        Plan.objects.filter(pk=plan.pk).update(followed_at=seen_at, **seen)
        if changed:
            announce(plan, "plan.followed", refilled=changed)
    gaining.look(plan, now, seen_at, empty)


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
