"""What people do with an alert: take it for a while, or hand it on."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from console.audit import services as audit
from console.oncall import selectors
from console.oncall.choices import EventKind
from console.oncall.models import Alert
from console.oncall.selectors.alerts import next_call
from console.oncall.selectors.subjects import never_of
from console.oncall.services.calling import call_next, note, tell
from console.rest.errors import Conflict
from console.tenancy.services import Denied, require


def acknowledge(user: Any, alert_id: int) -> Alert:
    """ "I am looking": nobody else is called for as long as the rota says; then the calls go on.

    Whoever could not decide may not hold the calls back.
    """
    alert = _mine(user, alert_id)
    now = timezone.now()
    until = now + timedelta(minutes=alert.rota.hold_minutes)
    call, _ = next_call(alert, until)
    free = Q(acknowledged_by__isnull=True) | Q(acknowledged_by=user)
    with transaction.atomic():
        mine = Alert.objects.filter(free, pk=alert_id, resolved_at__isnull=True)
        taken = {"acknowledged_by": user, "acknowledged_until": until, "held_until": None}
        # Also with nobody left to call it is looked at again: whoever took it may have fallen asleep.
        if not mine.update(due_at=until, **taken):
            raise Conflict(_why_not(alert_id))
        words = f"{user.get_username()} is looking, until {until:%R} UTC"
        note(alert, EventKind.ACKNOWLEDGED, words, user=user, at=now)
        detail = {"alert": alert.pk, "until": until.isoformat(), "next": call.reach.value if call else "nobody"}
        kind, number = alert.target
        audit.record(actor=user, action="alert.acknowledged", target_kind=kind, target_id=number, detail=detail)
        tell(alert, "alert.acknowledged")
    return selectors.alert_detail(user, alert_id)


def hand_on(user: Any, alert_id: int, reason: str = "") -> Alert:
    """The next person is called now, quiet hours or not."""
    alert = _mine(user, alert_id)
    now = timezone.now()
    call, _ = next_call(alert, now)
    if call is None:
        raise Conflict("Everybody has been called: there is nobody to hand it on to.")
    with transaction.atomic():
        free = Q(acknowledged_by__isnull=True) | Q(acknowledged_by=user)
        mine = Alert.objects.filter(free, pk=alert_id, resolved_at__isnull=True, calls=alert.calls)
        given = {"acknowledged_by": None, "acknowledged_until": None, "held_until": None, "due_at": now}
        if not mine.update(**given):
            raise Conflict(_why_not(alert_id))
        because = f": {reason.strip()}" if reason.strip() else ""
        note(alert, EventKind.HANDED_ON, f"{user.get_username()} hands it on{because}", user=user, at=now)
        kind, number = alert.target
        audit.record(
            actor=user, action="alert.handed_on", target_kind=kind, target_id=number, reason=reason.strip(),
            detail={"alert": alert.pk, "call": alert.calls},
        )  # fmt: skip
        call_next(selectors.alert_detail(user, alert_id), now, wake=True)
    return selectors.alert_detail(user, alert_id)


def _mine(user: Any, alert_id: int) -> Alert:
    require(user, "oncall.answer")
    alert = selectors.alert_detail(user, alert_id)
    why = never_of(alert).get(user.pk)
    if why is not None:
        raise Denied(f"You cannot decide this ({user.get_username()} {why}): the calls go on to somebody who can.")
    return alert


def _why_not(alert_id: int) -> str:
    alert = Alert.objects.select_related("acknowledged_by").get(pk=alert_id)
    if alert.resolved_at is not None:
        return f"It is resolved: {alert.outcome}."
    if alert.acknowledged_by is not None and alert.acknowledged_until is not None:
        who, until = alert.acknowledged_by.get_username(), alert.acknowledged_until
        return f"{who} is looking at it, until {until:%R} UTC."
    return "It went one call further while you looked at it. Read it again."
