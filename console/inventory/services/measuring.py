"""Keeping what was measured, and summing GPU-hours as readings come in."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from console.inventory import archive
from console.inventory.models import Measurement, Observation, UsageSlot
from console.inventory.packed import pack_json
from console.inventory.services import idling, owner_locks
from console.inventory.services.notices import tell_of_reading
from console.tenancy.services import UsageRow, record_usage
from scheduler.cluster.snapshot import Snapshot

SLOT_S = 300
NO_USE: tuple[list[UsageRow], list[dict[str, Any]]] = ([], [])


def has_newer(observation_id: int) -> bool:
    """Measuring an old reading while a newer one waits helps nobody."""
    observation = Observation.objects.filter(pk=observation_id).first()
    if observation is None:
        return True
    newer = Observation.objects.filter(source=observation.source_id, revision__gt=observation_id)
    return newer.filter(columns__isnull=False).exists()


def snapshot_of(observation_id: int) -> Snapshot | None:
    """The snapshot of a reading, None where it is no longer kept."""
    digest = Observation.objects.filter(pk=observation_id).values_list("digest", flat=True).first()
    if digest is None:
        return None
    try:
        return archive.load(digest)
    except archive.GoneError:
        return None


@transaction.atomic
def store_measurement(
    observation_id: int,
    headline: dict[str, Any],
    report: dict[str, Any],
    seconds: float,
    use: tuple[list[UsageRow], list[dict[str, Any]]] = NO_USE,
) -> Measurement:
    """Keeps a report once; the same one again changes nothing.

    ``headline`` has at least allocated_gpus, asleep_gpus and lent_gpus; they are summed over time.  ``use``: what each
    tenant holds, and the quotas that the cluster brings.
    """
    observation = Observation.objects.select_related("source").get(pk=observation_id)
    before = (
        Measurement.objects.filter(observation__source=observation.source, observation__lt=observation_id)
        .select_related("observation")
        .order_by("-observation_id")
        .first()
    )
    values = {"headline": headline, "report": pack_json(report), "seconds": seconds}
    measurement, created = Measurement.objects.get_or_create(observation=observation, defaults=values)
    if created:
        if before is not None:
            _sum_up(before, observation)
            idling.add_up(before.observation, observation)
        _hand_over(None if before is None else before.observation, observation, *use)
        owner_locks.follow(None if before is None else before.observation, observation)
        tell_of_reading("snapshot.measured", observation.revision, source=observation.source.name)
    return measurement


def _hand_over(
    before: Observation | None, observation: Observation, rows: list[UsageRow], theirs: list[dict[str, Any]]
) -> None:
    """To those who know tenants: what they hold, and how long the reading before this one stood."""
    source = observation.source
    record_usage(
        source.pk,
        source.name,
        rows,
        observation.begun_at,
        stood=None if before is None else idling.span_of(before, observation),
        period_s=source.period_s,
        theirs=theirs,
    )


def _sum_up(before: Measurement, observation: Observation) -> None:
    """What held at the former reading held until this one, or for as long as anybody said so."""
    start, end = idling.span_of(before.observation, observation)
    while start < end:
        slot = slot_of(start)
        stop = min(end, slot + timedelta(seconds=SLOT_S))
        _add(observation.source_id, slot, (stop - start).total_seconds(), before.headline)
        start = stop


def slot_of(instant: datetime) -> datetime:
    """Start of the slot of UTC that holds ``instant``; the same whatever the zone's offset."""
    seconds = int(instant.timestamp())
    return datetime.fromtimestamp(seconds - seconds % SLOT_S, UTC)


def _add(source_id: int, slot: datetime, seconds: float, headline: dict[str, Any]) -> None:
    row, _ = UsageSlot.objects.get_or_create(source_id=source_id, began_at=slot)
    UsageSlot.objects.filter(pk=row.pk).update(
        covered_s=F("covered_s") + seconds,
        allocated_gpu_s=F("allocated_gpu_s") + seconds * headline["allocated_gpus"],
        asleep_gpu_s=F("asleep_gpu_s") + seconds * headline["asleep_gpus"],
        lent_gpu_s=F("lent_gpu_s") + seconds * headline["lent_gpus"],
    )
