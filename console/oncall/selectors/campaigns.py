"""Campaigns that need a person: those that halted, and groups of which nothing has to move."""

from datetime import datetime
from typing import Any

from django.db.models import Max, Q

from console.campaigns.choices import AT_WORK, GroupState, State
from console.campaigns.models import Campaign, Group, Member
from console.oncall.choices import Kind
from console.oncall.selectors.facts import Fact
from console.plans.choices import State as PlanState
from console.ui.figures import number, plural

NAMED = 3  # groups
AWAITS_SOMEBODY = Q(state=GroupState.APPROVAL, plan__state=PlanState.NOTHING_TO_DO, allowed=False)


def halted() -> list[tuple[Campaign, datetime]]:
    """With the instant at which the last group failed, as far as one is known."""
    rows = Campaign.objects.filter(state=State.HALTED).select_related("owner", "source")
    last = {row.pk: _failed(row).aggregate(at=Max("ended_at"))["at"] for row in rows}
    return [(row, last[row.pk] or row.looked_at or row.since) for row in rows]


def groups_to_take_out() -> list[Group]:
    """Empty ones that are taken out of service as soon as somebody other than the owner says so."""
    rows = Group.objects.filter(AWAITS_SOMEBODY, campaign__state__in=AT_WORK).exclude(campaign__state=State.ENDING)
    return list(rows.select_related("campaign__owner", "campaign__source", "plan"))


def nodes_held(row: Campaign) -> int:
    """Nodes that the campaign keeps out of service."""
    return Member.objects.filter(group__campaign=row, held_at__isnull=False, given_back_at=None).count()


def outcome_of(kind: Kind, campaign_id: int | None, group_id: int | None) -> str:
    """Why it no longer needs anybody, in words."""
    row = Campaign.objects.get(pk=campaign_id or 0)
    said = f": {row.state_reason}" if row.state_reason and row.state != State.ACTIVE else ""
    campaign = f"the campaign is {row.get_state_display().lower()}{said}"
    if kind == Kind.CAMPAIGN:
        return campaign
    group = Group.objects.get(pk=group_id or 0)
    if group.allowed:
        return f"{group.name} may be taken out of service"
    return campaign if row.state == State.ENDING else f"{group.name} is at: {group.get_state_display().lower()}"


def facts_of(row: Campaign, group: Group | None) -> list[Fact]:
    """What a person needs to know of it on a phone."""
    groups = Group.objects.filter(campaign=row)
    failed, back = _failed(row), groups.filter(state=GroupState.BACK).count()
    found = [
        Fact("What", f"{row.name}: {row.chosen}"),
        Fact("Where", row.cluster),
        Fact("Groups", f"{number(back)} of {number(groups.count())} back, {number(failed.count())} failed"),
    ]
    if group is not None:
        found.append(Fact("Group", f"{group.name}: {plural(group.nodes, 'node')}, {plural(group.gpus, 'GPU')}"))
    else:
        held = nodes_held(row)
        found += [Fact("Out of service", plural(held, "node"))] if held else []
        found += [Fact("Failed", f"{one.name}: {one.reason}") for one in failed.order_by("-ended_at")[:NAMED]]
    return [*found, Fact("Asked by", f"{row.owner.get_username()}: {row.reason}")]


def never_of(kind: Kind, row: Campaign) -> dict[int, str]:
    """Nobody lets nodes go that they asked for; to look at what failed is for the owner, too."""
    return {row.owner_id: "asked for this campaign"} if kind == Kind.GROUP else {}


def _failed(row: Campaign) -> Any:
    return Group.objects.filter(campaign=row, state=GroupState.FAILED)
