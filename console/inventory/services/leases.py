"""Who follows which source: leases with a holder and an end, shared among the processes that live.

A holder renews its leases; one that died leaves them to expire, and whoever looks next takes over.  Each change is a
compare-and-set, so that two processes never hold one source.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from console.inventory.choices import LEASE_S, WATCHED
from console.inventory.models import Source, Watch, WatchProcess
from console.live.services import publish

RENEW_EVERY_S = 5.0
FORGOTTEN_S = 3600.0  # rows of dead processes stay for a while, so that pages can tell since when nobody lives


def greet(name: str) -> None:
    """This process lives."""
    now = timezone.now()
    if not WatchProcess.objects.filter(pk=name).update(seen_at=now):
        WatchProcess.objects.create(name=name, began_at=now, seen_at=now)
    WatchProcess.objects.filter(seen_at__lt=now - timedelta(seconds=FORGOTTEN_S)).delete()


def leave(name: str) -> None:
    """This process ends in order: others may take over at once."""
    with transaction.atomic():
        Watch.objects.filter(holder=name).update(holder="", held_since=None, expires_at=timezone.now())
        WatchProcess.objects.filter(pk=name).delete()


def renew(name: str, source_ids: Collection[int]) -> set[int]:
    """Prolongs the leases that are still held; returns of which sources.  The others are lost."""
    until = _until()
    return {pk for pk in source_ids if Watch.objects.filter(source=pk, holder=name).update(expires_at=until)}


def release(name: str, source_id: int) -> None:
    Watch.objects.filter(source=source_id, holder=name).update(holder="", held_since=None, expires_at=timezone.now())


def expire() -> None:
    """Tells those who look at them of sources that nobody follows any more."""
    ended = Watch.objects.filter(_expired(timezone.now())).exclude(holder="")
    for watch in ended:
        if ended.filter(pk=watch.pk, expires_at=watch.expires_at).update(holder="", held_since=None):
            publish(f"source:{watch.pk}", "source.left")
            publish("source", "source.left")


def holds(name: str, source_id: int) -> bool:
    """Whether this process may write a reading of the source now."""
    return Watch.objects.filter(source=source_id, holder=name, expires_at__gt=timezone.now()).exists()


def take(name: str, most: int) -> list[int]:
    """Takes sources that nobody follows, at most ``most``; returns which."""
    taken: list[int] = []
    for source_id in _free_sources():
        if len(taken) >= most:
            break
        if _take(name, source_id):
            taken.append(source_id)
    return taken


def fair_share() -> int:
    """How many sources one process should follow, so that the living share them evenly."""
    alive = WatchProcess.objects.filter(seen_at__gt=timezone.now() - timedelta(seconds=LEASE_S)).count()
    sources = Source.objects.filter(kind__in=WATCHED).count()
    return -(-sources // max(alive, 1))


def _free_sources() -> list[int]:
    now = timezone.now()
    watched = Source.objects.filter(kind__in=WATCHED)
    missing = watched.filter(watch__isnull=True).values_list("pk", flat=True)
    Watch.objects.bulk_create([Watch(source_id=pk) for pk in missing], ignore_conflicts=True)
    free = watched.filter(_expired(now, "watch__")).order_by(F("watch__expires_at").asc(nulls_first=True), "pk")
    return list(free.values_list("pk", flat=True))


@transaction.atomic
def _take(name: str, source_id: int) -> bool:
    """What a dead holder had begun to read ends with its lease: its claim on the source is void."""
    now = timezone.now()
    free = Watch.objects.filter(_expired(now), source=source_id)
    if not free.update(holder=name, held_since=now, expires_at=_until()):
        return False
    Source.objects.filter(pk=source_id).update(claim=None, claimed_until=None)
    return True


def _expired(now: datetime, prefix: str = "") -> Q:
    return Q(**{f"{prefix}expires_at__isnull": True}) | Q(**{f"{prefix}expires_at__lt": now})


def _until() -> datetime:
    return timezone.now() + timedelta(seconds=LEASE_S)
