"""Locks by owners: what they hold, which nodes they alone keep from being emptied, and for how long by now.

A tenant sees its own rows and nothing of anybody else's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Case, F, FloatField, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from console.inventory.choices import LockShare
from console.inventory.models import LockRelease, LockSlot, Measurement, Observation, OwnerLock, UsageSlot
from console.inventory.selectors.idling import HOUR, HOUR_S, WINDOWS
from console.inventory.selectors.paging import Page, cut, parse_cursor
from console.inventory.selectors.releases import Names, names_of, newest_releases
from console.inventory.selectors.viewing import NotThereError
from console.tenancy.selectors import tenant_scope
from console.ui.states import PageState

GROUPS = ("workload", "tenant")
_NAMES = {"workload": ("namespace", "workload"), "tenant": ("tenant",), "cluster": ("source__name", "cluster")}
FIGURES = ("stranded", "free", "held", "nodes", "since", "until")
SORTS = (*FIGURES, *_NAMES)
_COLUMNS = {
    "stranded": "stranded_s",
    "free": "free",
    "held": "held",
    "nodes": "nodes",
    "since": "from_",
    "until": "to_",
}


@dataclass(frozen=True, slots=True)
class OwnerLockFilters(PageState):
    """The state of the page; ``window`` one of WINDOWS, ``by`` one of GROUPS."""

    words: ClassVar = {"window": WINDOWS, "by": GROUPS}
    window: str = "24h"
    by: str = "workload"
    source: str = ""
    cluster: str = ""
    tenant: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class OwnerLockRow:
    """One owner's locks now, and GPU-hours of the window.  ``id`` None: a tenant as a whole.

    ``share`` tells what the row sums up.  ``until`` is the last end that its pods name, None where ``open_ended`` says
    that some name none.  ``lifted_at``: nothing of it is locked any more.  ``release_state`` "" where nobody asked.
    """

    id: int | None
    source: str
    cluster: str
    tenant: str
    namespace: str
    workload: str
    share: str
    pods: int
    held_milli: int
    kept_nodes: int
    kept_gpus: int
    stranded_gpus: int
    stranded_gpu_h: float
    since: datetime
    since_known: bool
    until: datetime | None
    open_ended: bool
    lifted_at: datetime | None
    locked_by: str
    reason: str
    release_state: str = ""
    release_begins_at: datetime | None = None
    release_ends_at: datetime | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.workload}"

    @property
    def share_words(self) -> str:
        return str(LockShare(self.share).label)


@dataclass(frozen=True, slots=True)
class OwnerLockTotal:
    """Of all rows that the filters let through.  ``known_h``: of so many hours of the window something is known."""

    pods: int
    held_milli: int
    kept_nodes: int
    kept_gpus: int
    stranded_gpus: int
    stranded_gpu_h: float
    known_h: float
    window_h: float


def owner_lock_orders(by: str) -> tuple[str, ...]:
    """What rows of this group can be ordered by."""
    return SORTS if by == "workload" else (*FIGURES, "tenant")


def owner_locks_since(filters: OwnerLockFilters, now: datetime | None = None) -> datetime:
    """So many full hours back; the running hour comes on top."""
    return (now or timezone.now()).replace(minute=0, second=0, microsecond=0) - WINDOWS[filters.window] * HOUR


def owner_lock_rows(
    viewer: Any, filters: OwnerLockFilters, *, sort: str = "-stranded", cursor: str = "", size: int = 50
) -> Page[OwnerLockRow]:
    """Most GPU-hours first unless ``sort`` of ``owner_lock_orders`` says otherwise.  Raises ``BadCursorError``."""
    _, start = parse_cursor(cursor)
    found = _ordered(viewer, filters, sort)
    chosen = list(found[start : start + size])
    return cut(_as_rows(viewer, filters, chosen), found.count(), start, 0, size)


def owner_lock_csv(viewer: Any, filters: OwnerLockFilters, *, sort: str = "-stranded") -> Iterator[OwnerLockRow]:
    return iter(_as_rows(viewer, filters, list(_ordered(viewer, filters, sort))))


def owner_lock_total(viewer: Any, filters: OwnerLockFilters) -> OwnerLockTotal | None:
    """None where no reading of the sources was ever measured: what is not known is no zero."""
    now = timezone.now()
    since = owner_locks_since(filters, now)
    measured = Measurement.objects.all()
    if filters.source:
        measured = measured.filter(observation__source__name=filters.source)
    if not measured.exists():
        return None
    rows = _matching(viewer, filters, since, now)
    sums = rows.aggregate(
        **{name: Coalesce(Sum(name), 0) for name in ("pods", "held_milli", "kept_nodes", "kept_gpus", "stranded_gpus")},
        seconds=Coalesce(Sum("stranded_s"), 0.0),
    )
    seconds = sums.pop("seconds")
    window_h = (now - since).total_seconds() / HOUR_S
    return OwnerLockTotal(**sums, stranded_gpu_h=seconds / HOUR_S, known_h=_known_h(filters, since), window_h=window_h)


def owner_lock_tenants(viewer: Any) -> tuple[str, ...]:
    """Names for the filter."""
    rows = _visible(viewer).exclude(tenant="").order_by("tenant")
    return tuple(rows.values_list("tenant", flat=True).distinct())


def owner_lock_for(viewer: Any, lock_id: int) -> tuple[OwnerLock, OwnerLockRow]:
    """Raises ``NotThereError``: for another tenant's row just as for none."""
    filters = OwnerLockFilters()
    now = timezone.now()
    found = _with_hours(_visible(viewer), owner_locks_since(filters, now), now).filter(pk=lock_id).first()
    if found is None:
        raise NotThereError("no such lock")
    return found, _rows_of(viewer, [found])[0]


# --- rows -----------------------------------------------------------------------------------------------------------
def _visible(viewer: Any) -> QuerySet[OwnerLock]:
    rows = OwnerLock.objects.select_related("source")
    scope = tenant_scope(viewer)
    return rows if scope is None else rows.filter(tenant__in=scope)


def _matching(viewer: Any, filters: OwnerLockFilters, since: datetime, now: datetime) -> QuerySet[Any]:
    """Locks that are, or were within the window."""
    rows = _visible(viewer).filter(Q(ended_at__isnull=True) | Q(ended_at__gte=since))
    for name, field in (("source", "source__name"), ("cluster", "cluster"), ("tenant", "tenant")):
        if getattr(filters, name):
            rows = rows.filter(**{field: getattr(filters, name)})
    if filters.text:
        holds = Q(namespace__icontains=filters.text) | Q(workload__icontains=filters.text)
        rows = rows.filter(holds | Q(tenant__icontains=filters.text))
    return _with_hours(rows, since, now)


def _with_hours(rows: QuerySet[Any], since: datetime, now: datetime) -> QuerySet[Any]:
    """With GPU-seconds since then: those that were summed up, and what the newest reading holds since it was begun."""
    summed = LockSlot.objects.filter(lock=OuterRef("pk"), began_at__gte=since).order_by().values("lock")
    hours = Coalesce(Subquery(summed.annotate(all=Sum("stranded_gpu_s")).values("all")), 0.0)
    found: QuerySet[Any] = rows.annotate(stranded_s=hours + F("stranded_gpus") * _running(since))
    return found


def _running(since: datetime) -> Case:
    """Seconds by source for which its newest measured reading stands, as far as anybody has said so."""
    stands = Observation.objects.filter(pk__in=_newest_measured()).values_list("source", "begun_at", "observed_at")
    spans = [(source, (said - max(begun, since)).total_seconds()) for source, begun, said in stands]
    told = [When(source=source, then=Value(seconds)) for source, seconds in spans if seconds > 0]
    return Case(*told, default=Value(0.0), output_field=FloatField())


def _newest_measured() -> list[int]:
    rows = Measurement.objects.order_by().values("observation__source").annotate(newest=Max("observation"))
    return list(rows.values_list("newest", flat=True))


def _ordered(viewer: Any, filters: OwnerLockFilters, sort: str) -> Any:
    now = timezone.now()
    rows = _matching(viewer, filters, owner_locks_since(filters, now), now)
    word, down = sort.removeprefix("-"), sort.startswith("-")
    if filters.by == "tenant":
        rows = rows.order_by().values("tenant").annotate(**_sums())
        last: tuple[str, ...] = ("tenant",)
    else:
        rows = rows.annotate(free=F("stranded_gpus"), held=F("held_milli"), nodes=F("kept_nodes"))
        rows = rows.annotate(from_=F("since"), to_=F("until"))
        last = ("cluster", "tenant", "namespace", "workload", "pk")
    keys = _NAMES.get(word) or (_COLUMNS.get(word, word),)
    order = [F(key).desc(nulls_last=True) if down else F(key).asc(nulls_last=True) for key in keys]
    return rows.order_by(*order, *last)


def _sums() -> dict[str, Any]:
    return {
        "stranded_s": Sum("stranded_s"), "all_pods": Sum("pods"), "held": Sum("held_milli"), "nodes": Sum("kept_nodes"),
        "gpus": Sum("kept_gpus"), "free": Sum("stranded_gpus"), "from_": Min("since"), "to_": Max("until"),
        "open": Max(Case(When(open_ended=True, then=Value(1)), default=Value(0))),
    }  # fmt: skip


def _as_rows(viewer: Any, filters: OwnerLockFilters, found: list[Any]) -> list[OwnerLockRow]:
    return [_of_tenant(one) for one in found] if filters.by == "tenant" else _rows_of(viewer, found)


def _of_tenant(found: dict[str, Any]) -> OwnerLockRow:
    return OwnerLockRow(
        id=None, source="", cluster="", tenant=found["tenant"], namespace="", workload="",
        share=LockShare.TENANT if found["tenant"] else LockShare.MIXED,
        pods=found["all_pods"], held_milli=found["held"], kept_nodes=found["nodes"], kept_gpus=found["gpus"],
        stranded_gpus=found["free"], stranded_gpu_h=found["stranded_s"] / HOUR_S, since=found["from_"],
        since_known=True, until=found["to_"], open_ended=bool(found["open"]), lifted_at=None, locked_by="", reason="",
    )  # fmt: skip


def _rows_of(viewer: Any, found: list[Any]) -> list[OwnerLockRow]:
    asked = newest_releases(viewer, found)
    return [_row(lock, asked) for lock in found]


def _row(lock: Any, asked: dict[Names, LockRelease]) -> OwnerLockRow:
    release = asked.get(names_of(lock)) if lock.share == LockShare.WORKLOAD else None
    plain = {
        name: getattr(lock, name)
        for name in (
            "cluster", "tenant", "namespace", "workload", "share", "pods", "held_milli", "kept_nodes", "kept_gpus",
            "stranded_gpus", "since", "since_known", "until", "open_ended",
        )
    }  # fmt: skip
    return OwnerLockRow(
        **plain,
        id=lock.pk,
        source=lock.source.name,
        stranded_gpu_h=lock.stranded_s / HOUR_S,
        lifted_at=lock.ended_at,
        locked_by=", ".join(lock.locked_by),
        reason="; ".join(lock.reasons),
        release_state="" if release is None else release.shown_state,
        release_begins_at=None if release is None else release.begins_at,
        release_ends_at=None if release is None else release.ends_at,
    )


def _known_h(filters: OwnerLockFilters, since: datetime) -> float:
    """Of the sources that know most; a source that was away is named by its own age."""
    slots = UsageSlot.objects.filter(began_at__gte=since)
    if filters.source:
        slots = slots.filter(source__name=filters.source)
    by_source = dict(slots.order_by().values("source").annotate(known=Sum("covered_s")).values_list("source", "known"))
    stands = Observation.objects.filter(pk__in=_newest_measured()).values_list("source", "begun_at", "observed_at")
    for source, begun, said in stands:
        by_source[source] = by_source.get(source, 0.0) + max((said - max(begun, since)).total_seconds(), 0.0)
    return max(by_source.values(), default=0.0) / HOUR_S
