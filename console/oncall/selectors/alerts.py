"""Alerts: which are open, whom they call next, and what happened to each."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.oncall.choices import EventKind, MessageState, Reach
from console.oncall.ladder import Call, Pace, following
from console.oncall.models import Alert, Event, Message
from console.oncall.selectors.people import approvers, callable_people
from console.oncall.selectors.rotas import duty_at
from console.oncall.selectors.subjects import never_of
from console.oncall.turns import names
from console.tenancy.services import require

NEEDED = (  # of an alert, to say what it is about and whom it may call
    "plan__source", "plan__proposer", "review__user", "rota", "acknowledged_by", "campaign__owner", "group",
)  # fmt: skip
SHOWN_CALLS = 8
UNREACHED_FOR = timedelta(hours=24)
ADDRESS = re.compile(r"[^\s<>@\"',;:]+@[^\s<>@\"',;:]+")
BAD = frozenset({EventKind.FAILED, EventKind.NOBODY})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an alert's history."""

    at: datetime
    words: str
    state: str = ""  # of the message that it is about
    bad: bool = False


def _whole() -> QuerySet[Alert]:
    return Alert.objects.select_related(*NEEDED).defer("plan__document", "plan__curve")


def alerts(viewer: Any) -> QuerySet[Alert]:
    """The newest first."""
    require(viewer, "oncall.view_rota")
    return _whole()


def alert_detail(viewer: Any, alert_id: int) -> Alert:
    """Raises ``Http404``."""
    require(viewer, "oncall.view_rota")
    return get_object_or_404(_whole(), pk=alert_id)


def alerts_of(viewer: Any, plan_id: int) -> list[Alert]:
    """All alerts of a plan, the newest first."""
    return list(alerts(viewer).filter(plan_id=plan_id))


def alerts_of_campaign(viewer: Any, campaign_id: int) -> list[Alert]:
    """The newest first; those that are open among them."""
    return list(alerts(viewer).filter(campaign_id=campaign_id))


def open_alert_of(viewer: Any, plan_id: int) -> Alert | None:
    """Of several that are open: first one that nobody has taken and this person may, then one that is theirs."""
    rows = list(alerts(viewer).filter(plan_id=plan_id, resolved_at__isnull=True))
    return min(rows, key=lambda one: _distance(viewer, one), default=None)


def _distance(viewer: Any, alert: Alert) -> int:
    if viewer.pk in never_of(alert):
        return 3
    return {None: 0, viewer.pk: 1}.get(alert.acknowledged_by_id, 2)


def next_call(alert: Alert, at: datetime) -> tuple[Call | None, tuple[tuple[Any, str], ...]]:
    """(whom it calls then, who is skipped and why)."""
    rota, never = alert.rota, never_of(alert)
    duty = duty_at(rota, at, never)
    told = list(alert.messages.values_list("user_id", "call"))
    singles = len({call for _, call in told}) if alert.reached in ("", Reach.PERSON) else rota.singles
    call = following(
        Pace(rota.next_minutes, rota.singles, rota.last_minutes),
        duty.line,
        callable_people(approvers(), never),
        {user for user, _ in told},
        singles,
        Reach(alert.reached) if alert.reached else None,
    )
    return call, duty.skipped


def calls_ahead(alert: Alert) -> str:
    """ "then Ben at 03:25", as it stands now; "" where nobody is called any more."""
    if alert.due_at is None:
        return ""
    call, _ = next_call(alert, max(alert.due_at, timezone.now()))
    if call is None:
        return ""
    who = {Reach.ROTA: "everybody in the rota", Reach.APPROVERS: "all approvers"}.get(call.reach, names(call.people))
    return f"{who} at {alert.due_at:%R} UTC"


def history(viewer: Any, alert: Alert) -> list[Line]:
    """Line by line, the oldest first, each message with what became of it.

    Addresses are said to the person whose they are and to those who set rotas; to others only whom it went to, and how.
    """
    rows = Event.objects.filter(alert=alert).select_related("user", "message")
    sets = viewer.has_perm("oncall.set_rota")
    return [
        Line(
            row.at,
            _words(row, sets or row.user_id == viewer.pk),
            row.message.state if row.message else "",
            row.kind in BAD or _lost(row),
        )
        for row in rows
    ]


def _lost(row: Event) -> bool:
    return row.message is not None and row.message.state == MessageState.FAILED


def _words(row: Event, addressed: bool) -> str:
    """A call says how its message went; what a mail server answered may quote the address."""
    one = row.message
    if row.kind == EventKind.FAILED and not addressed:
        name, between, error = row.words.partition(": ")
        return f"{name}{between}{_without_addresses(error)}"
    if row.kind != EventKind.CALLED or one is None:
        return row.words
    way = f": {one.get_how_display()}{f' to {one.address}' if addressed else ''}" if one.how else ""
    error = one.error if addressed else _without_addresses(one.error)
    if one.state == MessageState.SENT and one.ended_at is not None:
        return f"{row.words}{way}, delivered {one.ended_at:%T}"
    if one.state == MessageState.WAITING:
        tried = f", tried {one.attempts}×: {error}" if error else ", on its way"
        return f"{row.words}{way}{tried}"
    return f"{row.words}{way}, {one.get_state_display()}{f': {error}' if error else ''}"


def _without_addresses(text: str) -> str:
    return ADDRESS.sub("(address)", text)


def calls_to(user: Any) -> list[Alert]:
    """Open alerts that have called this person and that nobody has taken."""
    mine = Message.objects.filter(user=user).exclude(state=MessageState.DROPPED).values("alert")
    return list(_whole().filter(resolved_at__isnull=True, acknowledged_by__isnull=True, pk__in=mine)[:SHOWN_CALLS])


def unreached() -> list[Message]:
    """The last messages that reached nobody, of alerts that are still open; the newest first."""
    rows = Message.objects.filter(state=MessageState.FAILED, alert__resolved_at__isnull=True)
    return list(rows.filter(at__gt=timezone.now() - UNREACHED_FOR).select_related("user", "alert").order_by("-pk")[:3])


def outbox(viewer: Any) -> QuerySet[Message]:
    """Every message, the newest first, as it was written."""
    require(viewer, "oncall.answer")
    return Message.objects.select_related("user", "alert").order_by("-pk")
