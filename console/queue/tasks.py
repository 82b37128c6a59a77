"""Work by name; ids in, one call."""

from celery import shared_task

from console.queue import planning, services


@shared_task(name="queue.explain_due")
def explain_due() -> int:
    return services.explain_due()


@shared_task(name="queue.explain")
def explain(source_id: int) -> None:
    planning.explain_newest(source_id)


@shared_task(name="queue.foretell")
def foretell(foretelling_id: int) -> None:
    planning.foretell_queue(foretelling_id)


@shared_task(name="queue.unblock")
def unblock(inquiry_id: int) -> None:
    planning.unblock_job(inquiry_id)
