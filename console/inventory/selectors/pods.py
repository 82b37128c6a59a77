"""Pods as rows.  A viewer of tenants sees their pods and no trace of any other."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from console.inventory.archive import ABSENT, ORPHAN, UNKNOWN, Snapshot
from console.inventory.selectors.devices import devices_of_pod
from console.inventory.selectors.paging import Page, cut, parse_cursor
from console.inventory.selectors.viewing import (
    Filters,
    Mask,
    NotThereError,
    Reading,
    mask_of_scope,
    members,
    node_mask,
    readings,
)
from console.tenancy.selectors import tenant_scope

SORTS = ("name", "namespace", "cluster", "node", "tenant", "gpus", "priority", "cpu", "memory")
MOVES = ("copy", "restart", "never")
CLASSES = ("training", "dev", "online", "offline")
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class PodRow:
    """One pod.  ``node`` None waits; ``node_known`` False: it names a node that the source does not list."""

    source: str
    cluster: str
    namespace: str
    name: str
    tenant: str | None
    node: str | None
    node_known: bool
    phase: str
    gpus: int
    gpu_milli: int
    cpu_milli: int
    memory_mib: int
    tier: str
    work_class: str | None
    priority: int
    locked: bool
    standby: bool
    terminating: bool
    move: str
    agent: bool = False  # belongs to its node: DaemonSets and static pods

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodCard:
    """The page of one pod; times are seconds on the snapshot's own clock, ``age`` what has passed since.

    ``made_by`` names the workload whose page lists all its pods; ``devices`` None: it is not known which they are.
    """

    row: PodRow
    uid: str
    owner: str | None
    workload: str | None
    made_by: str | None
    devices: tuple[int, ...] | None
    gang: str | None
    lender: str | None
    locked_by: str | None
    lock_reason: str | None
    lock_left_s: int | None
    running_s: int | None
    since_checkpoint_s: int | None
    accepted_models: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    node_selector: tuple[tuple[str, str], ...]
    affinity: tuple[str, ...]
    anti_affinity: tuple[str, ...]
    observed_at: datetime
    period_s: int
    revision: int


def pod_rows(viewer: Any, filters: Filters, *, sort: str = "name", cursor: str = "", size: int = 50) -> Page[PodRow]:
    """A page of pods; ``sort`` is one of SORTS, with "-" in front for descending.  Raises ``BadCursorError``."""
    revision, start = parse_cursor(cursor)
    found, as_of = _matching(viewer, filters, revision)
    total = sum(len(pods) for _, pods in found)
    rows: list[PodRow] = []
    for reading, pods in _slice(found, sort, start, size):
        rows += rows_of_pods(reading, pods)
    return cut(rows, total, start, as_of, size)


def pod_csv(viewer: Any, filters: Filters, *, sort: str = "name") -> Iterator[PodRow]:
    """All rows of the table, one by one."""
    found, _ = _matching(viewer, filters, None)
    whole = sum(len(pods) for _, pods in found)
    return (row for reading, pods in _slice(found, sort, 0, whole) for row in rows_of_pods(reading, pods))


def pod_card(viewer: Any, cluster: str, key: str, *, source: str = "") -> PodCard:
    """The pod ``namespace/name``.  Raises ``NotThereError``: of another tenant's pod just as of none."""
    scope = tenant_scope(viewer)
    for reading in readings(Filters(source=source, cluster=cluster)):
        pod = _find(reading.snapshot, cluster, key)
        if pod is not None and mask_of_scope(scope, reading.snapshot)[pod]:
            return _card(reading, pod, scope)
    raise NotThereError("no such pod")


def rows_of_pods(reading: Reading, pods: Iterable[Any]) -> tuple[PodRow, ...]:
    return tuple(_row(reading, int(pod)) for pod in pods)


type Found = list[tuple[Reading, Indices]]


def _matching(viewer: Any, filters: Filters, revision: int | None) -> tuple[Found, int]:
    scope = tenant_scope(viewer)
    as_of = revision if revision is not None else max((row.revision for row in members()), default=0)
    if scope is not None and filters.tenant and filters.tenant not in scope:
        return [], as_of
    found = readings(filters, revision)
    return [(each, np.flatnonzero(_mask(each, filters) & mask_of_scope(scope, each.snapshot))) for each in found], as_of


def _mask(reading: Reading, filters: Filters) -> Mask:
    """[p] pods that the filters let through: the node's filters by their node, the others by themselves."""
    snapshot = reading.snapshot
    keep = np.ones(len(snapshot.pod_name), dtype=np.bool_)
    if filters.cluster:
        names = [cluster.name for cluster in snapshot.clusters]
        keep &= snapshot.pod_cluster == (names.index(filters.cluster) if filters.cluster in names else -99)
    if filters.model or filters.asw or filters.health:
        nodes = node_mask(reading, Filters(model=filters.model, asw=filters.asw, health=filters.health))
        keep &= np.append(nodes, [False, False])[snapshot.pod_node]  # pending and orphaned pods are on none
    if filters.tenant:
        known = snapshot.tenants
        keep &= snapshot.pod_tenant == (known.index(filters.tenant) if filters.tenant in known else -99)
    if filters.text:
        keep &= _named(snapshot, filters.text.casefold())
    return keep


def _named(snapshot: Snapshot, wanted: str) -> Mask:
    spaces = [name.casefold() for name in snapshot.namespaces]
    pairs = zip(snapshot.pod_namespace.tolist(), snapshot.pod_name, strict=True)
    found = (wanted in f"{spaces[space]}/{name.casefold()}" for space, name in pairs)
    return np.fromiter(found, np.bool_, len(snapshot.pod_name))


def _slice(found: Found, sort: str, start: int, size: int) -> list[tuple[Reading, Any]]:
    """Rows ``start`` .. of all sources in order, as (reading, pods) runs."""
    if len(found) == 1:
        reading, pods = found[0]
        return [(reading, _sorted(reading, pods, sort)[start : start + size])]
    runs = [_run(reading, pods, sort) for reading, pods in found]
    key, down = sort.removeprefix("-"), sort.startswith("-")
    # A page needs the first rows of each source only, so that nothing is sorted over all of them.
    merged = merge(*runs, key=itemgetter(0), reverse=down) if key in SORTS else chain.from_iterable(runs)
    return [(reading, [pod]) for _, reading, pod in islice(merged, start, start + size)]


def _run(reading: Reading, pods: Indices, sort: str) -> Iterator[tuple[Any, Reading, int]]:
    """The pods of one source in order, each with its value."""
    value = _value(reading, sort.removeprefix("-"))
    for pod in _sorted(reading, pods, sort):
        yield value(int(pod)), reading, int(pod)


def _sorted(reading: Reading, pods: Indices, sort: str) -> Any:
    key, down = sort.removeprefix("-"), sort.startswith("-")
    if key not in SORTS:
        return pods
    if key == "namespace" and len(reading.snapshot.clusters) == 1:
        return pods[::-1] if down else pods  # the order of rows within a cluster
    return sorted(pods.tolist(), key=_value(reading, key), reverse=down)


def _value(reading: Reading, key: str) -> Callable[[int], Any]:
    """What a pod is sorted by; 0 for all where ``key`` is none of SORTS."""
    snapshot = reading.snapshot
    columns: dict[str, Any] = {
        "gpus": snapshot.pod_gpus * snapshot.pod_gpu_milli.astype(np.int64),
        "priority": snapshot.pod_priority,
        "cpu": snapshot.pod_cpu_milli,
        "memory": snapshot.pod_memory_mib,
    }
    if key in columns:
        return list(columns[key].tolist()).__getitem__
    names, spaces, space = snapshot.pod_name, snapshot.namespaces, snapshot.pod_namespace
    values: dict[str, Callable[[int], Any]] = {
        "name": names.__getitem__,
        "namespace": lambda pod: (spaces[space[pod]], names[pod]),
        "node": lambda pod: _node(snapshot, pod) or "",
        "tenant": lambda pod: snapshot.tenants[t] if (t := snapshot.pod_tenant[pod]) != UNKNOWN else "",
        "cluster": lambda pod: (reading.source, snapshot.clusters[snapshot.pod_cluster[pod]].name),
    }
    return values.get(key, lambda pod: 0)


def _node(snapshot: Snapshot, pod: int) -> str | None:
    node = int(snapshot.pod_node[pod])
    if node == ORPHAN:
        return snapshot.pod_orphan_node[pod]
    return None if node == UNKNOWN else snapshot.node_name[node]


def _find(snapshot: Snapshot, cluster: str, key: str) -> int | None:
    space, _, name = key.partition("/")
    for pod, known in enumerate(snapshot.pod_name):
        if known == name and _belongs(snapshot, pod, space, cluster):
            return pod
    return None


def _belongs(snapshot: Snapshot, pod: int, space: str, cluster: str) -> bool:
    where = snapshot.clusters[snapshot.pod_cluster[pod]].name
    return bool(where == cluster and snapshot.namespaces[snapshot.pod_namespace[pod]] == space)


def _row(reading: Reading, pod: int) -> PodRow:
    snapshot = reading.snapshot
    tenant, work = int(snapshot.pod_tenant[pod]), int(snapshot.pod_work_class[pod])
    node = _node(snapshot, pod)
    return PodRow(
        source=reading.source,
        cluster=snapshot.clusters[snapshot.pod_cluster[pod]].name,
        namespace=snapshot.namespaces[snapshot.pod_namespace[pod]],
        name=snapshot.pod_name[pod],
        tenant=None if tenant == UNKNOWN else snapshot.tenants[tenant],
        node=node,
        node_known=node is None or int(snapshot.pod_node[pod]) != ORPHAN,
        phase=snapshot.pod_phase[pod] or ("Pending" if node is None else "Running"),
        gpus=int(snapshot.pod_gpus[pod]),
        gpu_milli=int(snapshot.pod_gpu_milli[pod]),
        cpu_milli=int(snapshot.pod_cpu_milli[pod]),
        memory_mib=int(snapshot.pod_memory_mib[pod]),
        tier="LP" if snapshot.pod_lp[pod] else "HP",
        work_class=None if work == UNKNOWN else CLASSES[work],
        priority=int(snapshot.pod_priority[pod]),
        locked=bool(snapshot.pod_locked[pod]),
        standby=bool(snapshot.pod_standby[pod]),
        terminating=bool(snapshot.pod_terminating[pod]),
        move=MOVES[int(snapshot.pod_move[pod])],
        agent=bool(snapshot.pod_agent[pod]),
    )


def _card(reading: Reading, pod: int, scope: frozenset[str] | None) -> PodCard:
    snapshot = reading.snapshot
    spec, gang = snapshot.pod_specs[snapshot.pod_spec[pod]], int(snapshot.pod_gang[pod])
    owner = spec.owner.kind if spec.owner is not None else None
    return PodCard(
        row=_row(reading, pod),
        uid=snapshot.pod_uid[pod],
        owner=owner,
        workload=spec.workload,
        made_by=workload_name(spec),
        devices=devices_of_pod(snapshot, pod),
        gang=None if gang == UNKNOWN else snapshot.gangs[gang].name,
        lender=_lender(snapshot, pod, scope),
        locked_by=spec.locked_by,
        lock_reason=spec.lock_reason,
        lock_left_s=_after(snapshot, int(snapshot.pod_locked_until_s[pod])),
        running_s=seconds_since(snapshot, int(snapshot.pod_started_s[pod])),
        since_checkpoint_s=seconds_since(snapshot, int(snapshot.pod_checkpoint_s[pod])),
        accepted_models=spec.gpu_models,
        labels=spec.labels,
        node_selector=spec.node_selector,
        affinity=spec.affinity,
        anti_affinity=spec.anti_affinity,
        observed_at=reading.observation.observed_at,
        period_s=reading.period_s,
        revision=reading.observation.revision,
    )


def workload_name(spec: Any) -> str | None:
    """What made a pod of this spec: its workload, else its direct owner as kind/name; None where nobody says.

    With its kind, so that a Job and a workload of the same name are not taken for one.
    """
    if spec.workload:
        return str(spec.workload)
    owner = spec.owner
    return f"{owner.kind}/{owner.name}" if owner is not None and owner.name else None


def _lender(snapshot: Snapshot, pod: int, scope: frozenset[str] | None) -> str | None:
    """Who lends; where that is another tenant, only its role is told."""
    lender = int(snapshot.pod_lender[pod])
    if lender == UNKNOWN:
        return None
    return snapshot.pod_key(lender) if mask_of_scope(scope, snapshot)[lender] else "the lender"


def seconds_since(snapshot: Snapshot, instant_s: int) -> int | None:
    """On the snapshot's own clock; None where the instant is not given."""
    return None if instant_s == ABSENT else max(snapshot.now_s - instant_s, 0)


def _after(snapshot: Snapshot, instant_s: int) -> int | None:
    return None if instant_s == ABSENT else max(instant_s - snapshot.now_s, 0)
