"""Which readings a page stands on, and who may see what in them."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from django.db.models import OuterRef, Subquery
from numpy.typing import NDArray

from console.inventory import archive
from console.inventory.archive import UNKNOWN, Occupancy, Snapshot
from console.inventory.cells import Cells, asw_of_nodes, layout_of, unpack_columns
from console.inventory.choices import HEALTH_BY_CODE, STORED, HealthCode
from console.inventory.models import Layout, Observation, Source
from console.tenancy.selectors import tenant_scope
from console.ui.states import PageState

NO_ASW = "-"  # the filter's word for nodes without an ASW label
LAYOUTS_KEPT = 32
Mask = NDArray[np.bool_]


class NotThereError(LookupError):
    """There is no such thing, or not for this viewer: both answers look alike."""


@dataclass(frozen=True, slots=True)
class Filters(PageState):
    """The view's state as it stands in the address; "" filters nothing."""

    source: str = ""
    cluster: str = ""
    model: str = ""
    asw: str = ""
    tenant: str = ""
    health: str = ""
    text: str = ""

    @property
    def any(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One source's part of a page: its observation, its snapshot, and the columns that were measured in it."""

    source: str
    period_s: int
    acts: bool
    observation: Observation
    snapshot: Snapshot
    columns: Cells  # [len(STORED), n] in snapshot order

    @property
    def occupancy(self) -> Occupancy:
        return archive.occupancy_of(self.snapshot)

    def column(self, name: str) -> Cells:
        return np.asarray(self.columns[STORED.index(name)])


def members(revision: int | None = None) -> list[Observation]:
    """The readings that make up the fleet as of a revision (None: newest), by source name; [] before the first."""
    drawn = Observation.objects.filter(columns__isnull=False)
    if revision is not None:
        drawn = drawn.filter(pk=revision)
    of_fleet = drawn.values_list("fleet", flat=True).first()
    if of_fleet is None:
        if revision is not None:
            raise NotThereError(f"revision {revision} is not kept")
        return []
    rows = Observation.objects.filter(pk__in=[number for _, number in of_fleet]).select_related("source")
    found = sorted(rows.defer("gpu_states"), key=lambda row: row.source.name)
    if revision is not None and len(found) < len(of_fleet):
        raise NotThereError(f"revision {revision} is no longer kept whole")
    return found


def readings(filters: Filters | None = None, revision: int | None = None) -> list[Reading]:
    """Snapshots of the fleet, by source; ``filters`` leaves out sources that cannot match."""
    found = members(revision)
    if filters is not None and filters.source:
        found = [row for row in found if row.source.name == filters.source]
    if filters is not None and filters.cluster:
        found = [row for row in found if filters.cluster in row.counts["clusters"]]
    kept = archive.load_all([row.digest for row in found])
    return [_reading(row, kept[row.digest]) for row in found if row.digest in kept]


def _reading(row: Observation, snapshot: Snapshot) -> Reading:
    order = layout_order(snapshot)
    columns = np.empty((len(STORED), len(order)), dtype=np.uint8)
    columns[:, order] = unpack_columns(bytes(row.columns or b""), len(STORED))
    source = row.source
    return Reading(source.name, source.period_s, source.acts, row, snapshot, columns)


_orders: "archive.Recent[NDArray[np.intp]]" = archive.Recent(len)


def layout_order(snapshot: Snapshot) -> NDArray[np.intp]:
    return _orders.get(snapshot.digest, lambda: layout_of(snapshot).order)


def node_mask(reading: Reading, filters: Filters) -> Mask:
    """[n] nodes that the filters let through."""
    snapshot = reading.snapshot
    keep = np.ones(len(snapshot.node_name), dtype=np.bool_)
    if filters.cluster:
        keep &= snapshot.node_cluster == _index([c.name for c in snapshot.clusters], filters.cluster)
    if filters.model:
        keep &= snapshot.node_model == _index(snapshot.models, filters.model)
    if filters.asw:
        keep &= _under(snapshot, filters.asw)
    if filters.health:
        keep &= reading.column("health") == _health_code(filters.health)
    if filters.tenant:
        keep &= _holds_tenant(snapshot, filters.tenant)
    if filters.text:
        wanted = filters.text.casefold()
        keep &= np.fromiter((wanted in name.casefold() for name in snapshot.node_name), np.bool_, len(keep))
    return keep


def _index(names: Iterable[str], name: str) -> int:
    """Its place, or one that no row has."""
    return next((index for index, known in enumerate(names) if known == name), -99)


def _under(snapshot: Snapshot, asw: str) -> Mask:
    domains = asw_of_nodes(snapshot)
    if asw == NO_ASW:
        return np.asarray(domains == UNKNOWN)
    named = [index for index, name in enumerate(snapshot.domain_name) if name == asw]
    return np.isin(domains, named)


def _health_code(word: str) -> int:
    return HEALTH_BY_CODE.index(HealthCode(word)) if word in HealthCode.values else -1


def _holds_tenant(snapshot: Snapshot, tenant: str) -> Mask:
    pods = snapshot.pod_live & (snapshot.pod_tenant == _index(snapshot.tenants, tenant))
    return np.bincount(snapshot.pod_node[pods], minlength=len(snapshot.node_name)) > 0


def scope_mask(viewer: Any, snapshot: Snapshot) -> Mask:
    """[p] pods whose names this viewer may see."""
    return mask_of_scope(tenant_scope(viewer), snapshot)


def mask_of_scope(scope: frozenset[str] | None, snapshot: Snapshot) -> Mask:
    if scope is None:
        return np.ones(len(snapshot.pod_name), dtype=np.bool_)
    allowed = np.array([*(tenant in scope for tenant in snapshot.tenants), False])
    return np.asarray(allowed[snapshot.pod_tenant])  # UNKNOWN is -1, the last: a pod without tenant is nobody's


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """What the filters of a page can be set to, each sorted."""

    sources: tuple[str, ...]
    clusters: tuple[str, ...]
    models: tuple[str, ...]
    asws: tuple[str, ...]
    tenants: tuple[str, ...]
    health: tuple[tuple[str, str], ...]


def filter_choices(viewer: Any) -> FilterChoices:
    """Only what the viewer may see: a tenant gets its own names and the hardware under its own pods."""
    scope = tenant_scope(viewer)
    found: dict[str, set[str]] = {name: set() for name in ("sources", "clusters", "models", "asws", "tenants")}
    if scope is None:
        for row in _newest_of_all():
            _add_all(found, row)
    else:
        for reading in readings():
            _add_choices(found, reading, scope)
    health = tuple((code.value, str(code.label)) for code in HEALTH_BY_CODE)
    return FilterChoices(**{name: tuple(sorted(values)) for name, values in found.items()}, health=health)


def _newest_of_all() -> list[Observation]:
    """Each source's newest reading, drawn on the map or not: what is observed can be named, also to be frozen."""
    newest = Observation.objects.filter(source=OuterRef("pk")).order_by("-revision").values("pk")[:1]
    drawn = Observation.objects.filter(source=OuterRef("source"), layout__isnull=False).order_by("-revision")
    rows = Observation.objects.filter(pk__in=Source.objects.annotate(newest=Subquery(newest)).values("newest"))
    rows = rows.annotate(places=Subquery(drawn.values("layout")[:1])).select_related("source")
    return list(rows.only("digest", "counts", "source__name"))


def _add_all(found: dict[str, set[str]], row: Any) -> None:
    """From what stands beside a reading: unpacking its snapshot for every page would cost more than the page."""
    found["sources"].add(row.source.name)
    found["clusters"].update(row.counts["clusters"])
    found["tenants"].update(row.counts.get("tenants", ()))
    models, asws = _names_in(row.places) if row.places is not None else _names_read(row.digest)
    found["models"] |= models
    found["asws"] |= asws


def _names_read(digest: str) -> tuple[frozenset[str], frozenset[str]]:
    """Models and ASWs of a source that was never drawn; none where its snapshot is no longer kept."""
    try:
        snapshot = archive.load(digest)
    except archive.GoneError:
        return frozenset(), frozenset()
    models = (snapshot.models[index] for index in np.unique(snapshot.node_model) if index != UNKNOWN)
    domains = (snapshot.domain_name[index] for index in np.unique(asw_of_nodes(snapshot)) if index != UNKNOWN)
    return frozenset(models), frozenset(domains)


@lru_cache(maxsize=LAYOUTS_KEPT)
def _names_in(digest: str) -> tuple[frozenset[str], frozenset[str]]:
    """Models and ASWs of a layout, which never changes."""
    groups = Layout.objects.values_list("groups", flat=True).get(pk=digest)
    pools = [pool for group in groups for pool in group["models"]]
    return (
        frozenset(pool["model"] for pool in pools if pool["model"] is not None),
        frozenset(run["asw"] for pool in pools for run in pool["asws"] if run["asw"] is not None),
    )


def _add_choices(found: dict[str, set[str]], reading: Reading, scope: frozenset[str]) -> None:
    snapshot = reading.snapshot
    nodes = visible_nodes(snapshot, scope)
    if not nodes.any():
        return
    found["sources"].add(reading.source)
    found["clusters"].update(snapshot.clusters[c].name for c in np.unique(snapshot.node_cluster[nodes]))
    found["models"].update(snapshot.models[m] for m in np.unique(snapshot.node_model[nodes]) if m != UNKNOWN)
    found["asws"].update(snapshot.domain_name[d] for d in np.unique(asw_of_nodes(snapshot)[nodes]) if d != UNKNOWN)
    found["tenants"].update(name for name in snapshot.tenants if name in scope)


def visible_nodes(snapshot: Snapshot, scope: frozenset[str] | None) -> Mask:
    """[n] all nodes, or for a tenant those that carry a pod of its own."""
    if scope is None:
        return np.ones(len(snapshot.node_name), dtype=np.bool_)
    pods = mask_of_scope(scope, snapshot) & snapshot.pod_live
    return np.bincount(snapshot.pod_node[pods], minlength=len(snapshot.node_name)) > 0
