"""Work by name; one call."""

from celery import shared_task

from console.oncall import services


@shared_task(name="oncall.sweep")
def sweep() -> None:
    services.sweep()


@shared_task(name="oncall.deliver")
def deliver(message_id: int) -> bool:
    return services.deliver(message_id)
