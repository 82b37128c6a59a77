"""Observed records to a snapshot: names become positions, rows get their canonical order, values are checked once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from operator import attrgetter

import msgspec
import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.lineage import circles, told
from scheduler.cluster.nodes import node_fields, zone_of
from scheduler.cluster.notes import LENT_BY, rekeyed, warnings_of
from scheduler.cluster.packing import digest_of
from scheduler.cluster.pods import Pods, check_device_range
from scheduler.cluster.quiet import no_collection
from scheduler.cluster.recall import Table
from scheduler.cluster.records import (
    DEFAULT_CLUSTER,
    ClusterRecord,
    Document,
    GangRecord,
    NodeRecord,
    PdbRecord,
    TenantRecord,
)
from scheduler.cluster.rows import MAX_COUNT, MAX_TIME, Rows, arranged, as_given, in_order
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.cluster.topology import Domains, build_domains
from scheduler.cluster.writing import document_of, extras_of

Extras = Mapping[str, dict[str, object]]
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


class Builder:
    """Snapshots of one document after the other: pods that are the same objects as in the last one are not read again.

    What it builds depends on the document alone.  Not for two threads at once.
    """

    def __init__(self) -> None:
        self._pods = Pods()

    def build(self, document: Document, extras: Extras | None = None) -> Snapshot:
        """Check the whole document and freeze it; raises ``InputError`` and builds nothing if any of it is wrong.

        ``extras`` = fields unknown to the format, by the JSON path of the object of ``document`` that carried them.
        """
        with no_collection():
            return _build(document, extras or {}, self._pods)


def build(document: Document, extras: Extras | None = None) -> Snapshot:
    """The same for a document that no other one follows."""
    return Builder().build(document, extras)


def _build(document: Document, extras: Extras, pods: Pods) -> Snapshot:
    _check_instant(document.taken_at)
    tables = _Tables(
        nodes=in_order(as_given("nodes", NodeRecord, document.nodes), "cluster"),
        pods=pods.table(document.pods),
        gangs=_gangs(document),
        pdbs=_budgets(document),
        tenants=_tenants(document),
    )
    clusters = _clusters(document, tables)
    names = [cluster.name for cluster in clusters]
    domains = build_domains(document.domains, document.nodes, names)
    namespaces = sorted(set(tables.pods.values("namespace")))
    snapshot = Snapshot(
        taken_at=document.taken_at,
        now_s=_now(document),
        digest="",
        warnings=(),
        extras=_extras(extras, document, clusters, domains, tables),
        clusters=clusters,
        levels=domains.levels,
        namespaces=tuple(namespaces),
        tenant_records=tuple(_in_order_of_models(tenant) for tenant in tables.tenants.records),
        gangs=tuple(tables.gangs.records),
        pdbs=tuple(tables.pdbs.records),
        **_row_fields(tables, pods, domains, names, namespaces),  # type: ignore[arg-type]
    )
    snapshot = _with_lost_lenders(snapshot, tables.pods)
    return replace(snapshot, warnings=warnings_of(snapshot), digest=digest_of(snapshot))


@dataclass(frozen=True, slots=True)
class _Tables:
    nodes: Rows[NodeRecord]
    pods: Table
    gangs: Rows[GangRecord]
    pdbs: Rows[PdbRecord]
    tenants: Rows[TenantRecord]


def _row_fields(
    tables: _Tables, pods: Pods, domains: Domains, clusters: list[str], namespaces: list[str]
) -> dict[str, object]:
    nodes = tables.nodes
    zones = sorted({zone for node in nodes.records if (zone := zone_of(node)) is not None})
    tenants = sorted({*tables.pods.values("tenant"), *tables.tenants.values("name")} - {None})
    node_part = node_fields(nodes, domains, clusters, zones)
    pod_part = pods.fields(
        tables.pods,
        clusters=clusters,
        namespaces=namespaces,
        tenants=tenants,
        nodes={key: n for n, key in enumerate(zip(nodes.values("cluster"), nodes.values("name"), strict=True))},
        gangs={(gang.cluster, gang.namespace, gang.name): g for g, gang in enumerate(tables.gangs.records)},
    )
    check_device_range(tables.pods, pod_part["pod_node"], node_part["node_gpus"])  # type: ignore[arg-type]
    return {"zones": tuple(zones), "tenants": tuple(tenants), **_domain_fields(domains), **node_part, **pod_part}


def _extras(
    extras: Extras, document: Document, clusters: Sequence[ClusterRecord], domains: Domains, tables: _Tables
) -> dict[str, dict[str, object]]:
    """Extras by canonical row, so that the order of the input's rows leaves no trace."""
    if not extras:
        return {}
    names = {cluster.name: c for c, cluster in enumerate(clusters)}
    keys = {key: d for d, key in enumerate(domains.keys)}
    place: dict[str, dict[int, int]] = {
        "clusters": {i: names[record.name] for i, record in enumerate(document.clusters)},
        "domains": {i: keys[record.cluster, record.level, record.name] for i, record in enumerate(document.domains)},
    }
    for field in fields(tables):
        rows = getattr(tables, field.name)
        place[rows.kind] = {source: row for row, source in enumerate(rows.source.tolist())}
    return rekeyed(
        extras,
        place,
        {
            "devices": lambda row: [device.index for device in document.nodes[row].devices],
            "quotas": lambda row: [quota.gpu_model for quota in document.tenants[row].quotas],
        },
    )


def _with_lost_lenders(snapshot: Snapshot, pods: Table) -> Snapshot:
    lost = {
        f"$.pods[{p}]": {LENT_BY: lender} for p, lender in pods.given("lent_by") if snapshot.pod_lender[p] == UNKNOWN
    }
    if not lost:
        return snapshot
    merged = dict(snapshot.extras)
    for path, field in lost.items():
        merged[path] = dict(sorted((merged.get(path, {}) | field).items()))
    return replace(snapshot, extras=dict(sorted(merged.items())))


def only_cluster(snapshot: Snapshot, name: str | None) -> str:
    """The cluster that is meant; raises ``InputError`` naming the choices if that is not plain."""
    names = [cluster.name for cluster in snapshot.clusters]
    choices = ", ".join(names) or "none"
    if name is not None:
        if name not in names:
            raise InputError("cluster", name, f"no such cluster; there are: {choices}")
        return name
    if len(names) != 1:
        raise InputError("cluster", None, f"name one of the clusters: {choices}")
    return names[0]


def restrict(snapshot: Snapshot, cluster: str) -> Snapshot:
    """The snapshot of one cluster alone; raises ``InputError`` naming the choices if there is none of that name."""
    only_cluster(snapshot, cluster)
    if len(snapshot.clusters) == 1:
        return snapshot
    return build(document_of(snapshot, cluster), extras_of(snapshot, cluster))


def _check_instant(taken_at: str) -> None:
    try:
        good = RFC_3339.fullmatch(taken_at) is not None and datetime.fromisoformat(taken_at) is not None
    except ValueError:
        good = False
    if not good:
        raise InputError("$.taken_at", taken_at, "expected an instant as in RFC 3339, such as 2026-01-31T12:00:00Z")


def _clusters(document: Document, tables: _Tables) -> tuple[ClusterRecord, ...]:
    listed: dict[str, ClusterRecord] = {}
    for i, record in enumerate(document.clusters):
        if record.name in listed:
            raise InputError(f"$.clusters[{i}].name", record.name, "the same cluster is listed twice")
        listed[record.name] = record
    of_domains = {domain.cluster for domain in document.domains}
    rows = (tables.nodes, tables.pods, tables.gangs, tables.pdbs)
    for name in sorted(of_domains.union(*(table.values("cluster") for table in rows))):
        listed.setdefault(name, ClusterRecord(name=name))
    if not listed:  # a world without anything is an empty cluster, of which figures can still be asked
        listed[DEFAULT_CLUSTER] = ClusterRecord(name=DEFAULT_CLUSTER)
    return tuple(listed[name] for name in sorted(listed))


def _gangs(document: Document) -> Rows[GangRecord]:
    rows = in_order(as_given("gangs", GangRecord, document.gangs), "cluster", "namespace")
    rows.integers("min_members", high=MAX_COUNT)
    return rows


def _budgets(document: Document) -> Rows[PdbRecord]:
    def key(i: int) -> tuple[object, ...]:
        b = document.pdbs[i]
        limits = (b.max_unavailable is None, b.max_unavailable or 0, b.min_available or 0)
        return (b.cluster, b.namespace, b.selector, *limits)

    order = np.array(sorted(range(len(document.pdbs)), key=key), np.int64)
    rows = arranged(as_given("pdbs", PdbRecord, document.pdbs), order)
    for name in ("max_unavailable", "min_available"):
        rows.optional(name, high=MAX_COUNT)
    for b, pdb in enumerate(rows.records):
        if "=" not in pdb.selector[1:]:
            raise rows.refuse(b, "selector", pdb.selector, "expected key=value")
        if (pdb.max_unavailable is None) == (pdb.min_available is None):
            raise rows.refuse(b, "max_unavailable", pdb.max_unavailable, "give max_unavailable or min_available")
    return rows


def _tenants(document: Document) -> Rows[TenantRecord]:
    rows = in_order(as_given("tenants", TenantRecord, document.tenants))
    for name, high in (("cap_gpus", MAX_COUNT), ("guarantee_gpus", MAX_COUNT), ("weight", MAX_TIME)):
        rows.optional(name, high=high)
    for t, tenant in enumerate(rows.records):
        _check_quotas(rows, t, tenant)
    _check_parents(rows)
    return rows


def _check_parents(rows: Rows[TenantRecord]) -> None:
    found = circles({tenant.name: tenant.parent for tenant in rows.records})
    if found:
        _, t = min((int(rows.source[t]), t) for t, one in enumerate(rows.records) if one.name in found[0])
        raise rows.refuse(t, "parent", rows.records[t].parent, f"a tenant above itself: {told(found[0])}")


def _in_order_of_models(tenant: TenantRecord) -> TenantRecord:
    ordered = sorted(tenant.quotas, key=attrgetter("gpu_model"))
    return tenant if ordered == tenant.quotas else msgspec.structs.replace(tenant, quotas=ordered)


def _check_quotas(rows: Rows[TenantRecord], t: int, tenant: TenantRecord) -> None:
    seen: dict[str, int] = {}
    for i, quota in enumerate(tenant.quotas):
        if (first := seen.setdefault(quota.gpu_model, i)) < i:
            same = f"the same identity as $.tenants[{rows.source[t]}].quotas[{first}]"
            raise rows.refuse(t, f"quotas[{i}].gpu_model", quota.gpu_model, same)
        for name in ("nominal", "borrowing_limit", "lending_limit"):
            value = getattr(quota, name)
            if value is not None and not 0 <= value <= MAX_COUNT:
                raise rows.refuse(t, f"quotas[{i}].{name}", value, f"must be from 0 to {MAX_COUNT}")


def _domain_fields(domains: Domains) -> dict[str, object]:
    for column in (domains.level, domains.parent, domains.cluster):
        column.flags.writeable = False
    return {
        "domain_name": tuple(key[2] for key in domains.keys),
        "domain_level": domains.level,
        "domain_parent": domains.parent,
        "domain_cluster": domains.cluster,
    }


def _now(document: Document) -> int:
    """The given instant, else the largest started, checkpoint or deleted time, else 0."""
    if document.now_s is not None:
        if not -MAX_TIME <= document.now_s <= MAX_TIME:
            raise InputError("$.now_s", document.now_s, f"must be from {-MAX_TIME} to {MAX_TIME}")
        return document.now_s
    times = (t for pod in document.pods for t in (pod.started_s, pod.checkpoint_s, pod.deleted_at_s) if t is not None)
    return max(times, default=0)
