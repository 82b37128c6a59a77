"""Keeping what runs, row by row where something differs, and how long those ran that are there no more."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from console.inventory.models import Observation
from console.queue.models import EndedJob, RunningJob
from console.queue.sightings import ClusterQueue, Name

BATCH = 500
SAME_S = 10  # a start is told by two clocks; so far apart it is the same one
KEPT_DAYS = 30
_SAID = (
    *("tenant", "pods", "min_members", "gpu_milli", "models_text", "nodes", "asws", "unlabelled", "entropy", "lp"),
    *("priority", "priority_class"),
)


def keep_running(source_id: int, reading: Observation, clusters: Iterable[ClusterQueue]) -> None:
    """Under the lock of the source's turn."""
    known = {(row.cluster, row.key, row.gang): row for row in RunningJob.objects.filter(source=source_id)}
    made, changed = [], []
    for name, said in _named(clusters):
        row, started_at = known.pop(name, None), _started_at(said, reading.begun_at)
        if row is not None and _another_start(row, started_at):
            _end([row], reading.begun_at)
            row.first_at = reading.begun_at
        elif row is not None:
            started_at = row.started_at or started_at
        if row is None:
            row = RunningJob(source_id=source_id, cluster=name[0], key=name[1], gang=name[2], first_at=reading.begun_at)
            made.append(row)
        elif row.started_at != started_at or any(getattr(row, field) != said[field] for field in _SAID):
            changed.append(row)
        row.started_at = started_at
        for field in _SAID:
            setattr(row, field, said[field])
    _end(known.values(), reading.begun_at)
    RunningJob.objects.filter(pk__in=[row.pk for row in known.values()]).delete()
    RunningJob.objects.bulk_create(made, batch_size=BATCH)
    RunningJob.objects.bulk_update(changed, (*_SAID, "started_at", "first_at"), batch_size=BATCH)
    EndedJob.objects.filter(source=source_id, ended_at__lt=reading.begun_at - timedelta(days=KEPT_DAYS)).delete()


def past_of(source_id: int, at: datetime) -> tuple[list[tuple[Any, ...]], list[tuple[str, int, int]]]:
    """(fields of the core's ``Ran``, of its ``Arrived``): jobs that ended, and those that run, by an instant."""
    past, arrived = [], []
    ended = EndedJob.objects.filter(source=source_id).order_by("pk")
    for row in ended.values_list("tenant", "gpu_milli", "left_s", "entered_s", "started_at"):
        past.append((row[0], row[1], row[2], True, row[3]))
        arrived.append((row[0], row[1], _seconds(row[4], at)))
    running = RunningJob.objects.filter(source=source_id, started_at__isnull=False).order_by("pk")
    for tenant, milli, started_at, first_at in running.values_list("tenant", "gpu_milli", "started_at", "first_at"):
        age = _seconds(started_at, at)
        past.append((tenant, milli, age, False, min(age, _seconds(started_at, first_at))))
        arrived.append((tenant, milli, age))
    return past, arrived


def _named(clusters: Iterable[ClusterQueue]) -> Iterator[tuple[Name, dict[str, Any]]]:
    for one in clusters:
        for said in one.running:
            yield (one.cluster, said["key"], said["gang"]), said


def _started_at(said: dict[str, Any], begun_at: datetime) -> datetime | None:
    return None if said["ran_s"] is None else begun_at - timedelta(seconds=said["ran_s"])


def _another_start(row: RunningJob, started_at: datetime | None) -> bool:
    """Of a pod that was made anew under its name; a gang runs on while members come and go."""
    if row.gang or row.started_at is None or started_at is None:
        return False
    return (started_at - row.started_at).total_seconds() > SAME_S


def _end(rows: Iterable[RunningJob], at: datetime) -> None:
    EndedJob.objects.bulk_create(
        (
            EndedJob(
                source_id=row.source_id, tenant=row.tenant, gpu_milli=row.gpu_milli, started_at=row.started_at,
                entered_s=_seconds(row.started_at, row.first_at), left_s=_seconds(row.started_at, at), ended_at=at,
            )
            for row in rows
            if row.started_at is not None
        ),
        batch_size=BATCH,
    )  # fmt: skip


def _seconds(since: datetime | None, until: datetime) -> int:
    return 0 if since is None else max(0, int((until - since).total_seconds()))
