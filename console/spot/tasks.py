"""Messages for workers: an id in, one call."""

from celery import shared_task


@shared_task(name="spot.turn")
def turn() -> int:
    return 0
