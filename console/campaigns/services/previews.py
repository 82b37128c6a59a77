"""What workers find out about each group before it begins: whether it alone could be drained now."""

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from console.campaigns import selectors
from console.campaigns.draining import drained_after
from console.campaigns.models import Campaign, Group, Member
from console.inventory import services as inventory
from console.plans.apart import Apart, apart_from
from console.plans.models import Plan
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.goal import DRAIN


@dataclass(frozen=True, slots=True)
class Newest:
    revision: int
    snapshot: Snapshot


def newest_of(campaign_id: int) -> Newest | None:
    """The campaign's cluster as it was read last, without the locks that their owners release now."""
    row = Campaign.objects.select_related("source").get(pk=campaign_id)
    found = inventory.newest(row.source)
    if found is None:
        return None
    try:
        snapshot = restrict(found[1], row.cluster)
    except InputError:
        return None
    return Newest(found[0].revision, inventory.released(row.source, snapshot))


def group_to_preview(campaign_id: int) -> tuple[int, tuple[str, ...]] | None:
    """The next group that nobody has looked at, with its nodes; the worker shows that it lives."""
    Campaign.objects.filter(pk=campaign_id).update(previewing_at=timezone.now())
    group = selectors.groups_to_preview().filter(campaign=campaign_id).first()
    if group is None:
        return None
    return group.pk, tuple(Member.objects.filter(group=group, left_out="").values_list("name", flat=True))


def question_of(campaign_id: int, group_id: int, nodes: tuple[str, ...]) -> tuple[Plan, Apart]:
    """The plan that the group would be asked for now, which nobody stores, and the nodes that it would keep off.

    Those of the groups after it are among them: a draft drains nobody yet, but its first plan will find them so.
    """
    row = Campaign.objects.select_related("source").get(pk=campaign_id)
    goal = {"kind": DRAIN, "nodes": list(nodes), "whole": True}
    plan = Plan(source=row.source, cluster=row.cluster, models_in_scope=[], params={"goal": goal}, seed=0)
    found, after = apart_from(plan), drained_after(row, group_id)
    after = {name: whose for name, whose in after.items() if name not in found.never and name not in nodes}
    return plan, Apart(found.never, {**after, **found.later})


def keep_preview(group_id: int, found: dict[str, Any], revision: int) -> None:
    said = {"preview": found, "previewed_at": timezone.now(), "previewed_revision": revision}
    Group.objects.filter(pk=group_id).update(**said)


def note_trouble(member_id: int, words: str) -> None:
    """What the cluster said when it was asked to cordon a node or to give it back; "" where it did."""
    Member.objects.filter(pk=member_id).exclude(trouble=words).update(trouble=words)
