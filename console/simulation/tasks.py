"""Work by name; ids in, one call."""

from celery import shared_task

from console.simulation import planning, services


@shared_task(name="simulation.run")
def run(run_id: int) -> None:
    planning.run(run_id)


@shared_task(name="simulation.sum_up")
def sum_up(study_id: int) -> None:
    planning.sum_up(study_id)


@shared_task(name="simulation.read_trace")
def read_trace(trace_id: int) -> None:
    planning.read_trace(trace_id)


@shared_task(name="simulation.sweep")
def sweep() -> int:
    return services.sweep()
