"""Messages for workers: an id in, one call."""

from celery import shared_task

from console.campaigns import execution, planning


@shared_task(name="campaigns.turn")
def turn() -> int:
    return execution.look()


@shared_task(name="campaigns.preview")
def preview(campaign_id: int) -> None:
    planning.preview(campaign_id)
