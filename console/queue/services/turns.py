"""Whose turn it is: the newest reading of each source, as often as explaining it leaves time for other work."""

from datetime import datetime, timedelta

from django.db.models import F, OuterRef, Q, Subquery
from django.utils import timezone

from console.dispatch.services import enqueue
from console.inventory.models import Observation, Source
from console.queue.models import Turn

SHARE = 10  # a source is explained for at most one part in so many of the time
LOST_S = 60  # a worker that was asked so long ago and has said nothing is asked again


def explain_due() -> int:
    """Asks for an explanation of every source with a reading that has none; returns how many."""
    now = timezone.now()
    newest = Observation.objects.filter(source=OuterRef("pk"), columns__isnull=False).order_by("-revision")
    found = Source.objects.annotate(newest=Subquery(newest.values("revision")[:1])).filter(newest__isnull=False)
    asked = 0
    for source in found.filter(Q(queue_turn=None) | Q(newest__gt=F("queue_turn__revision"))):
        turn, _ = Turn.objects.get_or_create(source=source)
        if _rests(turn, now):
            continue
        if Turn.objects.filter(pk=turn.pk, claimed_at=turn.claimed_at).update(claimed_at=now):
            enqueue("queue.explain", source_id=source.pk)
            asked += 1
    return asked


def _rests(turn: Turn, now: datetime) -> bool:
    claimed = turn.claimed_at is not None and turn.claimed_at > now - timedelta(seconds=LOST_S)
    over = turn.explained_at is None or turn.explained_at >= (turn.claimed_at or turn.explained_at)
    if claimed and not over:
        return True
    return turn.explained_at is not None and now < turn.explained_at + timedelta(seconds=SHARE * turn.seconds)


def newest_reading(source_id: int) -> Observation | None:
    """The newest one that is on the map."""
    return Observation.objects.filter(source=source_id, columns__isnull=False).order_by("-revision").first()


def next_reading(source_id: int) -> Observation | None:
    """The newest drawn reading, where it is not explained yet."""
    newest = newest_reading(source_id)
    if newest is None or Turn.objects.filter(pk=source_id, revision__gte=newest.revision).exists():
        return None
    return newest
