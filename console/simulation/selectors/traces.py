"""Traces of our own, and what could be recorded."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, OuterRef, QuerySet, Subquery
from django.utils import timezone

from console.inventory import archive
from console.inventory.models import Blob, Observation, Source
from console.inventory.selectors import NotThereError
from console.simulation.choices import MOST_HOURS, TraceState
from console.simulation.models import Trace
from console.simulation.selectors.rights import VIEW
from console.tenancy.services import require


@dataclass(frozen=True, slots=True)
class TraceRow:
    id: int
    kind: str
    name: str
    made_by: str
    made_at: datetime
    origin: str
    state: str
    jobs: int | None
    nodes: int | None
    gpus: int | None
    seconds: int | None
    digest: str
    notes: list[str]
    refusal: dict[str, Any] | None
    studies: int

    @property
    def state_label(self) -> str:
        return str(TraceState(self.state).label)


@dataclass(frozen=True, slots=True)
class Recordable:
    """One cluster of one source of which readings are kept."""

    source_id: int
    source: str
    cluster: str
    readings: int
    since: datetime | None

    @property
    def key(self) -> str:
        return f"{self.source_id}|{self.cluster}"


def traces(viewer: Any) -> QuerySet[Trace]:
    require(viewer, VIEW)
    return Trace.objects.defer("packed", "given").select_related("made_by")


def trace_rows(viewer: Any) -> list[TraceRow]:
    return [_row(one) for one in traces(viewer).annotate(used=Count("studies"))]


def trace_row(viewer: Any, trace_id: int) -> TraceRow:
    """Raises ``NotThereError``."""
    found = traces(viewer).annotate(used=Count("studies")).filter(pk=trace_id).first()
    if found is None:
        raise NotThereError("no such trace")
    return _row(found)


def trace_of(viewer: Any, trace_id: int) -> Trace:
    """Raises ``NotThereError``."""
    found = traces(viewer).filter(pk=trace_id).first()
    if found is None:
        raise NotThereError("no such trace")
    return found


def ready_traces(viewer: Any) -> list[TraceRow]:
    return [one for one in trace_rows(viewer) if one.state == TraceState.READY]


def _row(one: Any) -> TraceRow:
    return TraceRow(
        id=one.pk,
        kind=one.kind,
        name=one.name,
        made_by=one.made_by.get_username(),
        made_at=one.made_at,
        origin=_origin(one.origin),
        state=one.state,
        jobs=one.jobs,
        nodes=one.nodes,
        gpus=one.gpus,
        seconds=one.seconds,
        digest=one.digest,
        notes=one.notes,
        refusal=one.refusal,
        studies=one.used,
    )


def _origin(origin: dict[str, Any]) -> str:
    if "files" in origin:
        return ", ".join(name for name, _ in origin["files"])
    return f"{origin['cluster']} of {origin['source_name']}, {origin['hours']} h until {origin['until'][:16]}"


def recordables(viewer: Any) -> list[Recordable]:
    """Every observed cluster with two readings or more in the longest time that can be asked for."""
    require(viewer, VIEW)
    since = timezone.now() - timedelta(hours=MOST_HOURS)
    newest = Observation.objects.filter(source=OuterRef("pk")).order_by("-revision")
    rows = list(Source.objects.annotate(digest=Subquery(newest.values("digest")[:1])).order_by("name"))
    readings = Observation.objects.filter(begun_at__gte=since, digest__in=Blob.objects.values("digest")).order_by()
    counted = readings.values("source").annotate(n=Count("*"), first=Min("begun_at"))
    found = {row["source"]: row for row in counted}
    kept = archive.load_all([row.digest for row in rows if row.digest and row.pk in found])
    return [
        Recordable(row.pk, row.name, cluster.name, found[row.pk]["n"], found[row.pk]["first"])
        for row in rows
        if row.pk in found and found[row.pk]["n"] > 1 and row.digest in kept
        for cluster in kept[row.digest].clusters
    ]
