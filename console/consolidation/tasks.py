"""Messages for the planners: an id in, one call."""

from celery import shared_task

from console.consolidation import planning


@shared_task(name="consolidation.plan")
def plan(plan_id: int) -> None:
    planning.compute(plan_id)
