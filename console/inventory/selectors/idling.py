"""Allocated but idle, by owner; devices that are not well; watts.  A tenant sees what is its own and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from django.db.models import F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from console.inventory.choices import WATCHED
from console.inventory.models import IdleSlot, Source
from console.inventory.selectors.devices import Holder, holding
from console.inventory.selectors.paging import Page, cut, parse_cursor
from console.inventory.selectors.sources import unknown_since
from console.inventory.selectors.viewing import Reading, readings
from console.tenancy.selectors import tenant_scope
from console.ui.states import PageState

HOUR = timedelta(hours=1)
WINDOWS = {"1h": 1, "24h": 24, "7d": 168}
GROUPS = {"workload": ("source__name", "cluster", "tenant", "namespace", "workload", "rest"), "tenant": ("tenant",)}
SORTS = ("idle", "observed", "allocated", "tenant", "workload", "cluster")
SHOWN_DEVICES = 200
_ORDER = {"workload": ("namespace", "workload"), "tenant": ("tenant",), "cluster": ("source__name", "cluster")}
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class IdleFilters(PageState):
    """The state of the page; ``window`` one of WINDOWS, ``by`` one of GROUPS."""

    words: ClassVar = {"window": WINDOWS, "by": GROUPS}
    window: str = "24h"
    by: str = "workload"
    source: str = ""
    tenant: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class IdleRow:
    """GPU-hours; ``idle_gpu_h`` None where nothing was observed.

    ``rest``: what found no row of its own; "" in a name: nobody says, or it is summed up.
    """

    source: str
    cluster: str
    tenant: str
    namespace: str
    workload: str
    rest: bool
    allocated_gpu_h: float
    observed_gpu_h: float
    idle_gpu_h: float | None

    @property
    def idle_percent(self) -> float | None:
        """Of what was observed; None where nothing was."""
        return 100 * self.idle_gpu_h / self.observed_gpu_h if self.idle_gpu_h is not None else None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.workload}"


@dataclass(frozen=True, slots=True)
class SickDevice:
    source: str
    cluster: str
    node: str
    index: int
    uuid: str
    health: str
    reason: str
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class Watts:
    """Of the nodes that tell; None where none does."""

    watts: int | None
    nodes: int
    of_nodes: int
    observed_at: datetime | None


@dataclass(frozen=True, slots=True)
class TelemetryState:
    """How the endpoint of a source fares.  ``state``: waiting, live, late, unknown."""

    source_id: int
    source: str
    state: str
    error: str
    at: datetime | None
    url: str
    means: str
    user: str
    ca: str
    samples: int | None
    nameless: int | None
    devices: int | None
    unplaced: int | None
    named: tuple[str, ...]
    node_labels: tuple[str, ...]
    matchers: tuple[str, ...]
    idle_below: int


def idle_orders(by: str) -> tuple[str, ...]:
    """What rows of this group can be ordered by: a sum over a tenant's workloads has none of their names."""
    return tuple(word for word in SORTS if set(_ORDER.get(word, ())) <= {*GROUPS[by]})


def idle_since(filters: IdleFilters, now: datetime | None = None) -> datetime:
    """So many full hours back; the running hour comes on top."""
    instant = (now or timezone.now()).astimezone(UTC)
    return instant.replace(minute=0, second=0, microsecond=0) - WINDOWS[filters.window] * HOUR


def idle_rows(
    viewer: Any, filters: IdleFilters, *, sort: str = "-idle", cursor: str = "", size: int = 50
) -> Page[IdleRow]:
    """Most idle first unless ``sort``, one of ``idle_orders``, says otherwise.  Raises ``BadCursorError``."""
    _, start = parse_cursor(cursor)
    found = _grouped(viewer, filters, sort)
    rows = [_row(one) for one in found[start : start + size]]
    return cut(rows, found.count(), start, 0, size)


def idle_csv(viewer: Any, filters: IdleFilters, *, sort: str = "-idle") -> Iterator[IdleRow]:
    return (_row(one) for one in _grouped(viewer, filters, sort).iterator(1000))


def idle_total(viewer: Any, filters: IdleFilters) -> IdleRow | None:
    """None where nothing was measured in that time."""
    rows = _slots(viewer, filters)
    return _row(rows.aggregate(**_sums())) if rows.exists() else None


def _slots(viewer: Any, filters: IdleFilters) -> QuerySet[IdleSlot]:
    rows = IdleSlot.objects.filter(began_at__gte=idle_since(filters))
    scope = tenant_scope(viewer)
    if scope is not None:
        rows = rows.filter(tenant__in=scope)
    if filters.source:
        rows = rows.filter(source__name=filters.source)
    if filters.tenant:
        rows = rows.filter(tenant=filters.tenant)
    if filters.text:
        holds = Q(namespace__icontains=filters.text) | Q(workload__icontains=filters.text)
        rows = rows.filter(holds | Q(tenant__icontains=filters.text))
    return rows


def _sums() -> dict[str, Any]:
    return {name: Coalesce(Sum(f"{name}_gpu_s"), Value(0.0)) for name in ("allocated", "observed", "idle")}


def _grouped(viewer: Any, filters: IdleFilters, sort: str) -> Any:
    names = GROUPS[filters.by]
    rows = _slots(viewer, filters).values(*names).annotate(**_sums())
    word, down = sort.removeprefix("-"), sort.startswith("-")
    order = [F(key).desc() if down else F(key).asc() for key in _ORDER.get(word, (word,))]
    return rows.order_by(*order, *names)


def _row(found: dict[str, Any]) -> IdleRow:
    return IdleRow(
        source=found.get("source__name", ""),
        cluster=found.get("cluster", ""),
        tenant=found.get("tenant", ""),
        namespace=found.get("namespace", ""),
        workload=found.get("workload", ""),
        rest=found.get("rest", False),
        allocated_gpu_h=found["allocated"] / HOUR_S,
        observed_gpu_h=found["observed"] / HOUR_S,
        idle_gpu_h=found["idle"] / HOUR_S if found["observed"] else None,
    )


def idle_tenants(viewer: Any) -> tuple[str, ...]:
    """Names for the filter."""
    rows = _slots(viewer, IdleFilters(window="7d")).exclude(tenant="").order_by("tenant")
    return tuple(rows.values_list("tenant", flat=True).distinct())


# --- now -----------------------------------------------------------------------------------------------------------
def sick_devices(viewer: Any) -> tuple[tuple[SickDevice, ...], int]:
    """Devices that are not well, failed ones first, at most SHOWN_DEVICES; and how many there are."""
    scope = tenant_scope(viewer)
    reasons = _reasons()
    found = [one for reading in readings() for one in _sick_of(reading, scope, reasons)]
    found.sort(key=lambda one: (one.health != "failed", one.source, one.cluster, one.node, one.index))
    return tuple(found[:SHOWN_DEVICES]), len(found)


type Reasons = dict[tuple[str, str, int], str]


def _sick_of(reading: Reading, scope: frozenset[str] | None, reasons: Reasons) -> Iterator[SickDevice]:
    snapshot = reading.snapshot
    for node, devices in snapshot.node_devices.items():
        if all(device.health == "ok" for device in devices):
            continue
        name = snapshot.node_name[node]
        for row in holding(reading, node, scope).devices:
            if row.health in ("degraded", "failed"):
                why = reasons.get((reading.source, name, row.index), "")
                cluster = snapshot.clusters[snapshot.node_cluster[node]].name
                yield SickDevice(reading.source, cluster, name, row.index, row.uuid or "", row.health, why, row.holders)


def _reasons() -> Reasons:
    rows = Source.objects.filter(watch__telemetry__isnull=False).values_list("name", "watch__telemetry")
    return {(name, node, index): why for name, told in rows if told for node, index, why in told["reasons"]}


def watts_now(viewer: Any) -> Watts | None:
    """Measured power of all nodes; None for tenants, whose share of a node nobody measures."""
    if tenant_scope(viewer) is not None:
        return None
    found = readings()
    told = [int(watts) for reading in found for watts in reading.snapshot.node_power_watts if watts >= 0]
    return Watts(
        watts=sum(told) if told else None,
        nodes=len(told),
        of_nodes=sum(len(reading.snapshot.node_name) for reading in found),
        observed_at=min((reading.observation.observed_at for reading in found), default=None),
    )


def telemetry_states(viewer: Any) -> tuple[TelemetryState, ...]:
    """Of all clusters that have an endpoint; empty for tenants."""
    if tenant_scope(viewer) is not None:
        return ()
    rows = Source.objects.filter(kind__in=WATCHED).select_related("watch")
    found = (telemetry_state(row) for row in rows)
    return tuple(state for state in found if state is not None)


def telemetry_state(source: Source) -> TelemetryState | None:
    """None where no endpoint is attached.  What nobody has told for a while is unknown, whatever it said last."""
    config = source.config.get("telemetry")
    if not config:
        return None
    watch = getattr(source, "watch", None)
    told = (watch.telemetry if watch is not None else None) or {}
    left = unknown_since(source) is not None
    return TelemetryState(
        source_id=source.pk,
        source=source.name,
        state=("unknown" if told and left else told.get("state", "waiting")),
        error=told.get("error", "") or ("nobody follows this cluster" if left else ""),
        at=datetime.fromisoformat(told["at"]) if told.get("at") else None,
        url=config["url"],
        means=config["means"],
        user=config["user"],
        ca=config["ca"],
        samples=told.get("samples"),
        nameless=told.get("nameless"),
        devices=told.get("devices"),
        unplaced=told.get("unplaced"),
        named=tuple(told.get("named", ())),
        node_labels=tuple(config["node_labels"]),
        matchers=tuple(f"{label}={value}" for label, value in config["matchers"]),
        idle_below=config["idle_below"],
    )
