"""Changing the list of sources."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from console.audit.services import record as write_down
from console.connectors import simulated
from console.dispatch.services import enqueue
from console.inventory.choices import WATCHED, SourceKind
from console.inventory.models import Source
from console.inventory.services.clusters import ClusterError, follow_anew, forget_cluster, free_name
from console.inventory.services.recording import redraw
from console.live.services import publish
from console.rest.errors import Conflict
from console.tenancy.services import forget_use, require


@transaction.atomic
def remove_source(user: Any, source: Source, reason: str) -> None:
    """Forgets a source and its readings.  Raises ``Conflict`` while plans refer to it."""
    require(user, "inventory.load_cluster")
    number, name, kind, config = source.pk, source.name, source.kind, source.config
    write_down(actor=user, action="source.removed", target_kind="source", target_id=name, reason=reason)
    try:
        source.delete()
    except ProtectedError as error:
        raise Conflict(f"{name} has plans; they keep it so that they stay readable.") from error
    forget_use(number)
    if kind == SourceKind.SIMULATED:
        simulated.abandon(config["cluster"])
    if kind == SourceKind.KUBERNETES:
        forget_cluster(config)


@transaction.atomic
def rename_source(user: Any, source: Source, name: str) -> Source:
    """Another name for people; the source, its readings, plans and clusters stay what they are.

    Raises ``ClusterError`` where the name is taken or none.
    """
    require(user, "inventory.load_cluster")
    source = Source.objects.select_for_update().get(pk=source.pk)
    before, source.name = source.name, name.strip()
    if source.name == before:
        return source
    free_name(source.name)
    try:
        with transaction.atomic():
            source.save(update_fields=["name"])
    except IntegrityError:
        raise ClusterError("name", "there is a source of that name already") from None
    redrawn = redraw(source)
    if redrawn is not None:
        enqueue("inventory.measure", observation_id=redrawn.pk)
    write_down(
        actor=user,
        action="source.renamed",
        target_kind="source",
        target_id=source.name,
        detail={"from": before, "to": source.name, "source": source.pk},
    )
    publish("source", "source.renamed", source=source.name)
    publish(f"source:{source.pk}", "source.renamed")
    return source


@transaction.atomic
def retry_source(user: Any, source: Source) -> None:
    """Reads a failing source now instead of at the end of its wait."""
    require(user, "inventory.load_cluster")
    if source.kind in WATCHED:
        follow_anew(user, source)
        return
    Source.objects.filter(pk=source.pk).update(next_due_at=timezone.now())
    write_down(actor=user, action="source.retried", target_kind="source", target_id=source.name)
    enqueue("inventory.observe", source_id=source.pk)
