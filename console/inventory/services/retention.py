"""What is kept and what is dropped: the last readings of each source, and whatever something refers to."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import ForeignObjectRel, ProtectedError
from django.utils import timezone

from console.inventory.models import (
    Blob,
    Comparison,
    FleetLayout,
    IdleSlot,
    Layout,
    Measurement,
    Observation,
    Source,
    Unheld,
    Upload,
    UsageSlot,
)
from console.inventory.services import owner_locks, releasing

READINGS = 120  # per source: how far back a delta of the map can start
SNAPSHOTS = 30  # per source: how far back a page can be read "as of"
YOUNG_S = 600  # a blob is stored before the row that names it is committed
USAGE_DAYS = 100
IDLE_DAYS = 8  # a week, and the day that is running
UPLOAD_DAYS = 30
COMPARISON_S = 3600  # worked out again where somebody asks later


def sweep() -> dict[str, int]:
    """Drops what is past its time; returns how much of each kind."""
    dropped = {"observations": 0, "blobs": 0, "layouts": 0}
    now = timezone.now()
    held = _held_elsewhere()
    keep: set[str] = set(Observation.objects.filter(pk__in=held).values_list("digest", flat=True))
    for source in Source.objects.all():
        readings = list(Observation.objects.filter(source=source).values_list("revision", "begun_at", "observed_at"))
        marks = _marks(readings, now)
        whole = {revision for revision, _, _ in readings[:SNAPSHOTS]} | marks
        keep |= set(Observation.objects.filter(pk__in=whole).values_list("digest", flat=True))
        old = [revision for revision, _, _ in readings[READINGS:] if revision not in held | marks]
        dropped["observations"] += _drop(old)
    dropped["blobs"] = _drop_blobs(keep)
    dropped["layouts"] = _drop_layouts()
    _drop_unheld()
    UsageSlot.objects.filter(began_at__lt=now - timedelta(days=USAGE_DAYS)).delete()
    IdleSlot.objects.filter(began_at__lt=now - timedelta(days=IDLE_DAYS)).delete()
    owner_locks.drop_old(timedelta(days=IDLE_DAYS))
    releasing.expire_releases()
    Upload.objects.filter(created_at__lt=now - timedelta(days=UPLOAD_DAYS)).delete()
    Comparison.objects.filter(asked_at__lt=now - timedelta(seconds=COMPARISON_S)).delete()
    return dropped


def _marks(readings: list[tuple[int, datetime, datetime]], now: datetime) -> set[int]:
    """Of (revision, begun, last confirmed), newest first: the last reading that was begun in each slot of time.

    It is the one that held at the end of its slot, so that a question for a round hour finds a reading of that hour.
    One slot more than asked for stays, so that the question for the very limit has an answer too.
    """
    found: dict[tuple[int, int], int] = {}
    for slot_s, kept_s in settings.KEPT_READINGS:
        for revision, begun_at, observed_at in readings if kept_s else []:
            if observed_at >= now - timedelta(seconds=kept_s + slot_s):
                found.setdefault((slot_s, int(begun_at.timestamp()) // slot_s), revision)
    return set(found.values())


def _held_elsewhere() -> set[int]:
    """Readings that rows of other apps refer to, such as plans that were computed on them."""
    held: set[int] = set()
    for relation in Observation._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and relation.related_model is not Measurement:
            rows = relation.related_model._default_manager.exclude(**{relation.field.name: None})
            held.update(rows.values_list(relation.field.attname, flat=True))
    return held


def _drop(revisions: list[int]) -> int:
    with transaction.atomic():
        Measurement.objects.filter(observation__in=revisions).delete()
        return Observation.objects.filter(pk__in=revisions).delete()[0]


def _drop_blobs(keep: Iterable[str]) -> int:
    """One by one: a blob that a row still refers to stays, and holds nothing else up."""
    aged = Blob.objects.filter(stored_at__lt=timezone.now() - timedelta(seconds=YOUNG_S))
    dropped = 0
    for digest in set(aged.values_list("digest", flat=True)) - set(keep):
        try:
            dropped += Blob.objects.filter(pk=digest).delete()[0]
        except ProtectedError:
            continue
    return dropped


def _drop_unheld() -> None:
    """Like blobs, they are stored before the row that names them is committed."""
    used = Observation.objects.filter(unheld__isnull=False).values("unheld")
    aged = Unheld.objects.filter(stored_at__lt=timezone.now() - timedelta(seconds=YOUNG_S))
    aged.exclude(pk__in=used).delete()


def _drop_layouts() -> int:
    """Layouts of which no reading is left.  Under the lock of the order, so that none is taken up meanwhile."""
    dropped = 0
    for model, field in ((FleetLayout, "fleet_layout"), (Layout, "layout")):
        used = Observation.objects.filter(**{f"{field}__isnull": False}).values(field)
        for row in model._default_manager.exclude(pk__in=used):
            try:
                dropped += row.delete()[0]
            except ProtectedError:
                continue
    return dropped
