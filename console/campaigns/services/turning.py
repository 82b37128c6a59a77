"""One look at a campaign: what is so, what follows from it (``pace``), and the rows that it changes."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from console.campaigns import choosing, pace, selectors
from console.campaigns.choices import AT_WORK, OVER, GroupState, Refused, State
from console.campaigns.models import Campaign, Group, Member
from console.campaigns.services.writing import taken, write_down
from console.consolidation import services as desk
from console.dispatch.services import enqueue
from console.inventory import services as inventory
from console.inventory.models import Observation, Source
from console.plans import lifecycle
from console.plans.choices import State as PlanState
from console.plans.models import Plan
from console.plans.selectors import active_freezes, covers, frozen_words, gate_of
from console.rest.errors import Conflict
from console.tenancy.services import Denied
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot

log = structlog.get_logger(__name__)
HEAVY = ("preview", "plan__document", "plan__impact", "plan__curve", "plan__pace")
PREVIEW_SILENT = timedelta(seconds=60)
STAMPS = {
    GroupState.DRAINING: "draining_at",
    GroupState.WORK: "work_at",
    GroupState.RETURNING: "returning_at",
    **dict.fromkeys(OVER, "ended_at"),
}


@dataclass(frozen=True, slots=True)
class Held:
    """A node that the cluster is to be asked to cordon, or to take back into service, under a key of its own."""

    source: Source
    cluster: str
    member: int
    node: str
    back: bool
    key: str


@dataclass(frozen=True, slots=True)
class _Seen:
    """The newest reading of the campaign's cluster; ``place``: node -> row."""

    observation: Observation
    snapshot: Snapshot
    place: dict[str, int]
    busy: Any  # [n] pods that work there
    young: bool


def turns_due() -> list[int]:
    """Campaigns to look at; previews that nobody computes any more are sent out again."""
    now = timezone.now()
    silent = Q(previewing_at__isnull=True) | Q(previewing_at__lt=now - PREVIEW_SILENT)
    waiting = Campaign.objects.filter(silent, groups__in=selectors.groups_to_preview())
    for row in waiting.exclude(state__in=(State.DONE, State.ENDED)).distinct():
        if Campaign.objects.filter(silent, pk=row.pk).update(previewing_at=now):
            enqueue("campaigns.preview", campaign_id=row.pk)
    return list(Campaign.objects.filter(state__in=AT_WORK).order_by("pk").values_list("pk", flat=True))


def turn(campaign_id: int, now: datetime | None = None) -> list[Held]:
    """Looks at the campaign once and writes what follows; what the cluster is to be asked for comes back.

    Safe to run twice at once: of two looks at the same rows one writes.
    """
    at = now or timezone.now()
    row = Campaign.objects.select_related("source", "owner").get(pk=campaign_id)
    groups = list(Group.objects.filter(campaign=row).select_related("plan").defer(*HEAVY))
    seen = _seen(row, at) if _adopt(row, groups) else None
    if seen is None:
        return []
    members = _members(row, groups)
    moment = _moment(row, groups, members, seen, at)
    todo, waits = pace.decide(moment)
    facts = {"looked_at": at, "waits_for": waits, "out_now": len(moment.out), "may_be_out": moment.limits.nodes}
    Campaign.objects.filter(pk=row.pk).update(**facts)
    if not todo:
        return []
    with transaction.atomic():
        if not taken(row):
            return []
        by_pk = {group.pk: group for group in groups}
        held: list[Held] = []
        for one in todo:
            held += _apply(row, by_pk, members, seen, one, at)
    return held


# --- what is so -------------------------------------------------------------------------------------------------------
def _adopt(row: Campaign, groups: list[Group]) -> bool:
    """A plan that people made shorter, or asked again, takes the place of the one that ended for it.

    Not one that the owner could approve, since somebody else asked for it: no owner lets nodes of a campaign go alone.
    False where somebody else has changed the campaign since it was read.
    """
    mine = {g.plan_id: g for g in groups if g.under_way and g.plan is not None and g.plan.state in lifecycle.FINAL}
    children = Plan.objects.filter(parent_id__in=list(mine), undoes__isnull=True).order_by("pk")
    if row.owner.has_perm("plans.approve_plan"):
        children = children.filter(proposer=row.owner)
    for child in children.defer("document", "impact", "curve", "pace"):
        group = mine[child.parent_id]
        said = _because(row, group, Member.objects.filter(group=group, left_out="").count())
        with transaction.atomic():
            if not taken(row):
                return False
            Group.objects.filter(pk=group.pk).update(plan=child)
            Plan.objects.filter(pk=child.pk, because="").update(because=said)
        row.turn += 1
        group.plan = child
    return True


def _seen(row: Campaign, at: datetime) -> _Seen | None:
    found = inventory.newest(row.source)
    if found is None:
        return None
    try:
        snapshot = restrict(found[1], row.cluster)
    except InputError as gone:
        Campaign.objects.filter(pk=row.pk).update(looked_at=at, waits_for=f"the cluster is not there: {gone.reason}")
        return None
    young = (at - found[0].observed_at).total_seconds() <= max(60, 6 * row.source.period_s)
    place = {name: n for n, name in enumerate(snapshot.node_name)}
    busy = choosing.pods_on(snapshot)
    return _Seen(found[0], snapshot, place, busy, young)


def _members(row: Campaign, groups: list[Group]) -> dict[int, list[Member]]:
    """By group, of those that are not over."""
    found: dict[int, list[Member]] = {group.pk: [] for group in groups}
    for member in Member.objects.filter(group__campaign=row).exclude(group__state__in=OVER):
        found[member.group_id].append(member)
    return found


def _moment(
    row: Campaign, groups: list[Group], members: dict[int, list[Member]], seen: _Seen, at: datetime
) -> pace.Moment:
    snapshot = seen.snapshot
    chosen = {snapshot.node_name[n] for n in choosing.chosen(snapshot, row.selects, row.wanted)}
    renewed: set[str] = set()
    if row.done_label:
        renewed = {snapshot.node_name[n] for n in choosing.having(snapshot, row.done_label, row.done_value)}
    models = selectors.models_of(row)
    population = selectors.population(snapshot, models)
    freeze = next((one for one in active_freezes(at) if covers(one, row.cluster, models)), None)
    return pace.Moment(
        state=State(row.state),
        groups=tuple(
            _group(one, tuple(_node(one, m, seen, chosen, renewed) for m in members[one.pk]), seen) for one in groups
        ),
        limits=pace.Limits(
            groups=row.at_once,
            nodes=selectors.most_out(len(population), row.most_out, row.most_out_per_cent),
            failed=row.stop_after,
            asks=row.most_asks,
            refused=Refused(row.when_refused),
        ),
        now=at,
        out=frozenset(snapshot.node_name[n] for n in population if not snapshot.node_usable[n]),
        acts=row.source.acts,
        frozen="" if freeze is None else frozen_words(freeze),
        read=seen.young,
        forgiven=row.forgiven,
    )


def _group(group: Group, nodes: tuple[pace.Node, ...], seen: _Seen) -> pace.Group:
    plan = group.plan
    goal = {} if plan is None else plan.headline.get("goal") or {}
    return pace.Group(
        pk=group.pk,
        name=group.name,
        state=GroupState(group.state),
        nodes=nodes,
        domains=frozenset(group.domains),
        asks=group.asks,
        again_at=group.again_at,
        plan="" if plan is None else plan.state,
        plan_reason="" if plan is None else plan.reason,
        reached=bool(goal) and goal["reached"] == goal["wanted"],
        read_since=plan is None or plan.ended_at is None or seen.observation.observed_at >= plan.ended_at,
        allowed=group.allowed,
        marked=group.marked,
        outcome=group.outcome,
        shut=_shut(plan),
    )


def _shut(plan: Plan | None) -> str:
    gate = None if plan is None or plan.state != PlanState.EXPIRED else gate_of(plan)
    return "" if gate is None or gate.open else gate.words


def _node(group: Group, member: Member, seen: _Seen, chosen: set[str], renewed: set[str]) -> pace.Node:
    n = seen.place.get(member.name)
    returning = group.state == GroupState.RETURNING
    return pace.Node(
        name=member.name,
        there=n is not None,
        busy=n is not None and bool(seen.busy[n]),
        cordoned=n is not None and bool(seen.snapshot.node_cordoned[n]),
        renewed=member.name in renewed,
        chosen=member.name in chosen,
        ours=member.held_at is not None and (returning or member.given_back_at is None),
        left_out=bool(member.left_out),
        was_cordoned=member.was_cordoned,
    )


# --- what follows from it ---------------------------------------------------------------------------------------------
def _apply(
    row: Campaign, groups: dict[int, Group], members: dict[int, list[Member]], seen: _Seen, one: pace.Instruction,
    at: datetime,
) -> Iterable[Held]:  # fmt: skip
    match one:
        case pace.Go():
            _go(row, groups[one.group], one, at)
        case pace.LeaveOut():
            Member.objects.filter(group_id=one.group, name=one.node).update(left_out=one.reason)
            write_down(row, None, "campaign.node_left_out", one.reason, {"node": one.node}, groups[one.group])
        case pace.Ask():
            _ask(row, groups[one.group], one, seen, at)
        case pace.Take():
            member = next(m for m in members[one.group] if m.name == one.node)
            return [_take(row, groups[one.group], member, one.back, seen, at)]
        case pace.Become():
            ended = {"ended_at": at} if one.state in (State.DONE, State.ENDED) else {}
            Campaign.objects.filter(pk=row.pk).update(state=one.state, state_reason=one.reason, **ended)
            write_down(row, None, f"campaign.{one.state.value}", one.reason)
    return []


def _go(row: Campaign, group: Group, one: pace.Go, at: datetime) -> None:
    fields: dict[str, Any] = {"state": one.state, "again_at": one.again_at}
    stamp = STAMPS.get(one.state)
    if stamp is not None and (getattr(group, stamp) is None or one.state in OVER):
        fields[stamp] = at
    if one.state == GroupState.RETURNING:
        fields |= {"outcome": one.outcome, "reason": one.reason}
    elif one.state not in OVER or one.reason:
        fields["reason"] = one.reason
    Group.objects.filter(pk=group.pk).update(**fields)
    group.state = one.state
    write_down(row, None, f"campaign.group_{one.state.value}", fields.get("reason", ""), group=group)


def _ask(row: Campaign, group: Group, one: pace.Ask, seen: _Seen, at: datetime) -> None:
    """One plan, asked for by the owner; a question that cannot be asked counts as one that was refused."""
    cordoned = [n for n in one.nodes if seen.snapshot.node_cordoned[seen.place[n]]]
    Member.objects.filter(group=group, name__in=cordoned, held_at=None).update(was_cordoned=True)
    fields: dict[str, Any] = {"asks": group.asks + 1, "asked_at": group.asked_at or at, "again_at": None, "reason": ""}
    fields |= {"allowed": False, "draining_at": None}
    try:
        with transaction.atomic():
            plan = desk.request(
                row.owner, source_id=row.source_id, cluster=row.cluster, models=[], params={}, seed=0,
                goal={"kind": "drain", "nodes": list(one.nodes), "whole": True},
                request_key=f"campaign-{row.pk}-{group.pk}-{group.tries}-{group.asks + 1}",
                because=_because(row, group, len(one.nodes)),
            )  # fmt: skip
        fields |= {"plan": plan, "state": GroupState.ASKED}
    except (desk.RequestError, Denied, Conflict) as refused:
        why = f"could not be asked: {getattr(refused, 'reason', refused)}"
        over = group.asks + 1 >= row.most_asks
        fields |= {"state": GroupState.RETURNING if over else GroupState.AGAIN, "reason": why}
        fields |= {"outcome": GroupState.FAILED if over else "", "again_at": None if over else at + pace.AGAIN_AFTER}
    Group.objects.filter(pk=group.pk).update(**fields)
    said = {"nodes": list(one.nodes)[:100], "plan": fields["plan"].pk if "plan" in fields else None}
    write_down(row, None, f"campaign.group_{fields['state'].value}", fields["reason"], said, group)


def _because(row: Campaign, group: Group, nodes: int) -> str:
    """What who approves must know: more than moves follows from a yes."""
    of = Group.objects.filter(campaign=row).count()
    whose, stay = ("node is", "stays") if nodes == 1 else (f"{nodes} nodes are", "stay")
    then = (
        f"its {whose} cordoned while it runs and {stay} out of service until the work on them is done, about "
        f"{row.work_minutes} min"
        if row.source.acts
        else f"its {whose} then cordoned and worked on by hand, about {row.work_minutes} min"
    )
    return f"campaign {row.pk}, {row.name}, group {group.position + 1} of {of} ({group.name}): {row.reason}; {then}"


def _take(row: Campaign, group: Group, member: Member, back: bool, seen: _Seen, at: datetime) -> Held:
    """Written down before the cluster is asked: a node that may be cordoned is ours until it is seen to be given back.

    The key names the reading in which it was seen otherwise, so that the same look, repeated, asks for nothing new.
    """
    mine = Member.objects.filter(pk=member.pk)
    if back and mine.filter(given_back_at=None).update(given_back_at=at):
        write_down(row, None, "campaign.node_given_back", "", {"node": member.name}, group)
    elif not back and mine.filter(held_at=None).update(held_at=at):
        write_down(row, None, "campaign.node_cordoned", "", {"node": member.name}, group)
    words = f"campaign {member.pk} {'back' if back else 'out'} {seen.observation.revision}"
    return Held(row.source, row.cluster, member.pk, member.name, back, str(uuid.uuid5(uuid.NAMESPACE_OID, words)))
