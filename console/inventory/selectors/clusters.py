"""One source by itself: how it is reached and read, how its feed fares, and what its readings could not hold."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.inventory.choices import DONE, LEASE_S, UNHELD, WATCHED, Levels, Way
from console.inventory.models import Observation, Source, Unheld, Watch, WatchProcess
from console.inventory.packed import unpack_json
from console.inventory.selectors.idling import TelemetryState, telemetry_state
from console.inventory.selectors.sources import SourceRow, row_of, source_for
from console.inventory.selectors.viewing import NotThereError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind of objects, as the feed last told.  Ages in seconds then; None where there was nothing yet."""

    kind: str
    needed: bool
    phase: str
    ready: bool
    objects: int
    bad: int
    event_age_s: float | None
    lag_s: float | None
    lists: int
    relists: int
    reopenings: int
    errors: int
    error_words: str
    reason: str
    suspicion: str


@dataclass(frozen=True, slots=True)
class Health:
    """A cluster's feed as last told.  ``lag_s`` is that of the needed kind that lags most."""

    told_at: datetime
    server_version: str
    skew_s: float | None
    ready: bool
    missing: tuple[str, ...]
    lag_s: float | None
    relists: int
    reopenings: int
    errors: int
    bad: int
    kinds: tuple[KindRow, ...]

    @property
    def present(self) -> tuple[KindRow, ...]:
        return tuple(row for row in self.kinds if row.phase != "absent")

    @property
    def absent(self) -> tuple[KindRow, ...]:
        return tuple(row for row in self.kinds if row.phase == "absent")


@dataclass(frozen=True, slots=True)
class Reach:
    """How a cluster is reached and read; nothing of it is secret."""

    way: str
    way_label: str
    context: str
    server: str
    means: str
    levels: str
    levels_label: str
    custom_levels: tuple[str, ...]
    tenant_labels: tuple[str, ...]
    namespace_tenants: bool
    low_classes: tuple[str, ...]
    low_below: int | None
    low_labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnheldGroup:
    what: str
    label: str
    done: str
    done_label: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class UnheldRow:
    """One object of which the format cannot hold something."""

    what: str
    done: str
    kind: str
    namespace: str
    name: str
    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class UnheldSummary:
    """``kept`` of ``total`` are there object by object; the groups count all."""

    total: int
    kept: int
    groups: tuple[UnheldGroup, ...]


@dataclass(frozen=True, slots=True)
class SourceCard:
    """A source with all that is told of it.  ``reach`` and what follows are None for kinds that are not clusters."""

    row: SourceRow
    taken_at: datetime | None
    reach: Reach | None
    holder: str
    held_since: datetime | None
    health: Health | None
    unheld: UnheldSummary | None
    watchers: int
    telemetry: TelemetryState | None


def source_card(viewer: Any, source_id: int) -> SourceCard:
    """Raises ``NotThereError``."""
    source = source_for(viewer, source_id)
    readings = Observation.objects.filter(source=source).select_related("unheld")
    newest = readings.defer("columns", "gpu_states", "unheld__rows").first()
    row = row_of(source, newest)
    watch: Watch | None = getattr(source, "watch", None)
    followed = watch if row.unknown_since is None else None
    return SourceCard(
        row=row,
        taken_at=newest.taken_at if newest is not None else None,
        reach=reach_of(source) if source.kind in WATCHED else None,
        holder=followed.holder if followed is not None else "",
        held_since=followed.held_since if followed is not None else None,
        health=_health(watch) if watch is not None else None,
        unheld=_summary(newest.unheld) if newest is not None and newest.unheld is not None else None,
        watchers=len(watch_processes()) if source.kind in WATCHED else 0,
        telemetry=telemetry_state(source) if source.kind in WATCHED else None,
    )


def cluster_for(viewer: Any, source_id: int) -> Source:
    """A source that is a cluster.  Raises ``NotThereError``."""
    source = source_for(viewer, source_id)
    if source.kind not in WATCHED:
        raise NotThereError("no such cluster")
    return source


def watch_processes() -> list[str]:
    """Names of the processes that live and follow clusters."""
    alive = WatchProcess.objects.filter(seen_at__gt=timezone.now() - timedelta(seconds=LEASE_S))
    return list(alive.order_by("name").values_list("name", flat=True))


def unheld_rows(viewer: Any, source_id: int, *, what: str = "", kind: str = "") -> tuple[UnheldRow, ...]:
    """What the newest reading could not hold, object by object.  Raises ``NotThereError``."""
    source = source_for(viewer, source_id)
    newest = Observation.objects.filter(source=source).select_related("unheld").defer("columns", "gpu_states").first()
    if newest is None or newest.unheld is None:
        return ()
    rows = [UnheldRow(*row) for row in unpack_json(newest.unheld.rows)]
    return tuple(row for row in rows if what in ("", row.what) and kind in ("", row.kind))


def reach_of(source: Source) -> Reach:
    config: Json = source.config
    options: Json = config["options"]
    levels, low = options["levels"], options["low_priority"]
    custom = () if isinstance(levels, str) else tuple(f"{name}={label}" for name, label in levels)
    chosen = levels if isinstance(levels, str) else Levels.CUSTOM.value
    return Reach(
        way=config["way"],
        way_label=Way(config["way"]).label,
        context=config["context"],
        server=config["server"],
        means=config["means"],
        levels=chosen,
        levels_label=Levels(chosen).label,
        custom_levels=custom,
        tenant_labels=tuple(options["tenant_labels"]),
        namespace_tenants=options["namespace_tenants"],
        low_classes=tuple(low["classes"]),
        low_below=low["below"],
        low_labels=tuple(f"{key}={value}" for key, value in low["labels"]),
    )


def _health(watch: Watch) -> Health | None:
    if watch.health is None or watch.health_at is None:
        return None
    told: Json = watch.health
    kinds = tuple(_kind(one) for one in told["kinds"])
    # A kind that the server does not have is answered with 404 each time: no error of anybody.
    there = [row for row in kinds if row.phase != "absent"]
    lags = [row.lag_s for row in kinds if row.needed]
    return Health(
        told_at=watch.health_at,
        server_version=told["server_version"],
        skew_s=told["skew_s"],
        ready=told["ready"],
        missing=tuple(told["missing"]),
        lag_s=None if None in lags else max((lag for lag in lags if lag is not None), default=None),
        relists=sum(row.relists for row in there),
        reopenings=sum(row.reopenings for row in there),
        errors=sum(row.errors for row in there),
        bad=sum(row.bad for row in kinds),
        kinds=kinds,
    )


def _kind(told: Json) -> KindRow:
    errors: dict[str, int] = told["errors"]
    words = ", ".join(f"{word} {count:,}" for word, count in sorted(errors.items(), key=lambda item: -item[1]))
    plain = {name: told[name] for name in KindRow.__dataclass_fields__ if name not in ("errors", "error_words")}
    return KindRow(**plain, errors=sum(errors.values()), error_words=words)


def _summary(unheld: Unheld) -> UnheldSummary:
    groups = tuple(
        UnheldGroup(what, UNHELD.get(what, what.replace("_", " ")), done, DONE.get(done, done), kind, count)
        for what, done, kind, count in unheld.groups
    )
    return UnheldSummary(unheld.total, unheld.kept, groups)
