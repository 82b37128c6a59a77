"""Work by name; one call."""

from celery import shared_task

from console.routines import services


@shared_task(name="routines.decide")
def decide() -> int:
    return services.decide_open()


@shared_task(name="routines.open_due")
def open_due() -> int:
    return services.open_due()
