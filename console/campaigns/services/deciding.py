"""What people do to a campaign and its groups."""

from typing import Any

from django.db import transaction
from django.http import Http404
from django.utils import timezone

from console.campaigns import selectors
from console.campaigns.choices import AT_WORK, GroupState, State
from console.campaigns.models import Campaign, Group, Member
from console.campaigns.services.making import refuse_held_elsewhere
from console.campaigns.services.writing import take, write_down
from console.dispatch.services import enqueue
from console.plans import lifecycle
from console.plans import services as plans
from console.plans.choices import State as PlanState
from console.plans.models import Plan
from console.rest.errors import Conflict
from console.tenancy.services import Denied, require

_DONE_TO = {State.ACTIVE: "started or resumed", State.PAUSED: "paused", State.ENDING: "ended"}
STOPPABLE = (*lifecycle.COMPUTING, *lifecycle.AWAITING)


def pause_campaign(user: Any, campaign_id: int, reason: str) -> Campaign:
    """No further group begins and no plan is asked for again; groups under way go on until they are back."""
    row = selectors.own(user, campaign_id)
    _need(reason, "it is shown beside the campaign")
    _become(row, user, (State.ACTIVE, State.HALTED), State.PAUSED, reason.strip())
    return selectors.campaign_for(user, campaign_id)


def resume_campaign(user: Any, campaign_id: int, reason: str = "") -> Campaign:
    """From a pause, or after somebody has looked at the groups that failed."""
    row = selectors.own(user, campaign_id)
    failed = Group.objects.filter(campaign=row, state=GroupState.FAILED).count()
    _become(row, user, (State.PAUSED, State.HALTED), State.ACTIVE, reason.strip(), forgiven=failed)
    return selectors.campaign_for(user, campaign_id)


def end_campaign(user: Any, campaign_id: int, reason: str) -> Campaign:
    """Groups that wait are skipped, plans that do not run are cancelled, runs aborted, and what is held is given back.

    Where work goes on, the nodes stay out of service until somebody says that it is done.
    """
    row = selectors.own(user, campaign_id)
    _need(reason, "it is kept in the audit log")
    with transaction.atomic():
        draft = row.state == State.DRAFT
        _become(
            row, user, (State.DRAFT, *AT_WORK[:3]), State.ENDED if draft else State.ENDING, reason.strip(),
            **({"ended_at": timezone.now()} if draft else {}),
        )  # fmt: skip
        waiting = Group.objects.filter(campaign=row, state=GroupState.WAITING)
        waiting.update(state=GroupState.SKIPPED, reason="the campaign was ended", ended_at=timezone.now())
        for plan_id in Group.objects.filter(campaign=row, plan__isnull=False).values_list("plan_id", flat=True):
            _stop(user, plan_id, f"campaign {row.pk} was ended: {reason.strip()}")
    return selectors.campaign_for(user, campaign_id)


def mark_done(user: Any, campaign_id: int, position: int, reason: str = "") -> Group:
    """The work on this group is done: its nodes are given back."""
    require(user, "plans.run_plan")
    row, group = _group(user, campaign_id, position)
    _change(row, group, user, "campaign.work_done", reason, (GroupState.WORK,), marked=True)
    return group


def take_out(user: Any, campaign_id: int, position: int, reason: str) -> Group:
    """Let a group of which nothing has to move be taken out of service; as with any plan, not by who asked."""
    require(user, "plans.approve_plan")
    row, group = _group(user, campaign_id, position)
    if row.owner_id == user.pk:
        raise Denied("You asked for this campaign: somebody else must let its nodes be taken out of service.")
    _need(reason, "it is kept in the audit log")
    if group.plan is None or group.plan.state != PlanState.NOTHING_TO_DO:
        raise Conflict(f"{group.name} has a plan that moves pods: that is to be approved.")
    _change(row, group, user, "campaign.taken_out", reason, (GroupState.APPROVAL,), allowed=True)
    return group


def skip_group(user: Any, campaign_id: int, position: int, reason: str) -> Group:
    """A group that waits, or whose plan does not run, is left as it is."""
    row, group = _group(user, campaign_id, position, own=True)
    _need(reason, "it is shown beside the group")
    early = (GroupState.WAITING, GroupState.ASKED, GroupState.AGAIN, GroupState.APPROVAL)
    held = group.state != GroupState.WAITING  # of a plan that has run before, some of its nodes may be held
    to = GroupState.RETURNING if held else GroupState.SKIPPED
    now = timezone.now()
    with transaction.atomic():
        _change(
            row, group, user, "campaign.group_skipped", reason, early, state=to, reason=reason.strip(),
            outcome=GroupState.SKIPPED if held else "", **({"returning_at": now} if held else {"ended_at": now}),
        )  # fmt: skip
        if group.plan_id is not None:
            _stop(user, group.plan_id, f"its group was skipped: {reason.strip()}")
    return group


def try_again(user: Any, campaign_id: int, position: int) -> Group:
    """A group that failed or was skipped waits for its turn once more."""
    row, group = _group(user, campaign_id, position, own=True)
    if row.state not in AT_WORK or row.state == State.ENDING:
        raise Conflict(f"Campaign {row.pk} is {row.get_state_display().lower()}: no group begins any more.")
    with transaction.atomic():
        refuse_held_elsewhere(row, Member.objects.filter(group=group))
        _change(
            row, group, user, "campaign.group_retried", "", (GroupState.FAILED, GroupState.SKIPPED),
            state=GroupState.WAITING, reason="", outcome="", asks=0, tries=group.tries + 1, allowed=False, marked=False,
            again_at=None, asked_at=None, draining_at=None, work_at=None, returning_at=None, ended_at=None,
        )  # fmt: skip
        Member.objects.filter(group=group).update(left_out="", held_at=None, given_back_at=None)
    return group


def _need(reason: str, why: str) -> None:
    if not reason.strip():
        raise Conflict(f"Say why: {why}.")


def _become(row: Campaign, user: Any, sources: tuple[State, ...], target: State, reason: str, **fields: Any) -> None:
    with transaction.atomic():
        take(row)
        said = {"state": target, "state_reason": reason, "waits_for": "", **fields}
        if not Campaign.objects.filter(pk=row.pk, state__in=sources).update(**said):
            raise Conflict(_why_not(row, target))
        write_down(row, user, f"campaign.{target.value}", reason)
        enqueue("campaigns.turn")


def _why_not(row: Campaign, target: State) -> str:
    """Whose act came first, in a sentence: whoever lost a race reads it."""
    row.refresh_from_db()
    because = f" (“{row.state_reason}”)" if row.state_reason else ""
    now = f"Campaign {row.pk} is {row.get_state_display().lower()}"
    if row.state == target:
        return f"{now} already{because}."
    return f"{now}{because}: it cannot be {_DONE_TO.get(target, target.label.lower())}."


def _change(
    row: Campaign, group: Group, user: Any, action: str, why: str, sources: tuple[GroupState, ...], **fields: Any
) -> None:
    with transaction.atomic():
        take(row)
        if not Group.objects.filter(pk=group.pk, state__in=sources).update(**fields):
            words = group.get_state_display().lower()
            only = " or ".join(one.label.lower() for one in sources)
            raise Conflict(f"{group.name} is at: {words}. This can be done only at: {only}.")
        write_down(row, user, action, why.strip(), group=group)
        enqueue("campaigns.turn")


def _group(user: Any, campaign_id: int, position: int, own: bool = False) -> tuple[Campaign, Group]:
    row = selectors.own(user, campaign_id) if own else selectors.campaign_for(user, campaign_id)
    group = Group.objects.filter(campaign=row, position=position).select_related("plan").first()
    if group is None:
        raise Http404
    return row, group


def _stop(user: Any, plan_id: int, reason: str) -> None:
    """Whatever of it can still be stopped; what is over stays as it is."""
    plan = Plan.objects.only("state").get(pk=plan_id)
    try:
        if plan.state in STOPPABLE:
            plans.cancel_plan(user, plan_id, reason)
        elif plan.state in lifecycle.RUNNING:
            plans.abort_plan(user, plan_id, reason)
    except (plans.Conflict, Denied):
        # It ended in this very moment, and the next look sees how; or somebody else has asked for it, whose it stays.
        return
