"""Nodes that campaigns drain, for plans of others and of their own other groups: pods moved there would move twice."""

from console.campaigns.choices import AT_WORK, OVER, GroupState
from console.campaigns.models import Campaign, Group, Member
from console.plans.apart import Apart
from console.plans.models import Plan


def drained_by_others(plan: Plan) -> Apart:
    """Of groups under way, and of those whose turn comes; without the group that ``plan`` is asked for."""
    rows = Member.objects.filter(
        left_out="", group__campaign__source=plan.source_id, group__campaign__cluster=plan.cluster,
        group__campaign__state__in=AT_WORK,
    ).exclude(group__state__in=OVER)  # fmt: skip
    mine = {plan.pk, plan.parent_id} - {None}
    never: dict[str, str] = {}
    later: dict[str, str] = {}
    for name, campaign, state, asked in rows.values_list("name", "group__campaign", "group__state", "group__plan"):
        if asked in mine:
            continue
        waits = state == GroupState.WAITING
        (later if waits else never)[name] = _words(campaign, "drained later" if waits else "under way")
    return Apart(never, later)


def drained_after(row: Campaign, group_id: int) -> dict[str, str]:
    """Nodes of the campaign's groups whose turn comes after this one's, whether it is at work yet or not."""
    position = Group.objects.get(pk=group_id).position
    after = Member.objects.filter(left_out="", group__campaign=row, group__position__gt=position)
    names = after.filter(group__state=GroupState.WAITING).values_list("name", flat=True)
    return dict.fromkeys(names, _words(row.pk, "drained later"))


def _words(campaign: int, when: str) -> str:
    return f"campaign {campaign}, {when},"
