"""Nodes as rows: the table, the card of one, the export."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from console.inventory.archive import ABSENT, NO_LIMIT, UNKNOWN, Snapshot
from console.inventory.cells import asw_of_nodes
from console.inventory.choices import CAUSES, HEALTH_BY_CODE
from console.inventory.selectors.devices import WHOLE_GPU_MILLI, DeviceRow, Holder, holding
from console.inventory.selectors.paging import Page, cut, parse_cursor
from console.inventory.selectors.pods import PodRow, rows_of_pods
from console.inventory.selectors.viewing import (
    Filters,
    Mask,
    NotThereError,
    Reading,
    mask_of_scope,
    members,
    node_mask,
    readings,
    visible_nodes,
)
from console.tenancy.selectors import tenant_scope

IN_MIB = ("ephemeral-storage", "hugepages-")  # as the reader of Kubernetes counts them, pages named in Ki in KiB
STATES = ("none", "empty", "slack", "full")
SORTS = ("name", "cluster", "model", "asw", "gpus", "free", "stranded", "pods", "health")
HIDDEN_FROM_TENANTS = frozenset({"pods"})  # keys that would order nodes by what others run there


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node.  GPUs whole, ``_milli`` in thousandths, memory in MiB.

    What is in use is None for a tenant's viewer, who gets ``own_gpu_milli`` and the anonymous ``others_gpu_milli``.
    """

    source: str
    cluster: str
    name: str
    gpu_model: str | None
    asw: str | None
    health: str
    state: str
    gpus: int
    allocatable_gpus: int
    free_gpus: int
    stranded_gpus: int
    cause: str | None
    own_gpu_milli: int
    others_gpu_milli: int
    over_committed_milli: int
    pods: int | None
    cpu_milli: int
    used_cpu_milli: int | None
    memory_mib: int
    used_memory_mib: int | None

    @property
    def withheld_gpus(self) -> int:
        """GPUs that the node has and does not allocate, where pods that hold some of them are all its excess.

        Which ones these are nobody says: a device plugin tells a number.
        """
        within = self.own_gpu_milli + self.others_gpu_milli <= self.gpus * WHOLE_GPU_MILLI
        return self.gpus - self.allocatable_gpus if self.over_committed_milli and within else 0


@dataclass(frozen=True, slots=True)
class NodeResource:
    """A counted resource beside CPU, memory and devices.  ``used`` None for a tenant's viewer; ``unit`` "" = pieces."""

    name: str
    amount: int
    used: int | None
    unit: str


@dataclass(frozen=True, slots=True)
class NodeCard:
    """The page of one node."""

    row: NodeRow
    resources: tuple[NodeResource, ...]
    zone: str | None
    max_pods: int | None
    power_watts: int | None
    labels: tuple[tuple[str, str], ...]
    taints: tuple[str, ...]
    devices: tuple[DeviceRow, ...]
    unplaced: tuple[Holder, ...]  # pods of which it is not known which devices they hold
    pods: tuple[PodRow, ...]
    gangs: tuple[str, ...]  # of these pods, as namespace/name
    others: int | None  # pods of other tenants are not even counted: None for a tenant's viewer
    observed_at: datetime
    period_s: int
    revision: int

    @property
    def tells_devices(self) -> bool:
        """Something is known of one of them at least; else a table of them would be dashes."""
        return any(device.listed or device.holders for device in self.devices)


def node_rows(viewer: Any, filters: Filters, *, sort: str = "name", cursor: str = "", size: int = 50) -> Page[NodeRow]:
    """A page of nodes; ``sort`` is one of SORTS, with "-" in front for descending.  Raises ``BadCursorError``."""
    revision, start = parse_cursor(cursor)
    found, revision = _matching(viewer, filters, revision)
    total = sum(len(nodes) for _, nodes in found)
    scope = tenant_scope(viewer)
    order = _order(found, sort, scope)[start : start + size]
    rows = [_row(reading, node, scope) for reading, node in order]
    return cut(rows, total, start, revision, size)


def node_csv(viewer: Any, filters: Filters, *, sort: str = "name") -> Iterator[NodeRow]:
    """All rows of the table, one by one."""
    found, _ = _matching(viewer, filters, None)
    scope = tenant_scope(viewer)
    return (_row(reading, node, scope) for reading, node in _order(found, sort, scope))


def node_orders(viewer: Any) -> tuple[str, ...]:
    """Keys by which this viewer can sort nodes."""
    hidden = frozenset() if tenant_scope(viewer) is None else HIDDEN_FROM_TENANTS
    return tuple(key for key in SORTS if key not in hidden)


def node_card(viewer: Any, cluster: str, node: str, *, source: str = "") -> NodeCard:
    """One node with its pods.  Raises ``NotThereError``, also for nodes that carry nothing of a tenant's viewer.

    Where several sources have such a node, the first by name is shown unless ``source`` says which.
    """
    scope = tenant_scope(viewer)
    for reading in readings(Filters(source=source, cluster=cluster)):
        index = _find(reading, cluster, node)
        if index is not None and visible_nodes(reading.snapshot, scope)[index]:
            return _card(reading, index, scope)
    raise NotThereError("no such node")


CAUSE_WORDS = {
    "unhealthy": "not ready, cordoned or without its devices",
    "stranded": "fewer free GPUs than the node's own size of request",
    "cpu_memory": "GPUs free, CPU short",
    "constraint": "a taint keeps plain requests away",
    "fractional": "only parts of shared GPUs are left",
    "standby": "held by pods that are asleep",
    "allocated_lp": "in use by LP",
    "allocated_hp": "in use by HP",
}


def why_words(card: NodeCard) -> str:
    """Why a node's GPUs are not free for a request, and what is left beside them."""
    row = card.row
    why = CAUSE_WORDS.get(row.cause or "", "nothing keeps its free GPUs from use")
    if row.used_cpu_milli is None:
        return why
    left = max(row.cpu_milli - row.used_cpu_milli, 0) // 1000
    return f"{why}; CPU left {left} of {row.cpu_milli // 1000}, {row.pods} pods"


def _find(reading: Reading, cluster: str, node: str) -> int | None:
    snapshot = reading.snapshot
    for index, name in enumerate(snapshot.node_name):
        if name == node and snapshot.clusters[snapshot.node_cluster[index]].name == cluster:
            return index
    return None


type Found = list[tuple[Reading, "np.ndarray[Any, np.dtype[np.intp]]"]]


def _matching(viewer: Any, filters: Filters, revision: int | None) -> tuple[Found, int]:
    scope = tenant_scope(viewer)
    if scope is not None and filters.tenant and filters.tenant not in scope:
        return [], revision or 0
    found = readings(filters, revision)
    as_of = revision if revision is not None else max((row.revision for row in members()), default=0)
    return [(each, np.flatnonzero(_mask(each, filters, scope))) for each in found], as_of


def _mask(reading: Reading, filters: Filters, scope: frozenset[str] | None) -> Mask:
    return node_mask(reading, filters) & visible_nodes(reading.snapshot, scope)


def _order(found: Found, sort: str, scope: frozenset[str] | None) -> list[tuple[Reading, int]]:
    """By the key, then by source, cluster and name, whatever the direction.

    An order by what a tenant's viewer may not read would tell it all the same: such a key sorts nothing.
    """
    down = sort.startswith("-")
    key = sort.removeprefix("-")
    if scope is not None and key in HIDDEN_FROM_TENANTS:
        return _order(found, "name", scope)
    pairs = [(reading, int(node)) for reading, nodes in found for node in nodes]
    if key not in SORTS or (key == "name" and not down and len(found) == 1):
        return pairs
    values = {id(reading): _keys(reading, key) for reading, _ in found}
    pairs.sort(key=lambda pair: values[id(pair[0])][pair[1]], reverse=down)
    return pairs


def _keys(reading: Reading, key: str) -> list[Any]:
    snapshot, held = reading.snapshot, reading.occupancy
    columns: dict[str, Any] = {
        "gpus": snapshot.node_gpus,
        "free": held.free_gpus,
        "stranded": reading.column("stranded_gpus"),
        "pods": held.pods,
        "health": reading.column("health"),
    }
    if key in columns:
        return list(columns[key].tolist())
    if key == "name":
        return list(snapshot.node_name)
    if key == "cluster":
        return [(reading.source, snapshot.clusters[c].name) for c in snapshot.node_cluster]
    if key == "model":
        return [_name(snapshot.models, m) or "\U0010ffff" for m in snapshot.node_model]
    return [_name(snapshot.domain_name, d) or "\U0010ffff" for d in asw_of_nodes(snapshot)]


def _name(names: tuple[str, ...], index: int) -> str | None:
    return None if index == UNKNOWN else names[index]


def _row(reading: Reading, node: int, scope: frozenset[str] | None) -> NodeRow:
    snapshot, held = reading.snapshot, reading.occupancy
    own = _own_gpu_milli(reading, node, scope)
    used = int(held.used_gpu_milli[node])
    whole = scope is None
    return NodeRow(
        source=reading.source,
        cluster=snapshot.clusters[snapshot.node_cluster[node]].name,
        name=snapshot.node_name[node],
        gpu_model=_name(snapshot.models, int(snapshot.node_model[node])),
        asw=_name(snapshot.domain_name, int(asw_of_nodes(snapshot)[node])),
        health=HEALTH_BY_CODE[int(reading.column("health")[node])].value,
        state=STATES[int(held.state[node])],
        gpus=int(snapshot.node_gpus[node]),
        allocatable_gpus=int(snapshot.node_allocatable[node]),
        free_gpus=int(held.free_gpus[node]),
        stranded_gpus=int(reading.column("stranded_gpus")[node]),
        cause=CAUSES[int(reading.column("cause")[node])] or None,
        own_gpu_milli=own,
        others_gpu_milli=max(used - own, 0),
        over_committed_milli=int(held.over_committed_milli[node]),
        pods=int(held.pods[node]) if whole else None,
        cpu_milli=int(snapshot.node_cpu_milli[node]),
        used_cpu_milli=int(held.used_cpu_milli[node]) if whole else None,
        memory_mib=int(snapshot.node_memory_mib[node]),
        used_memory_mib=int(held.used_memory_mib[node]) if whole else None,
    )


def _own_gpu_milli(reading: Reading, node: int, scope: frozenset[str] | None) -> int:
    """GPUs of the viewer's pods on the node; for those who see everybody, all that is used."""
    snapshot = reading.snapshot
    if scope is None:
        return int(reading.occupancy.used_gpu_milli[node])
    mine = mask_of_scope(scope, snapshot) & snapshot.pod_live & (snapshot.pod_node == node)
    return int((snapshot.pod_gpus[mine].astype(np.int64) * snapshot.pod_gpu_milli[mine]).sum())


def _resources(snapshot: Snapshot, node: int, whole: bool) -> tuple[NodeResource, ...]:
    """What the node has, and what live pods ask of it; also where they ask for what it has not."""
    has = dict(snapshot.node_specs[snapshot.node_spec[node]].resources)
    used: Counter[str] = Counter()
    for pod in np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == node)).tolist() if whole else ():
        for name, amount in snapshot.pod_specs[snapshot.pod_spec[pod]].resources:
            used[name] += amount
    return tuple(
        NodeResource(name, has.get(name, 0), used[name] if whole else None, _unit(name))
        for name in sorted({*has, *used})
    )


def _unit(name: str) -> str:
    return "" if not name.startswith(IN_MIB) else "KiB" if name.endswith("Ki") else "MiB"


def _gangs(snapshot: Snapshot, pods: Iterable[int]) -> tuple[str, ...]:
    found = {int(snapshot.pod_gang[pod]) for pod in pods if snapshot.pod_live[pod]} - {UNKNOWN}
    return tuple(f"{snapshot.gangs[g].namespace}/{snapshot.gangs[g].name}" for g in sorted(found))


def _card(reading: Reading, node: int, scope: frozenset[str] | None) -> NodeCard:
    snapshot = reading.snapshot
    here = snapshot.pod_node == node
    shown = np.flatnonzero(here & mask_of_scope(scope, snapshot))
    spec = snapshot.node_specs[snapshot.node_spec[node]]
    limit, watts = int(snapshot.node_max_pods[node]), int(snapshot.node_power_watts[node])
    whole, held = scope is None, holding(reading, node, scope)
    return NodeCard(
        row=_row(reading, node, scope),
        resources=_resources(snapshot, node, whole),
        zone=_name(snapshot.zones, int(snapshot.node_zone[node])),
        max_pods=None if limit == NO_LIMIT else limit,
        power_watts=None if watts == ABSENT else watts,
        # Labels and taints often say for whom a node is kept: another tenant's name.
        labels=spec.labels if whole else (),
        taints=tuple(f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in spec.taints) if whole else (),
        devices=held.devices,
        unplaced=held.unplaced,
        pods=rows_of_pods(reading, shown),
        gangs=_gangs(snapshot, shown),
        others=0 if whole else None,
        observed_at=reading.observation.observed_at,
        period_s=reading.period_s,
        revision=reading.observation.revision,
    )
