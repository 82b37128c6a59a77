"""What needs a person now, whatever is known of it on-call already: the rows of plans are the truth."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Prefetch

from console.automation.selectors.deciding import WAITS
from console.campaigns.models import Campaign, Group
from console.inventory.choices import ACTING
from console.oncall.choices import Kind
from console.oncall.models import Alert
from console.oncall.selectors import campaigns
from console.plans import selectors as plans
from console.plans.choices import State, Verdict
from console.plans.models import Decision, Override, Plan
from console.policies.choices import OBSERVE
from console.routines.models import Opening

GRACE = timedelta(seconds=10)  # what is decided at once, by a person who waits or by a rule, calls nobody
HEAVY = ("document", "curve")
HOURS = 3600


@dataclass(frozen=True, slots=True)
class Subject:
    """``key`` stays the same for as long as it is the same thing that needs a person."""

    key: str
    kind: Kind
    plan: Plan | None
    since: datetime
    review: Override | None = field(default=None)
    campaign: Campaign | None = field(default=None)
    group: Group | None = field(default=None)

    @property
    def cluster(self) -> str:
        about = self.plan or self.campaign
        return "" if about is None else about.cluster


def subjects(now: datetime) -> list[Subject]:
    """Plans that wait for an approval, runs and campaigns that halted, empty groups, and reviews; a few queries."""
    return [*_waiting(now), *_halted(), *_reviews(), *_of_campaigns(now)]


def _waiting(now: datetime) -> list[Subject]:
    given = Decision.objects.filter(verdict=Verdict.APPROVED).select_related("user").order_by("id")
    rows = Plan.objects.filter(state=State.PROPOSED, source__kind__in=ACTING, proposed_at__lte=now - GRACE)
    rows = rows.select_related("source", "proposer").defer(*HEAVY)
    found = list(rows.prefetch_related(Prefetch("decisions", given)))
    of_routines = set(Opening.objects.filter(plan__in=found).values_list("plan_id", flat=True))
    return [one for plan in found if (one := _approval(plan, plan.pk in of_routines)) is not None]


def _approval(plan: Plan, of_routine: bool) -> Subject | None:
    """None where nobody may approve it: plans there are reports; nor while nothing would come of a yes."""
    if plans.level_of(plan).value == OBSERVE or waits_for_itself(plan):
        return None
    signed = [one for one in plan.decisions.all() if one.digest == plan.digest]
    assert plan.proposed_at is not None
    if signed:
        return Subject(f"second:{plan.pk}", Kind.SECOND, plan, signed[-1].at)
    kind = Kind.ROUTINE if of_routine else Kind.APPROVAL
    return Subject(f"approval:{plan.pk}", kind, plan, plan.proposed_at)


def waits_for_itself(plan: Plan) -> str:
    """Why nobody is called about a proposal yet, in words: its windows are closed, or its policy has it; "" if not so.

    Its alert opens when a person can set it going; a plan that expires before its windows open calls nobody.
    """
    if plan.state != State.PROPOSED:
        return ""
    runs, gate = plans.may_run_now(plan)
    if not runs:
        too_late = plan.expires_at is not None and (gate.changes_at is None or plan.expires_at <= gate.changes_at)
        late = ", and it expires before they open" if too_late else ""
        return f"its windows are {gate.words} ({gate.why}){late}"
    return plan.left_to_people if plan.left_to_people.startswith(f"{WAITS}:") else ""


def _halted() -> list[Subject]:
    rows = Plan.objects.filter(state=State.HALTED).select_related("source", "proposer").defer(*HEAVY)
    found = []
    for plan in rows:
        stop = plan.stops.filter(state=State.HALTED).order_by("-id").first()
        if stop is not None:
            found.append(Subject(f"halted:{stop.pk}", Kind.HALTED, plan, stop.at))
    return found


def _reviews() -> list[Subject]:
    rows = Override.objects.filter(closed_at__isnull=True).select_related("plan__source", "plan__proposer", "user")
    return [Subject(f"review:{row.pk}", Kind.REVIEW, row.plan, row.since, row) for row in rows]


def _of_campaigns(now: datetime) -> list[Subject]:
    halts = [
        Subject(f"campaign:{row.pk}:{row.forgiven}", Kind.CAMPAIGN, None, since, campaign=row)
        for row, since in campaigns.halted()
    ]
    waits = [
        Subject(f"group:{one.pk}:{one.tries}:{one.asks}", Kind.GROUP, None, since, campaign=one.campaign, group=one)
        for one in campaigns.groups_to_take_out()
        if (since := (one.plan and one.plan.ended_at) or now) <= now - GRACE
    ]
    return [*halts, *waits]


def is_due(subject: Subject, review_hours: int, now: datetime) -> bool:
    """A review may stay open for a while before it calls anybody; everything else is due at once."""
    return subject.kind != Kind.REVIEW or now - subject.since >= timedelta(seconds=review_hours * HOURS)


def never_of(alert: Alert) -> dict[int, str]:
    """Who must not be called about it, and why: who asked, who broke the glass, who has said yes already."""
    plan = alert.plan
    if plan is None:
        return campaigns.never_of(Kind(alert.kind), alert.campaign) if alert.campaign is not None else {}
    never = {plan.proposer_id: "asked for this plan"}
    if alert.kind == Kind.SECOND:
        said = Decision.objects.filter(plan=plan, verdict=Verdict.APPROVED, digest=plan.digest)
        never |= dict.fromkeys(said.values_list("user_id", flat=True), "has approved it already")
    if alert.review is not None:
        never[alert.review.user_id] = "broke the glass"
    return never


def outcome_of(alert: Alert) -> str:
    """Why it no longer needs anybody, in words."""
    if alert.plan_id is None:
        return campaigns.outcome_of(Kind(alert.kind), alert.campaign_id, alert.group_id)
    plan: Any = Plan.objects.select_related("approver").defer(*HEAVY).get(pk=alert.plan_id)
    if alert.kind == Kind.REVIEW:
        row = Override.objects.select_related("closed_by").get(pk=alert.review_id or 0)
        return "closed" if row.closed_by is None else f"closed by {row.closed_by.get_username()}"
    if alert.kind == Kind.HALTED and plan.state != State.ABORTED:
        return f"the plan is {plan.get_state_display().lower()}"
    last = plan.decisions.select_related("user").order_by("-id").first()
    if plan.state == State.PROPOSED and last is not None and alert.kind != Kind.SECOND:
        return f"the first approval was given by {last.user.get_username()}"
    if plan.state == State.PROPOSED and (waits := waits_for_itself(plan)):
        return f"nobody is needed yet: {waits}"
    if plan.state == State.PROPOSED:
        return "nobody can approve it any more: plans there are reports"
    if plan.approver is not None and alert.kind != Kind.HALTED:
        by_policy = last is not None and last.policy
        return "started automatically, by policy" if by_policy else f"approved by {plan.approver.get_username()}"
    if plan.state == State.REJECTED and last is not None:
        return f"rejected by {last.user.get_username()}"
    said = f": {plan.reason}" if plan.reason else ""
    return f"the plan is {plan.get_state_display().lower()}{said}"
