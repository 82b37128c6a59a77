"""What a message says: enough to know whether to get up, and the way to the page where one decides.

No message holds a token: whoever opens the link signs in and meets the same checks as on the large page.
"""

from datetime import datetime
from typing import Any

from django.conf import settings

from console.oncall.choices import Kind
from console.oncall.models import Alert
from console.oncall.selectors import campaigns
from console.oncall.selectors.facts import Fact, facts_of, headline_of

LONGEST_SUBJECT = 250
WHAT = {
    Kind.APPROVAL: "awaits approval",
    Kind.ROUTINE: "of a routine awaits approval",
    Kind.SECOND: "awaits its second approval",
    Kind.HALTED: "halted on a surprise",
    Kind.REVIEW: "broke the glass, and nobody has reviewed it",
    Kind.CAMPAIGN: "halted: groups have failed",
    Kind.GROUP: "has an empty group that an approver takes out of service",
}


def link_of(alert: Alert) -> str:
    """Absolute where the installation says under which address it is reached, else only the path."""
    return f"{settings.PUBLIC_URL}{alert.path}"


def subject_of(alert: Alert) -> str:
    about = f"{alert.about[:1].upper()}{alert.about[1:]}"
    said = f"[Slackline] {about} in {_cluster(alert)} {WHAT[Kind(alert.kind)]}: {_gist(alert)}"
    return " ".join(said.split())[:LONGEST_SUBJECT]


def body_of(alert: Alert, name: str, skipped: list[str], wait_until: datetime | None) -> str:
    facts = [f"{one.label}: {one.words}" for one in _facts(alert)]
    plan = alert.plan
    after = (
        "Everybody has been called by now."
        if wait_until is None
        else f"Without an answer the next call goes out at {wait_until:%R} UTC."
    )
    lines = [
        f"{name}, {alert.about} {WHAT[Kind(alert.kind)]}.",
        *([f"It says: {plan.reason}"] if alert.kind == Kind.HALTED and plan is not None and plan.reason else []),
        "",
        *facts,
        "",
        f"Decide: {link_of(alert)}",
        'You sign in there. "I am looking" stops the next call for a while.',
        after,
        *([f"Not called: {'; '.join(skipped)}."] if skipped else []),
    ]
    return "\n".join(" ".join(line.split()) for line in lines) + "\n"


def facts_for_programs(alert: Alert, call: int) -> dict[str, Any]:
    plan = alert.plan
    until = None if plan is None else plan.expires_at
    return {
        "kind": alert.kind,
        "alert": alert.pk,
        "call": call,
        "plan": alert.plan_id,
        "campaign": alert.campaign_id,
        "group": None if alert.group is None else alert.group.position + 1,
        "cluster": _cluster(alert),
        "digest": "" if plan is None else plan.digest,
        "link": link_of(alert),
        "valid_until": None if until is None else until.isoformat(),
        "opened_at": alert.opened_at.isoformat(),
    }


def _cluster(alert: Alert) -> str:
    about = alert.plan or alert.campaign
    return "" if about is None else about.cluster


def _facts(alert: Alert) -> list[Fact]:
    if alert.campaign is not None:
        return campaigns.facts_of(alert.campaign, alert.group)
    return facts_of(alert.plan)


def _gist(alert: Alert) -> str:
    plan = alert.plan
    if plan is None:
        return str(alert.group.name if alert.group is not None else alert.campaign and alert.campaign.state_reason)
    if alert.kind == Kind.HALTED:
        return str(plan.reason or "a move failed")
    if alert.kind == Kind.REVIEW and alert.review is not None:
        return f"by {alert.review.user.get_username()} at {alert.review.since:%F %R} UTC"
    until = f", until {plan.expires_at:%R} UTC" if plan.expires_at is not None else ""
    return f"{headline_of(plan)}{until}"
