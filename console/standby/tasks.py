"""Work by name; one call."""

from celery import shared_task

from console.standby import execution, services


@shared_task(name="standby.act")
def act() -> int:
    return execution.act()


@shared_task(name="standby.sample")
def sample() -> int:
    return services.sample()
