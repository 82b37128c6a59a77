"""Snapshot back to records, and to the canonical JSON of the format."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from scheduler.cluster.quiet import no_collection
from scheduler.cluster.records import (
    SCHEMA,
    Document,
    DomainRecord,
    NodeRecord,
    PodRecord,
)
from scheduler.cluster.snapshot import (
    ABSENT,
    MOVE_MODES,
    NO_LIMIT,
    ORPHAN,
    UNKNOWN,
    WORK_CLASSES,
    Ints,
    Longs,
    Snapshot,
)

LISTS = ("clusters", "domains", "nodes", "pods", "gangs", "pdbs", "tenants")
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
OPTIONAL_TIMES = (
    "standby_until_s",
    "locked_until_s",
    "deleted_at_s",
    "grace_s",
    "started_s",
    "checkpoint_s",
    "checkpoint_interval_s",
    "min_runtime_s",
)


def write(snapshot: Snapshot) -> bytes:
    """Canonical JSON of the format: rows in canonical order, defaults left out, unknown fields put back."""
    with no_collection():
        return _write(snapshot)


def _write(snapshot: Snapshot) -> bytes:
    document = document_of(snapshot)
    top: dict[str, Any] = {"schema": SCHEMA, "taken_at": document.taken_at, "now_s": document.now_s}
    top |= {kind: getattr(document, kind) for kind in LISTS}
    if snapshot.extras:
        top = msgspec.to_builtins(top)
        for path, fields in snapshot.extras.items():
            _object_at(top, path).update(fields)
    return msgspec.json.encode(top)


def _object_at(top: Any, path: str) -> dict[str, Any]:
    found = top
    for name, index in STEP.findall(path):
        # an object with nothing but defaults and unknown fields was left out when encoding
        found = found.setdefault(name, {}) if name else found[int(index)]
    return found  # type: ignore[no-any-return]


def document_of(snapshot: Snapshot, cluster: str | None = None) -> Document:
    """The records of a snapshot, of one cluster or of all; ``build`` gives an equal snapshot from them."""
    c = None if cluster is None else next(i for i, r in enumerate(snapshot.clusters) if r.name == cluster)
    return Document(
        taken_at=snapshot.taken_at,
        now_s=snapshot.now_s,
        clusters=[r for r in snapshot.clusters if cluster in (None, r.name)],
        domains=[_domain(snapshot, d) for d in rows_of(snapshot.domain_cluster, c)],
        nodes=_nodes(snapshot, rows_of(snapshot.node_cluster, c)),
        pods=_pods(snapshot, rows_of(snapshot.pod_cluster, c)),
        gangs=[r for r in snapshot.gangs if cluster in (None, r.cluster)],
        pdbs=[r for r in snapshot.pdbs if cluster in (None, r.cluster)],
        tenants=list(snapshot.tenant_records),
    )


def extras_of(snapshot: Snapshot, cluster: str) -> dict[str, dict[str, object]]:
    """Unknown fields of one cluster's objects, by their paths in ``document_of(snapshot, cluster)``."""
    c = next(i for i, r in enumerate(snapshot.clusters) if r.name == cluster)
    kept = {
        "clusters": [c],
        "domains": rows_of(snapshot.domain_cluster, c),
        "nodes": rows_of(snapshot.node_cluster, c),
        "pods": rows_of(snapshot.pod_cluster, c),
        "gangs": [i for i, r in enumerate(snapshot.gangs) if r.cluster == cluster],
        "pdbs": [i for i, r in enumerate(snapshot.pdbs) if r.cluster == cluster],
        "tenants": list(range(len(snapshot.tenant_records))),
    }
    place = {kind: {row: i for i, row in enumerate(rows)} for kind, rows in kept.items()}
    found: dict[str, dict[str, object]] = {}
    for path, fields in snapshot.extras.items():
        match = re.fullmatch(r"\$\.(\w+)\[(\d+)\](.*)", path, re.DOTALL)
        if match is None:
            found[path] = fields
        elif int(match[2]) in place[match[1]]:
            found[f"$.{match[1]}[{place[match[1]][int(match[2])]}]{match[3]}"] = fields
    return found


def rows_of(column: Ints, cluster: int | None) -> list[int]:
    """Rows of one cluster, or all of them."""
    chosen = np.arange(len(column)) if cluster is None else np.flatnonzero(column == cluster)
    return chosen.tolist()


def _domain(s: Snapshot, d: int) -> DomainRecord:
    parent = int(s.domain_parent[d])
    return DomainRecord(
        name=s.domain_name[d],
        level=s.levels[s.domain_level[d]],
        parent=None if parent == UNKNOWN else s.domain_name[parent],
        cluster=s.clusters[s.domain_cluster[d]].name,
    )


def _optional(column: Longs, rows: list[int]) -> list[int | None]:
    return [None if value == ABSENT else value for value in column[rows].tolist()]


def _named(table: Iterable[str], column: Ints, rows: list[int]) -> list[str | None]:
    names = list(table)
    return [names[i] if i >= 0 else None for i in column[rows].tolist()]


def _records[T](kind: Callable[..., T], columns: dict[str, list[Any]]) -> list[T]:
    names = list(columns)
    return [kind(**dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def _nodes(s: Snapshot, rows: list[int]) -> list[NodeRecord]:
    place = _named(s.domain_name, s.node_domain, rows)
    by_asw = s.node_declared_asw[rows].tolist()
    zones = _named(s.zones, s.node_zone, rows)
    specs = [s.node_specs[i] for i in s.node_spec[rows].tolist()]
    columns: dict[str, list[Any]] = {
        "name": [s.node_name[n] for n in rows],
        "cluster": [s.clusters[c].name for c in s.node_cluster[rows].tolist()],
        "domain": [None if short else name for name, short in zip(place, by_asw, strict=True)],
        "asw": [name if short else None for name, short in zip(place, by_asw, strict=True)],
        "gpu_model": [name or "" for name in _named(s.models, s.node_model, rows)],
        "gpus": s.node_gpus[rows].tolist(),
        "allocatable_gpus": _optional(s.node_declared_allocatable, rows),
        "gpu_memory_mib": _optional(s.node_gpu_memory_mib, rows),
        "cpu_milli": s.node_cpu_milli[rows].tolist(),
        "memory_mib": s.node_memory_mib[rows].tolist(),
        "max_pods": [None if limit == NO_LIMIT else limit for limit in s.node_max_pods[rows].tolist()],
        "zone": [zone if given else None for zone, given in zip(zones, s.node_declared_zone[rows], strict=True)],
        "labels": [dict(spec.labels) for spec in specs],
        "taints": [list(spec.taints) for spec in specs],
        "cordoned": s.node_cordoned[rows].tolist(),
        "ready": s.node_ready[rows].tolist(),
        "devices": [list(s.node_devices.get(n, ())) for n in rows],
        "power_watts": _optional(s.node_power_watts, rows),
        "resources": [dict(spec.resources) for spec in specs],
    }
    return _records(NodeRecord, columns)


def _pods(s: Snapshot, rows: list[int]) -> list[PodRecord]:
    lenders = s.pod_lender[rows].tolist()
    columns: dict[str, list[Any]] = {
        "name": [s.pod_name[p] for p in rows],
        "namespace": [s.namespaces[i] for i in s.pod_namespace[rows].tolist()],
        "cluster": [s.clusters[c].name for c in s.pod_cluster[rows].tolist()],
        "uid": [s.pod_uid[p] or None for p in rows],
        "tenant": _named(s.tenants, s.pod_tenant, rows),
        "node": _bound(s, rows),
        "gang": _named([gang.name for gang in s.gangs], s.pod_gang, rows),
        "lent_by": [None if lender == UNKNOWN else s.pod_key(lender) for lender in lenders],
        "gpu_memory_mib": [memory or None for memory in s.pod_gpu_memory_mib[rows].tolist()],
        "tier": ["LP" if low else "HP" for low in s.pod_lp[rows].tolist()],
        "phase": [s.pod_phase[p] or None for p in rows],
        "move": [MOVE_MODES[i] for i in s.pod_move[rows].tolist()],
        "work_class": _named(WORK_CLASSES, s.pod_work_class.astype(np.int32), rows),
        "devices": [list(s.pod_devices.get(p, ())) for p in rows],
    }
    for name in ("gpus", "gpu_milli", "cpu_milli", "memory_mib", "priority", "standby", "locked", "terminating"):
        columns[name] = getattr(s, f"pod_{name}")[rows].tolist()
    for name in OPTIONAL_TIMES:
        columns[name] = _optional(getattr(s, f"pod_{name}"), rows)
    return _records(PodRecord, columns | _spec_columns(s, rows))


def _bound(s: Snapshot, rows: list[int]) -> list[str | None]:
    return [
        s.pod_orphan_node[p] if n == ORPHAN else None if n == UNKNOWN else s.node_name[n]
        for p, n in zip(rows, s.pod_node[rows].tolist(), strict=True)
    ]


def _spec_columns(s: Snapshot, rows: list[int]) -> dict[str, list[Any]]:
    specs = [s.pod_specs[i] for i in s.pod_spec[rows].tolist()]
    columns: dict[str, list[Any]] = {
        "mig": [dict(spec.mig) for spec in specs],
        "gpu_model": [_models(spec.gpu_models) for spec in specs],
        "labels": [dict(spec.labels) for spec in specs],
        "node_selector": [dict(spec.node_selector) for spec in specs],
        "resources": [dict(spec.resources) for spec in specs],
    }
    for name in ("tolerations", "affinity", "anti_affinity", "host_ports"):
        columns[name] = [list(getattr(spec, name)) for spec in specs]
    for name in ("owner", "workload", "only_node", "topology", "volume_zone", "locked_by", "lock_reason"):
        columns[name] = [getattr(spec, name) for spec in specs]
    for name in ("replicas", "parallelism"):
        columns[name] = [getattr(spec, name) for spec in specs]
    return columns


def _models(models: tuple[str, ...]) -> str | list[str] | None:
    return models[0] if len(models) == 1 else list(models) or None
