"""Taking one message to one person: claimed by one worker, tried again with growing pauses, never lost in silence."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from console.oncall import selectors
from console.oncall.choices import EventKind, MessageState
from console.oncall.models import Alert, Message
from console.oncall.selectors.people import Way
from console.oncall.services import sending, wording
from console.oncall.services.calling import call_next, note, tell

LEASE = timedelta(seconds=60)  # a worker that says nothing for so long is lost
PAUSES = (timedelta(seconds=5), timedelta(seconds=20))  # before the second and the third try along one way
TRIES = len(PAUSES) + 1
NO_WAY = "there is no address: neither a webhook nor a mail"


def deliver(message_id: int, now: datetime | None = None) -> bool:
    """One try; whether it arrived.  Of two workers one tries."""
    at = now or timezone.now()
    mine = Message.objects.filter(pk=message_id, state=MessageState.WAITING, next_at__lte=at)
    if mine.update(next_at=at + LEASE, attempts=F("attempts") + 1) != 1:
        return False
    needed = (f"alert__{name}" for name in selectors.NEEDED)
    message = Message.objects.select_related("user", *needed).get(pk=message_id)
    ways = selectors.ways_of(message.user)
    place = (message.attempts - 1) // TRIES
    if place >= len(ways):
        _give_up(message, message.error if ways else NO_WAY, at)
        return False
    way = ways[place]
    facts = wording.facts_for_programs(message.alert, message.call)
    try:
        sending.send(way, sending.Text(str(message.uid), message.subject, message.body, facts))
    except sending.DeliveryError as error:
        _failed(message, way, len(ways), str(error), at)
        return False
    _arrived(message, way)
    return True


def _arrived(message: Message, way: Way) -> None:
    with transaction.atomic():
        sent = {"state": MessageState.SENT, "how": way.kind, "address": way.address, "error": ""}
        Message.objects.filter(pk=message.pk).update(ended_at=timezone.now(), **sent)
        tell(message.alert, "alert.delivered")


def _failed(message: Message, way: Way, ways: int, error: str, now: datetime) -> None:
    """Again after a pause, then along the next way; after the last try of the last one it has not arrived."""
    Message.objects.filter(pk=message.pk).update(how=way.kind, address=way.address, error=error)
    tried = (message.attempts - 1) % TRIES
    if tried < len(PAUSES):
        Message.objects.filter(pk=message.pk, state=MessageState.WAITING).update(next_at=now + PAUSES[tried])
    elif message.attempts < ways * TRIES:
        Message.objects.filter(pk=message.pk, state=MessageState.WAITING).update(next_at=now)
    else:
        _give_up(message, error, now)


def _give_up(message: Message, error: str, now: datetime) -> None:
    """Said on the alert, and the next person is called at once unless somebody else of this call was reached."""
    name = message.user.get_username()
    with transaction.atomic():
        waiting = Message.objects.filter(pk=message.pk, state=MessageState.WAITING)
        if not waiting.update(state=MessageState.FAILED, error=error, ended_at=now):
            return
        note(message.alert, EventKind.FAILED, f"{name} was not reached: {error}", user=message.user_id, at=now)
        tell(message.alert, "alert.not_delivered")
    others = message.alert.messages.filter(call=message.call).exclude(state=MessageState.FAILED)
    if others.exists():
        return
    open_now = Alert.objects.filter(
        pk=message.alert_id, calls=message.call, resolved_at__isnull=True, acknowledged_by__isnull=True,
        due_at__isnull=False,
    )  # fmt: skip
    if open_now.update(due_at=now):
        for one in open_now.select_related(*selectors.NEEDED):
            call_next(one, now)
