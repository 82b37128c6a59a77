"""Messages for workers: an id in, one call."""

from celery import shared_task

from console.spot import execution
from console.spot.planning import seating


@shared_task(name="spot.turn")
def turn() -> int:
    return seating.look()


@shared_task(name="spot.act")
def act() -> int:
    return execution.look()
