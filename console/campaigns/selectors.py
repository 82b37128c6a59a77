"""Campaigns as people read them, and what the services ask of a reading."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.campaigns import choosing
from console.campaigns.choices import FINAL, GROUPINGS, OVER, ZONE, GroupState, Order, State
from console.campaigns.forecast import LEAST, Forecast, forecast
from console.campaigns.models import Campaign, Group, Member
from console.consolidation.selectors import Scope, digest_of
from console.inventory import archive
from console.inventory.archive import Snapshot
from console.tenancy.services import Denied, require
from console.ui.figures import number, plural
from console.ui.tones import reason_of

PREVIEWED = 200  # groups of one campaign that are looked at before their turn
LISTED = 12  # nodes that a row names
UNDER_WAY = tuple(one for one in GroupState if one not in OVER and one != GroupState.WAITING)
# What would let a group be drained that cannot be now, by what keeps it.
HELP = {
    "locked": "ask their owners to release the locks",
    "move_never": "their owners have to end or move them",
    "budget": "wait until more replicas are ready",
    "gang": "their owners have to allow that the gang is stopped, or to stop it",
    "terminating": "wait until they have ended",
    "lender": "wait until the sleeping pod has woken or its borrowers have ended",
}
ROOM = ("gpus", "cpu", "memory")
NEVER_THERE = ("model", "gpu_memory", "selector", "taint", "zone", "only_node")


# --- lists ------------------------------------------------------------------------------------------------------------
def campaigns(viewer: Any) -> QuerySet[Campaign]:
    """The newest first, each with its numbers of groups."""
    require(viewer, "plans.view_plan")
    rows = Campaign.objects.select_related("owner", "source")
    counted = {
        "groups_count": Count("groups"),
        "groups_back": Count("groups", filter=Q(groups__state=GroupState.BACK)),
        "groups_over": Count("groups", filter=Q(groups__state__in=OVER)),
        "groups_failed": Count("groups", filter=Q(groups__state=GroupState.FAILED)),
    }
    return rows.annotate(**counted).order_by("-pk")


def campaign_for(viewer: Any, campaign_id: int) -> Campaign:
    """Raises ``Http404``."""
    return get_object_or_404(campaigns(viewer), pk=campaign_id)


def own(user: Any, campaign_id: int) -> Campaign:
    """Of somebody who may change it: its owner, or an approver.  Raises ``Denied``."""
    require(user, "plans.request_plan")
    row = campaign_for(user, campaign_id)
    if not may_change(user, row):
        raise Denied(f"Campaign {campaign_id} is {row.owner}'s: they or an approver may change it.")
    return row


def may_change(user: Any, row: Campaign) -> bool:
    mine = row.owner_id == user.pk or user.has_perm("plans.approve_plan")
    return bool(mine and user.has_perm("plans.request_plan"))


def groups_of(viewer: Any, campaign_id: int) -> QuerySet[Group]:
    require(viewer, "plans.view_plan")
    heavy = ("plan__document", "plan__impact", "plan__curve", "plan__pace")
    return Group.objects.filter(campaign_id=campaign_id).select_related("plan__source").defer(*heavy)


def members_of(viewer: Any, campaign_id: int) -> QuerySet[Member]:
    require(viewer, "plans.view_plan")
    return Member.objects.filter(group__campaign_id=campaign_id).select_related("group").order_by("group", "name")


def groups_to_preview() -> QuerySet[Group]:
    """Those that nobody has looked at, in their order."""
    waiting = Group.objects.filter(previewed_at=None, position__lt=PREVIEWED, state=GroupState.WAITING)
    return waiting.exclude(campaign__state__in=FINAL).order_by("position")


# --- limits -----------------------------------------------------------------------------------------------------------
def models_of(row: Campaign) -> set[str]:
    return set(Member.objects.filter(group__campaign=row).values_list("gpu_model", flat=True).distinct())


def population(snapshot: Snapshot, models: set[str]) -> list[int]:
    """Rows of the nodes of these GPU models: what may be out of service is a part of them."""
    return [n for n in range(len(snapshot.node_name)) if choosing.model_of(snapshot, n) in models]


def most_out(nodes: int, count: int | None, per_cent: int | None) -> int:
    """The lower of both limits; a share is rounded down, but to no less than one node."""
    share = None if per_cent is None else max(1, nodes * per_cent // 100)
    return min(limit for limit in (count, share) if limit is not None)


# --- the form ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Options:
    """What can be chosen in one cluster."""

    labels: dict[str, dict[str, int]]
    models: list[str]
    groupings: list[tuple[str, str]]
    protects: list[tuple[str, str]]


def options_of(scope: Scope | None) -> Options:
    if scope is None:
        return Options({}, [], list(GROUPINGS.items()), [])
    try:
        snapshot = archive.load(digest_of(scope))
    except archive.GoneError:
        return options_of(None)
    others = [(level, f"By {level}") for level in snapshot.levels if level not in GROUPINGS]
    places = [*snapshot.levels, ZONE]
    return Options(
        choosing.labels_of(snapshot),
        list(scope.models),
        [*list(GROUPINGS.items())[:2], *others, *list(GROUPINGS.items())[2:]],
        [(one, one.upper() if one == "asw" else one) for one in places],
    )


def usual_pair(options: Options) -> str:
    """The driver version that fewest nodes have, where nodes tell it: what most campaigns are about."""
    drivers = [
        (nodes, f"{label}={value}")
        for label, values in options.labels.items()
        for value, nodes in values.items()
        if "driver" in label
    ]
    return min(drivers)[1] if drivers else ""


def limit_words(row: Campaign) -> str:
    parts = [f"{number(row.most_out)} nodes"] if row.most_out is not None else []
    if row.most_out_per_cent is not None:
        parts.append(f"{row.most_out_per_cent} % of the nodes of its GPU models")
    return " and at most ".join(parts)


def order_words(row: Campaign) -> str:
    return "fewest GPUs in use first, as of when it was made" if row.order == Order.EMPTIEST else "by name"


# --- one campaign -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Why:
    """What keeps a group from being drained now, and what would help."""

    reason: str
    words: str
    help: str


@dataclass(frozen=True, slots=True)
class GroupRow:
    group: Group
    can: bool | None  # be drained alone, as last computed; None: not known
    why: list[Why]
    held: list[str]  # nodes that the campaign has cordoned
    left_out: list[tuple[str, str]]
    trouble: list[tuple[str, str]]
    seconds: float | None  # since it began, or that it took
    late: bool  # the work takes longer than was said

    @property
    def number(self) -> int:
        return self.group.position + 1


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the page of one campaign says."""

    row: Campaign
    groups: list[GroupRow]
    counts: dict[str, int]  # group state -> groups
    nodes: int
    gpus: int
    gpu_hours: float  # out of service for the work alone
    held: list[tuple[str, str, datetime]]  # node, group, since when
    end: Forecast | None
    end_at: tuple[datetime, datetime, datetime] | None  # expected, earliest, latest
    missing: int  # groups that have to be back before an end is said

    @property
    def back(self) -> int:
        return self.counts.get(GroupState.BACK, 0)


def page_of(viewer: Any, campaign_id: int, now: datetime | None = None) -> Page:
    at = now or timezone.now()
    row = campaign_for(viewer, campaign_id)
    groups = list(groups_of(viewer, campaign_id))
    members: dict[int, list[Member]] = {group.pk: [] for group in groups}
    told = ~Q(left_out="") | ~Q(trouble="") | Q(held_at__isnull=False)
    for member in Member.objects.filter(told, group__campaign=row).order_by("name"):
        members[member.group_id].append(member)
    rows = [_group_row(row, group, members[group.pk], at) for group in groups]
    held = [
        (m.name, one.group.name, m.held_at)
        for one in rows
        for m in members[one.group.pk]
        if m.held_at is not None and one.group.under_way
    ]
    end = forecast_of(row, groups, at)
    spans = None if end is None else tuple(at + timedelta(seconds=s) for s in (end.seconds, end.low, end.high))
    return Page(
        row=row,
        groups=rows,
        counts=dict(Counter(group.state for group in groups)),
        nodes=sum(group.nodes for group in groups),
        gpus=sum(group.gpus for group in groups),
        gpu_hours=sum(group.gpus for group in groups) * row.work_minutes / 60,
        held=held,
        end=end,
        end_at=spans,  # type: ignore[arg-type]
        missing=max(0, LEAST - sum(group.state == GroupState.BACK for group in groups)),
    )


def forecast_of(row: Campaign, groups: list[Group], now: datetime) -> Forecast | None:
    """None until enough groups are back, and where nothing goes on."""
    if row.state not in (State.ACTIVE, State.PAUSED, State.HALTED):
        return None
    took = [
        (g.ended_at - g.asked_at).total_seconds()
        for g in groups
        if g.state == GroupState.BACK and g.ended_at is not None and g.asked_at is not None
    ]
    since = [(now - g.asked_at).total_seconds() for g in groups if g.under_way and g.asked_at is not None]
    return forecast(took, since, sum(g.state == GroupState.WAITING for g in groups), row.at_once)


def _group_row(row: Campaign, group: Group, members: list[Member], now: datetime) -> GroupRow:
    said = group.preview or {}
    end = group.ended_at or (now if group.under_way else None)
    seconds = (end - group.asked_at).total_seconds() if end is not None and group.asked_at is not None else None
    late = group.state == GroupState.WORK and group.work_at is not None
    return GroupRow(
        group=group,
        can=said.get("ok"),
        why=[_why(one, group.nodes) for one in said.get("why", [])],
        held=[m.name for m in members if m.is_held and group.under_way],
        left_out=[(m.name, m.left_out) for m in members if m.left_out],
        trouble=[(m.name, m.trouble) for m in members if m.trouble],
        seconds=seconds,
        late=late and now - group.work_at > timedelta(minutes=row.work_minutes),  # type: ignore[operator]
    )


def _small(label: str) -> str:
    """Within a sentence; an abbreviation keeps its capitals."""
    words = label.removesuffix(" pod")  # of how many pods was said just before
    return words if words[1:2].isupper() else f"{words[:1].lower()}{words[1:]}"


def _help(word: str, nodes: int) -> str:
    """In a group of so many nodes."""
    if word in HELP:
        return HELP[word]
    others = "make room on nodes that may take them, or their owners have to allow other nodes"
    first = "make room first" if word in ROOM else others if word in NEVER_THERE else "drain others first"
    return f"{first}, or drain fewer nodes together" if nodes > 1 else first


def _why(said: dict[str, Any], nodes: int) -> Why:
    word = said["reason"]
    words = f"{plural(said['pods'], 'pod')} on {plural(said['nodes'], 'node')}: {_small(reason_of(word).label)}"
    if said["until"]:
        words += f", the last until {datetime.fromisoformat(said['until']):%F %H:%M} UTC"
    elif word == "locked":
        words += ", without a known end"
    return Why(word, f"{words} (such as {said['first']})", _help(word, nodes))
