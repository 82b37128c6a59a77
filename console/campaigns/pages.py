"""What the pages of campaigns say in words."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.audit.models import Entry
from console.campaigns.choices import AT_WORK, GroupState, State
from console.campaigns.models import Campaign, Group
from console.campaigns.selectors import UNDER_WAY, Page
from console.tenancy.services import require
from console.ui.figures import duration, number, plural


@dataclass(frozen=True, slots=True)
class Happening:
    """An entry of the audit log in words; ``who`` is "" where the console itself acted."""

    at: datetime
    words: str
    who: str
    reason: str


HAPPENED = {
    "made": "made", "begun": "begun", "looked_at": "previews asked for", "active": "resumed", "paused": "paused",
    "halted": "halted", "ending": "ends", "ended": "ended", "done": "all groups are over", "work_done": "work done",
    "taken_out": "may be taken out of service", "group_skipped": "skipped",
    "group_again": "its plan is asked for again", "group_retried": "tried again",
    "node_left_out": "left out", "node_cordoned": "cordoned", "node_given_back": "given back",
    "group_planning": "plan asked for", "group_proposed": "awaits approval", "group_draining": "draining",
    "group_drained": "drained", "group_work": "work begins", "group_returning": "is given back",
    "group_back": "back in service", "group_failed": "failed",
}  # fmt: skip


def happened(viewer: Any, campaign_id: int, limit: int = 200) -> list[Happening]:
    """What was done to it and by it, the newest first."""
    require(viewer, "plans.view_plan")
    rows = Entry.objects.filter(target_kind="campaign", target_id=str(campaign_id))
    return [_happening(one) for one in rows.order_by("-pk")[:limit]]


def _happening(entry: Entry) -> Happening:
    word = entry.action.removeprefix("campaign.")
    subject = entry.detail.get("node") or entry.detail.get("group") or "Campaign"
    plan = f" (plan {entry.detail['plan']})" if entry.detail.get("plan") else ""
    words = f"{subject}: {HAPPENED.get(word, word.replace('_', ' '))}{plan}"
    return Happening(entry.at, words, "" if entry.actor == "system" else entry.actor, entry.reason)


def next_step(row: Campaign, group: Group) -> str:
    """What the group waits for, in one sentence."""
    acts = row.source.acts
    match group.state:
        case GroupState.APPROVAL if group.plan is not None and group.plan.state == "nothing_to_do":
            return "Nothing has to move: an approver other than the owner takes its nodes out of service."
        case GroupState.APPROVAL if not acts:
            return "Only observed: move its pods with your own tools, as its plan lists. This page sees it."
        case GroupState.APPROVAL if group.plan is not None and group.plan.state == "approved":
            return "Approved: somebody has to start its plan."
        case GroupState.APPROVAL:
            return "An approver other than the owner decides about its plan."
        case GroupState.DRAINING if group.plan is not None and group.plan.state in ("paused", "halted"):
            return f"Its run is {group.plan.state}: resume or abort it on the page of its plan."
        case GroupState.DRAINED if not acts:
            return "Not held: cordon its nodes yourself. This page sees when they are."
        case GroupState.DRAINED:
            return "Its nodes are clear, and are being cordoned."
        case GroupState.WORK:
            until = f" or {row.done_label} = {row.done_value} is seen on all of its nodes" if row.done_label else ""
            return f"The nodes are yours. They are given back when somebody says that the work is done{until}."
        case GroupState.RETURNING if not acts:
            return "Uncordon its nodes yourself. This page sees when they are."
        case GroupState.AGAIN if group.again_at is not None:
            return f"Its plan is asked for again from {group.again_at:%H:%M:%S} UTC on."
    return ""


@dataclass(frozen=True, slots=True)
class Tile:
    label: str
    value: object
    unit: str
    note: str


def tiles_of(page: Page, now: datetime) -> list[Tile]:
    row, counts = page.row, page.counts
    going = sum(counts.get(one, 0) for one in UNDER_WAY)
    failed, skipped = counts.get(GroupState.FAILED, 0), counts.get(GroupState.SKIPPED, 0)
    told = [f"{number(going)} under way"] + [
        f"{number(n)} {w}" for n, w in ((failed, "failed"), (skipped, "skipped")) if n
    ]
    out = row.out_now if row.state in AT_WORK else None
    hours = page.gpu_hours
    each = f"{duration(row.work_minutes * 60)} a group"
    return [
        Tile("Groups back", f"{number(page.back)} of {number(len(page.groups))}", "", ", ".join(told)),
        Tile("Nodes", page.nodes, "", plural(page.gpus, "GPU")),
        Tile("Held now", len(page.held), "node" if len(page.held) == 1 else "nodes", "cordoned by this campaign"),
        Tile(
            "Out of service", out, "node" if out == 1 else "nodes",
            "of its GPU models, for any reason" if out is None else f"at most {number(row.may_be_out)}, for any reason",
        ),
        Tile("Work takes", number(hours, 0 if hours >= 10 else 1), "GPU-h", each),
        Tile("Ends", *_end_words(page, now)),
    ]  # fmt: skip


def _end_words(page: Page, now: datetime) -> tuple[object, str, str]:
    """(value, unit, note) of the forecast; unknown is a dash, with what is missing."""
    row = page.row
    if row.ended_at is not None:
        return f"{row.ended_at:%H:%M}", "UTC", f"{row.ended_at:%F}"
    if page.end is None or page.end_at is None:
        if row.state == State.DRAFT:
            return None, "", "not begun"
        return None, "", _missing_words(page.missing)
    at, early, late = page.end_at
    form = "%H:%M" if late.date() == now.date() else "%d %b %H:%M"
    rests = f"{duration(page.end.mean)} a group, from {plural(page.end.groups, 'group')}"
    if page.end.late:  # how much longer nobody knows: an interval would pretend to
        return f"after {at:{form}}", "UTC", f"{rests}; the one under way takes longer"
    return f"{at:{form}}", "UTC", f"80 %: {early:{form}}–{late:{form}}; {rests}"


def _missing_words(missing: int) -> str:
    if missing == 0:
        return "nothing is ahead"
    return f"known when {plural(missing, 'more group')} {'is' if missing == 1 else 'are'} back"
