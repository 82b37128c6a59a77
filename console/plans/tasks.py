"""Messages for the executors and the sweeper: ids in, one call."""

from celery import shared_task

from console.plans import execution, services


@shared_task(name="plans.execute")
def execute(plan_id: int) -> None:
    execution.run(plan_id)


@shared_task(name="plans.hold")
def hold(plan_id: int) -> None:
    execution.tell_holds(plan_id)


@shared_task(name="plans.sweep")
def sweep() -> None:
    services.sweep()
