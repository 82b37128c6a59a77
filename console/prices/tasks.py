"""Work by name; ids in, one call."""

from celery import shared_task

from console.prices import planning, services


@shared_task(name="prices.turn")
def turn() -> int:
    return services.turn()


@shared_task(name="prices.review")
def review(proposal_id: int) -> None:
    planning.review(proposal_id)


@shared_task(name="prices.preview")
def preview(proposal_id: int) -> None:
    planning.preview(proposal_id)
