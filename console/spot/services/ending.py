"""Ends that nobody else wants: hours that are over and leases that are given back, pod by pod."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from console.spot.choices import SeatState
from console.spot.models import Run, Seat
from console.spot.services.writing import announce


@transaction.atomic
def end_seats(run: Run, at: datetime | None = None) -> None:
    """Every pod that may exist is told to end; what was never asked for is gone already."""
    now = at or timezone.now()
    Seat.objects.filter(run=run, state=SeatState.PLANNED).update(state=SeatState.GONE, gone_at=now)
    Seat.objects.filter(run=run, state__in=(SeatState.LAUNCHED, SeatState.UP)).update(
        state=SeatState.LEAVING, ordered=True, noticed_at=now
    )


@transaction.atomic
def never_came(run: Run) -> None:
    """The launch was refused: none of its pods exists."""
    Seat.objects.filter(run=run, state=SeatState.LAUNCHED).update(state=SeatState.GONE, gone_at=timezone.now())


def note_trouble(seat: Seat, words: str) -> None:
    """What the cluster answered where it would not end the pod."""
    if Seat.objects.filter(pk=seat.pk).exclude(trouble=words).update(trouble=words):
        announce(seat.run.lease, "lease.trouble")
