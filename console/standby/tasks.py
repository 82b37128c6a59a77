"""Work by name; one call."""

from celery import shared_task

from console.standby import execution, planning, services


@shared_task(name="standby.act")
def act() -> int:
    return execution.act()


@shared_task(name="standby.sample")
def sample() -> int:
    return services.sample()


@shared_task(name="standby.storms")
def storms() -> int:
    return planning.storms()
