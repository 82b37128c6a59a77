"""Every few seconds: open alerts for what needs a person, close those that do not any more, call who is next.

Rows of plans are the truth, so that no notice is lost with a message or a worker.  Each change is a compare-and-set:
of two workers at once one opens, calls and closes.
"""

from datetime import datetime
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from console.dispatch.services import enqueue
from console.live.services import publish
from console.oncall import selectors
from console.oncall.choices import EventKind, Kind, MessageState, Reach
from console.oncall.ladder import Call
from console.oncall.models import Alert, Event, Message
from console.oncall.selectors.alerts import next_call
from console.oncall.selectors.subjects import GRACE, Subject, is_due, outcome_of, subjects
from console.oncall.services import wording
from console.oncall.turns import quiet_until

log = structlog.get_logger(__name__)
SENT_AGAIN = 50  # messages that one sweep sends out once more


def sweep(now: datetime | None = None) -> None:
    """Safe to run twice at once."""
    at = now or timezone.now()
    # Read before the plans are: an alert that another worker opens in between is not taken for one that is over.
    known = list(Alert.objects.filter(resolved_at__isnull=True))
    there = subjects(max([at, *(alert.opened_at for alert in known)]))
    resolve_over(known, {one.key for one in there}, at)
    for subject in there:
        open_alert(subject, at)
    call_due(at)
    send_again(at)


# --- opening and closing --------------------------------------------------------------------------------------------
def open_alert(subject: Subject, now: datetime) -> Alert | None:
    """None where it is open already, was answered, is not due, or no rota covers the place."""
    if Alert.objects.filter(key=subject.key).exists():
        return _open_again(subject, now)
    rota = selectors.rota_for(subject.cluster)
    if rota is None or not is_due(subject, rota.review_hours, now):
        return None
    try:
        with transaction.atomic():
            alert = Alert.objects.create(
                key=subject.key, kind=subject.kind, plan=subject.plan, review=subject.review, rota=rota, opened_at=now,
                due_at=now, campaign=subject.campaign, group=subject.group,
            )  # fmt: skip
            note(alert, EventKind.OPENED, f"{subject.kind.label}, since {subject.since:%F %T} UTC", at=now)
            tell(alert, "alert.opened")
    except IntegrityError:
        return None  # another worker was faster
    return alert


def _open_again(subject: Subject, now: datetime) -> Alert | None:
    """Where nobody could decide for a while and somebody can again; None of what is open, or was over just now."""
    over = Alert.objects.filter(key=subject.key, resolved_at__lte=now - GRACE)
    with transaction.atomic():
        anew = {"resolved_at": None, "outcome": "", "reached": "", "acknowledged_by": None, "acknowledged_until": None}
        if not over.update(due_at=now, **anew):
            return None
        alert = Alert.objects.get(key=subject.key)
        note(alert, EventKind.OPENED, f"{subject.kind.label} again", at=now)
        tell(alert, "alert.opened")
    return alert


def resolve_over(known: list[Alert], holding: set[str], now: datetime) -> None:
    """What no longer needs anybody; what was not sent yet is not sent."""
    for alert in known:
        if alert.key in holding:
            continue
        outcome = outcome_of(alert)
        with transaction.atomic():
            mine = Alert.objects.filter(pk=alert.pk, resolved_at__isnull=True)
            if not mine.update(resolved_at=now, due_at=None, held_until=None, outcome=outcome):
                continue
            Message.objects.filter(alert=alert, state=MessageState.WAITING).update(
                state=MessageState.DROPPED, ended_at=now
            )
            note(alert, EventKind.RESOLVED, f"Resolved: {outcome}", at=now)
            tell(alert, "alert.resolved")


# --- calling --------------------------------------------------------------------------------------------------------
def call_due(now: datetime) -> int:
    """How many alerts went one call further."""
    due = Alert.objects.filter(resolved_at__isnull=True, due_at__lte=now)
    rows = due.select_related(*selectors.NEEDED)
    done = 0
    for alert in rows:
        try:
            done += call_next(alert, now)
        except Exception:
            # One alert that cannot be carried on must not keep the others from it.
            log.exception("alert.not_called", alert=alert.pk)
    return done


def call_next(alert: Alert, now: datetime, *, wake: bool = False) -> bool:
    """One call further, unless quiet hours hold it (``wake``: they do not) or somebody else was faster."""
    quiet = None if wake or _urgent(alert) else quiet_until(alert.rota.quiet, alert.rota.zone, now)
    if quiet is not None:
        return _hold(alert, quiet, now)
    call, skipped = next_call(alert, now)
    words = [f"{one.name} {why}" for one, why in skipped]
    if call is None:
        return _nobody(alert, words, now)
    wait_until = None if call.wait is None else now + call.wait
    with transaction.atomic():
        if not _advance(alert, due_at=wait_until, reached=call.reach, calls=F("calls") + 1):
            return False
        _said_before(alert, now)
        _skip(alert, skipped, now)
        _send(alert, call, words, wait_until, now)
        tell(alert, "alert.called", call=alert.calls + 1)
    return True


def _urgent(alert: Alert) -> bool:
    """A halted campaign that keeps nodes out of service is as urgent as a halted run: both stand in the middle."""
    urgent = alert.rota.urgent
    if alert.kind in urgent or alert.campaign is None:
        return alert.kind in urgent
    return alert.kind == Kind.CAMPAIGN and Kind.HALTED in urgent and selectors.nodes_held(alert.campaign) > 0


def _advance(alert: Alert, **fields: Any) -> bool:
    """Compare-and-set on what was read; an acknowledgement that ran out goes with it."""
    mine = Alert.objects.filter(pk=alert.pk, resolved_at__isnull=True, due_at=alert.due_at, calls=alert.calls)
    fields = {"held_until": None, "acknowledged_by": None, "acknowledged_until": None, **fields}
    return mine.update(**fields) == 1


def _said_before(alert: Alert, now: datetime) -> None:
    if alert.acknowledged_by is not None:
        words = f"{alert.acknowledged_by.get_username()} has not decided: the calls go on"
        note(alert, EventKind.LAPSED, words, user=alert.acknowledged_by, at=now)


def _skip(alert: Alert, skipped: tuple[tuple[Any, str], ...], now: datetime) -> None:
    """Said once for each person."""
    said = set(Event.objects.filter(alert=alert, kind=EventKind.SKIPPED).values_list("user_id", flat=True))
    for person, why in skipped:
        if person.uid not in said:
            note(alert, EventKind.SKIPPED, f"{person.name} is not called: {why}", user=person.uid, at=now)


def _send(alert: Alert, call: Call, skipped: list[str], wait_until: datetime | None, now: datetime) -> None:
    number = alert.calls + 1
    whom = {Reach.ROTA: "as one of the rota", Reach.APPROVERS: "as an approver"}.get(call.reach, "who is on call")
    if call.reach == Reach.PERSON and number > 1:
        whom = "who is next"
    for person in call.people:
        message = Message.objects.create(
            alert=alert, call=number, user_id=person.uid, subject=wording.subject_of(alert), at=now, next_at=now,
            body=wording.body_of(alert, person.name, skipped, wait_until),
        )  # fmt: skip
        note(alert, EventKind.CALLED, f"Call {number}: {person.name}, {whom}", user=person.uid, message=message, at=now)
        enqueue("oncall.deliver", message_id=message.pk)


def _hold(alert: Alert, until: datetime, now: datetime) -> bool:
    with transaction.atomic():
        if not _advance(alert, due_at=until, held_until=until):
            return False
        _said_before(alert, now)
        words = f"Held until {until:%F %R} UTC: quiet hours, and this is not worth waking somebody"
        note(alert, EventKind.HELD, words, at=now)
        tell(alert, "alert.held")
    return False


def _nobody(alert: Alert, skipped: list[str], now: datetime) -> bool:
    """Everybody has been called, or nobody can be: it stays open and says so."""
    with transaction.atomic():
        if not _advance(alert, due_at=None):
            return False
        _said_before(alert, now)
        words = (
            "Everybody has been called"
            if alert.calls
            else f"Nobody can be called: {'; '.join(skipped) or 'no approver'}"
        )
        note(alert, EventKind.NOBODY, words, at=now)
        tell(alert, "alert.unanswered")
    return False


def send_again(now: datetime) -> None:
    """Messages whose time for another try has come, or whose worker was lost."""
    due = Message.objects.filter(state=MessageState.WAITING, next_at__lte=now).order_by("next_at")
    for message_id in due.values_list("pk", flat=True)[:SENT_AGAIN]:
        enqueue("oncall.deliver", message_id=message_id)


# --- writing down ---------------------------------------------------------------------------------------------------
def note(
    alert: Alert,
    kind: EventKind,
    words: str,
    *,
    user: Any = None,
    message: Message | None = None,
    at: datetime | None = None,
) -> None:
    """One line of its history.  ``user``: a person, or the number of one."""
    who = user if user is None or isinstance(user, int) else user.pk
    Event.objects.create(alert=alert, kind=kind, words=words, user_id=who, message=message, at=at or timezone.now())


def tell(alert: Alert, kind: str, **fields: Any) -> None:
    """Open pages of the plan or of campaigns, and those of on-call."""
    about = f"plan:{alert.plan_id}" if alert.plan_id is not None else "plans"
    for topic in ("oncall", about):
        publish(topic, kind, alert=alert.pk, plan=alert.plan_id, campaign=alert.campaign_id, **fields)
