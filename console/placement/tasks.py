"""Messages for the planner: an id in, one call."""

from celery import shared_task

from console.placement import planning


@shared_task(name="placement.answer")
def answer(question_id: int) -> None:
    planning.answer(question_id)
