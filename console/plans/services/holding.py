"""After a run: the nodes on which it made room are kept for what the room was made for, until a time.

What is decided stands in the plan's row; the executor tells the cluster (``execution.tell_holds``), again and again
until each node has heard the last word.
"""

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from console.audit import services as audit
from console.dispatch.services import enqueue
from console.plans import selectors
from console.plans.choices import Kind
from console.plans.models import Plan, RoomNode
from console.plans.services import checking, freed
from console.plans.services.transition import Conflict, announce, read
from console.tenancy.services import require
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.plan import plan as core
from scheduler.plan.goal import GANG, SEATING, SHAPE
from scheduler.plan.operations import Hold
from scheduler.plan.promise import held_seats
from scheduler.plan.slots import asked_by
from scheduler.plan.waiting import mates, waiting_of

HOURS = "hold_hours"
LONGEST_H = 168  # hours from now to which a hold can be extended


def purpose_of(whole: core.Plan) -> dict[str, Any]:
    """What the plan makes room for, {} where it makes room for nothing: nodes that are cleared stay clear of all."""
    goal = whole.aim
    if goal is None:
        return {"kind": selectors.WHOLE}
    if goal.kind == GANG:
        return {"kind": GANG, "name": goal.name, "unit": goal.unit}
    if goal.kind == SHAPE:
        gpus, cpu_milli = asked_by(goal.name)
        return {"kind": SHAPE, "name": goal.name, "gpus": gpus, "cpu_milli": cpu_milli, "wanted": goal.reached}
    return {}


def rooms_of(plan: Plan, now: checking.Newest | None) -> list[RoomNode]:
    """The nodes on which the run made room, as of the reading at its end; without one, only those it emptied."""
    if plan.kind != Kind.CONSOLIDATION:
        return []
    whole = checking.signed(plan)
    goal, gpus = whole.aim, freed.gpus_of(plan)
    if goal is None:
        return [RoomNode(plan=plan, node=node, gpus=gpus.get(node, 0)) for node in sorted(freed.emptied_whole(plan))]
    if goal.kind not in SEATING or now is None:
        return []
    seats = held_seats(goal, now.snapshot)
    if goal.whole and len(seats) < goal.wanted:
        return []  # all or nothing was asked for
    names = sorted({seat.node for seat in seats})
    there = _pods_on(now.snapshot, set(names))
    key = now.snapshot.pod_key
    return [
        RoomNode(plan=plan, node=name, gpus=gpus.get(name, 0), residents=[key(pod) for pod in there.get(name, ())])
        for name in names
    ]


def begin(plan: Plan, rooms: list[RoomNode], holds: bool) -> dict[str, Any]:
    """In the transaction that ends the run: keep the rows, and the plan's fields if the cluster shall hold them."""
    RoomNode.objects.bulk_create(rooms, batch_size=500)
    purpose = purpose_of(checking.signed(plan)) if rooms else {}
    hours = selectors.rules_of(plan)[HOURS]
    if not rooms or not holds or not hours.value:
        note = f"hold: {hours.words} ({hours.origin})" if rooms and holds else ""
        return {"held_for": purpose, "hold_note": note}
    until = timezone.now() + timedelta(hours=hours.value)
    return {"held_for": purpose, "held_until": until, "hold_version": 1}


def extend_hold(user: Any, plan_id: int, hours: int | None, reason: str) -> Plan:
    """Hold them until so many hours from now, longer or shorter than before."""
    require(user, "plans.run_plan")
    if hours is None or not 1 <= hours <= LONGEST_H:
        raise Conflict(f"Say for how many hours from now: 1 to {LONGEST_H}.")
    until = timezone.now() + timedelta(hours=hours)
    words = f"until {until:%Y-%m-%d %H:%M} UTC by {user}: {_said(reason)}"
    return _decide(plan_id, until, words, actor=user, action="plan.hold_extended", reason=reason)


def release_hold(user: Any, plan_id: int, reason: str) -> Plan:
    """End a hold before its time: the cluster's scheduler may place any work there."""
    require(user, "plans.run_plan")
    words = f"released by {user}: {_said(reason)}"
    return _decide(plan_id, timezone.now(), words, actor=user, action="plan.hold_released", reason=reason)


def _said(reason: str) -> str:
    if not reason.strip():
        raise Conflict("A hold is changed for a reason: it is kept in the audit log.", next_step="Say why.")
    return reason.strip()


def end_of_itself(plan_id: int, why: str) -> None:
    """The purpose is met or gone, or the plan is taken back; nothing happens where nothing is held any more."""
    if selectors.is_held(read(plan_id)):
        _decide(plan_id, timezone.now(), why, actor=None, action="plan.hold_ended", reason=why)


def _decide(plan_id: int, until: Any, words: str, *, actor: Any, action: str, reason: str) -> Plan:
    """Compare-and-set on a hold that lasts; the cluster hears of it from a worker."""
    with transaction.atomic():
        lasting = Plan.objects.filter(pk=plan_id, held_until__gt=timezone.now())
        if lasting.update(held_until=until, hold_note=words, hold_version=F("hold_version") + 1) != 1:
            raise Conflict(f"Plan {plan_id} holds no nodes now.")
        plan = read(plan_id)
        detail = {"until": until.isoformat(), "for": plan.held_for}
        audit.record(
            actor=actor, action=action, target_kind="plan", target_id=plan_id, reason=reason.strip(), detail=detail
        )
        announce(plan, action)
        enqueue("plans.hold", plan_id=plan_id)
    return plan


# --- what the cluster is to hear -------------------------------------------------------------------------------------
def to_tell(plan: Plan) -> Iterator[tuple[RoomNode, Hold, str]]:
    """(row, operation, key) of each node that has not heard the last word; a newer hold of another plan stands."""
    left = timedelta(0) if plan.held_until is None else plan.held_until - timezone.now()
    newer = RoomNode.objects.filter(
        plan__source=plan.source_id,
        plan__cluster=plan.cluster,
        plan__held_until__gt=timezone.now(),
        plan_id__gt=plan.pk,
    )
    others = set(newer.values_list("node", flat=True))
    for row in RoomNode.objects.filter(plan=plan, told__lt=plan.hold_version):
        if row.node in others:
            told(row, plan.hold_version, "another plan holds it since")
            continue
        key = uuid.uuid5(uuid.NAMESPACE_OID, f"hold {plan.pk} {row.node} {plan.hold_version}")
        yield row, _operation(plan, row, max(0, round(left.total_seconds()))), str(key)


def _operation(plan: Plan, row: RoomNode, seconds: int) -> Hold:
    purpose = plan.held_for
    named = purpose["name"] if purpose.get("kind") == GANG else ""
    return Hold(
        cluster=plan.cluster,
        node=row.node,
        seconds=seconds,
        gang=named,
        least_gpus=0 if named else purpose.get("gpus", row.gpus),
        least_cpu_milli=purpose.get("cpu_milli", 0),
    )


def told(row: RoomNode, version: int, refused: str = "") -> None:
    RoomNode.objects.filter(pk=row.pk, told__lt=version).update(told=version, refused=refused)


def overtaken(plan: Plan) -> bool:
    """Something newer was decided while the cluster was told: it may have heard the older word last, so once more."""
    with transaction.atomic():
        newer = Plan.objects.filter(pk=plan.pk, hold_version__gt=plan.hold_version)
        if newer.update(hold_version=F("hold_version") + 1) != 1:
            return False
        enqueue("plans.hold", plan_id=plan.pk)
    return True


def tell_again() -> None:
    """Nodes whose last word was lost with a worker or a wire are told once more."""
    untold = Plan.objects.filter(hold_version__gt=0, rooms__told__lt=F("hold_version"))
    for plan_id in untold.values_list("pk", flat=True).distinct():
        enqueue("plans.hold", plan_id=plan_id)


# --- whether the purpose is met --------------------------------------------------------------------------------------
def look(plan: Plan, snapshot: Snapshot) -> None:
    """Note who has started where room was made; a hold whose purpose is met, or gone, ends by itself."""
    rows = list(RoomNode.objects.filter(plan=plan))
    pods = _pods_on(snapshot, {row.node for row in rows})
    for row in rows:
        takers = [snapshot.pod_key(pod) for pod in pods.get(row.node, ()) if _takes(plan, row, snapshot, pod)]
        if takers != row.takers:
            row.takers = takers
            row.save(update_fields=["takers"])
    why = _over(plan, rows, snapshot) if selectors.is_held(plan) else ""
    if why:
        end_of_itself(plan.pk, why)


def _takes(plan: Plan, row: RoomNode, snapshot: Snapshot, pod: int) -> bool:
    purpose = plan.held_for
    if snapshot.pod_key(pod) in row.residents:
        return False
    if purpose.get("kind") == GANG:
        gang = int(snapshot.pod_gang[pod])
        names = {snapshot.pod_key(pod)}
        if gang != UNKNOWN:
            names.add(f"{snapshot.gangs[gang].namespace}/{snapshot.gangs[gang].name}")
        return purpose["name"] in names
    if int(snapshot.pod_gpu_milli[pod]) < WHOLE_GPU_MILLI:
        return False
    asked = int(snapshot.pod_gpus[pod]), int(snapshot.pod_cpu_milli[pod])
    return asked[0] >= int(purpose.get("gpus", row.gpus)) and asked[1] >= int(purpose.get("cpu_milli", 0))


def _over(plan: Plan, rows: list[RoomNode], snapshot: Snapshot) -> str:
    """Why the hold ends now, "" while it lasts."""
    words = selectors.purpose_words(plan.held_for)
    if plan.held_for.get("kind") == GANG:
        return _gang_over(plan.held_for, words, snapshot)
    started = sum(len(row.takers) for row in rows)
    if plan.held_for.get("kind") == SHAPE:
        return f"met: {started} {words} started there" if started >= plan.held_for["wanted"] else ""
    nodes = "the node is" if len(rows) == 1 else f"all {len(rows)} nodes are"
    return f"met: {nodes} taken by {words}" if all(row.takers for row in rows) else ""


def _gang_over(purpose: dict[str, Any], words: str, snapshot: Snapshot) -> str:
    found = waiting_of(snapshot, purpose["name"])
    if found is None:
        return f"{words} is no longer there"
    if len(found.pods):
        return ""
    if found.gang == UNKNOWN:
        return f"met: {words} runs"
    running = len(mates(snapshot, found.gang))
    if running >= max(1, snapshot.gangs[found.gang].min_members):
        return f"met: {words} is seated, {running} members run"
    return f"{words} is no longer there" if running == 0 else ""


def _pods_on(snapshot: Snapshot, names: set[str]) -> dict[str, list[int]]:
    """Live pods of the named nodes, agents aside."""
    found: dict[str, list[int]] = {}
    for pod in (snapshot.pod_live & ~snapshot.pod_agent).nonzero()[0].tolist() if names else ():
        node = snapshot.node_name[int(snapshot.pod_node[pod])]
        if node in names:
            found.setdefault(node, []).append(pod)
    return found
