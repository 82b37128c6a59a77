"""Sources and their readings, as rows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.utils import timezone

from console.inventory.choices import UNKNOWN_STATE, WATCHED, SourceKind
from console.inventory.models import Observation, Source, Upload
from console.inventory.selectors.viewing import NotThereError


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source and how it fares.  ``unknown_since``: from when on nobody follows it, where somebody should."""

    id: int
    name: str
    kind: str
    kind_label: str
    state: str
    acts: bool
    period_s: int
    observed_at: datetime | None
    revision: int | None
    nodes: int | None
    pods: int | None
    gpus: int | None
    clusters: tuple[str, ...]
    last_error: str
    last_error_at: datetime | None
    failures: int
    next_due_at: datetime
    unknown_since: datetime | None
    warnings: tuple[str, ...]


def source_states(viewer: Any) -> tuple[SourceRow, ...]:
    """All sources by name; none for viewers who may not see the whole fleet.  Two queries."""
    if not viewer.has_perm("inventory.view_fleet"):
        return ()
    newest = Observation.objects.filter(source=OuterRef("pk")).order_by("-revision")
    sources = list(Source.objects.select_related("watch").annotate(newest=Subquery(newest.values("revision")[:1])))
    wanted = [source.newest for source in sources if source.newest is not None]
    rows = Observation.objects.filter(pk__in=wanted).only("revision", "observed_at", "counts", "warnings").in_bulk()
    return tuple(row_of(source, rows.get(source.newest)) for source in sources)


def simulated_sources() -> list[str]:
    """Names of the sources that are simulated; everybody may know that."""
    return list(Source.objects.filter(kind=SourceKind.SIMULATED).order_by("name").values_list("name", flat=True))


def observation_rows(viewer: Any) -> QuerySet[Observation]:
    """Readings, newest first."""
    if not viewer.has_perm("inventory.view_fleet"):
        return Observation.objects.none()
    rows = Observation.objects.select_related("source").annotate(measured=Count("measurement"))
    return rows.defer("columns", "gpu_states").order_by("-revision")


def source_for(viewer: Any, source_id: int) -> Source:
    """Raises ``NotThereError``."""
    sources = Source.objects.select_related("watch").filter(pk=source_id)
    source = sources.first() if viewer.has_perm("inventory.view_fleet") else None
    if source is None:
        raise NotThereError("no such source")
    return source


def upload_for(viewer: Any, upload_id: int) -> Upload:
    """What became of somebody's files.  Raises ``NotThereError``."""
    seen = Upload.objects.select_related("source").filter(pk=upload_id)
    upload = seen.first() if viewer.has_perm("inventory.load_cluster") else None
    if upload is None:
        raise NotThereError("no such upload")
    return upload


def source_exists(name: str) -> bool:
    return Source.objects.filter(name=name).exists()


def unknown_since(source: Source) -> datetime | None:
    """From when on nobody follows a source that must be followed; None where somebody does, or none need."""
    if source.kind not in WATCHED:
        return None
    watch = getattr(source, "watch", None)
    if watch is None or watch.expires_at is None:
        return source.created_at
    return None if watch.holder and watch.expires_at > timezone.now() else watch.expires_at


def row_of(source: Source, observation: Observation | None) -> SourceRow:
    left_at = unknown_since(source)
    counts = observation.counts if observation is not None else {}
    return SourceRow(
        id=source.pk,
        name=source.name,
        kind=source.kind,
        kind_label=source.get_kind_display(),
        state=source.state if left_at is None else UNKNOWN_STATE,
        acts=source.acts,
        period_s=source.period_s,
        observed_at=observation.observed_at if observation is not None else None,
        revision=observation.revision if observation is not None else None,
        nodes=counts.get("nodes"),
        pods=counts.get("pods"),
        gpus=counts.get("gpus"),
        clusters=tuple(counts.get("clusters", ())),
        last_error=source.last_error,
        last_error_at=source.last_error_at,
        failures=source.failures,
        next_due_at=source.next_due_at,
        unknown_since=left_at,
        warnings=tuple(observation.warnings) if observation is not None else (),
    )
