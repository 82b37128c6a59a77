"""Messages for workers: an id in, one call."""

from celery import shared_task
from django.conf import settings

from console.spot import execution, services
from console.spot.planning import estimating, forecasting, seating


@shared_task(name="spot.turn")
def turn() -> int:
    return seating.look()


@shared_task(name="spot.act")
def act() -> int:
    return execution.look()


@shared_task(name="spot.estimate")
def estimate(estimate_id: int) -> None:
    estimating.answer(estimate_id)


@shared_task(name="spot.keep_past")
def keep_past() -> int:
    return services.keep_past()


@shared_task(name="spot.watch")
def watch() -> bool:
    seen = services.watch_demand()
    if seen and settings.DEMO:
        services.ensure_peaks()
    return seen


@shared_task(name="spot.forecast")
def forecast() -> str:
    return forecasting.look()
