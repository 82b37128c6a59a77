"""Work by name; ids in, one call."""

from celery import shared_task

from console.inventory import planning, services


@shared_task(name="inventory.observe_due")
def observe_due() -> int:
    return services.observe_due()


@shared_task(name="inventory.observe")
def observe(source_id: int) -> int | None:
    observation = planning.observe(source_id)
    return observation.pk if observation is not None else None


@shared_task(name="inventory.measure")
def measure(observation_id: int) -> None:
    planning.measure(observation_id)


@shared_task(name="inventory.compare")
def compare(key: str) -> None:
    planning.compare(key)


@shared_task(name="inventory.read_upload")
def read_upload(upload_id: int) -> None:
    planning.read_upload(upload_id)


@shared_task(name="inventory.sweep")
def sweep() -> dict[str, int]:
    return services.sweep()
