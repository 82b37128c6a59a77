"""The book of tenants in the words of the core's queue; only workers import it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import msgspec
import numpy as np

from console.tenancy.selectors import min_runtimes, priority_classes, spent_budgets, teams_now, tenant_records
from scheduler.admission.classes import PriorityClass
from scheduler.admission.quota import Book, book_of
from scheduler.admission.spending import Budget
from scheduler.cluster.records import TenantRecord
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import UNKNOWN, Snapshot

MILLI = 1000


def by_team(snapshot: Snapshot) -> Snapshot:
    """The same pods; those in a namespace of a team are the team's, and no more their department's own."""
    teams = teams_now()
    pods = np.flatnonzero(snapshot.pod_tenant != UNKNOWN)
    if not teams or not pods.size:
        return snapshot
    columns = (snapshot.pod_cluster, snapshot.pod_tenant, snapshot.pod_namespace)
    places, of = np.unique(np.stack([column[pods] for column in columns], axis=1), axis=0, return_inverse=True)
    found = [
        teams.of(snapshot.clusters[cluster].name, snapshot.tenants[tenant], snapshot.namespaces[namespace])
        for cluster, tenant, namespace in places.tolist()
    ]
    tenants = tuple(sorted({*snapshot.tenants, *found}))
    at = {name: index for index, name in enumerate(tenants)}
    owners = snapshot.pod_tenant.copy()
    owners[pods] = np.array([at[name] for name in found], owners.dtype)[of.ravel()]
    return replace(snapshot, tenants=tenants, pod_tenant=frozen(owners))


def book_for(snapshot: Snapshot, begun_at: datetime) -> Book:
    """What is used here, under the quotas that the source brings and else under those of the book, and what it decides.

    ``begun_at``: when the reading was begun, which is the snapshot's ``now_s``.
    """
    book = book_of(snapshot, records_for(snapshot))
    classes = [PriorityClass(name, value, frozenset(tenants)) for name, value, tenants in priority_classes()]
    return book.ruled(budgets=_budgets(snapshot, begun_at), min_runtime_s=min_runtimes(), classes=classes)


def records_for(snapshot: Snapshot) -> list[TenantRecord]:
    theirs = [msgspec.to_builtins(record) for record in snapshot.tenant_records]
    return msgspec.convert(list(tenant_records(theirs)), list[TenantRecord])


def _budgets(snapshot: Snapshot, begun_at: datetime) -> Iterator[Budget]:
    """Those that are spent; instants on the snapshot's clock."""
    clusters = [cluster.name for cluster in snapshot.clusters]
    for one in spent_budgets(clusters, snapshot.models):
        burn, free = one.burn, one.burn.free_at
        yield Budget(
            tenant=burn.tenant,
            unit=burn.unit,
            period=burn.period.words,
            limit_milli=burn.limit * MILLI,
            spent_milli=round(burn.used * MILLI),
            over_s=None if free is None else snapshot.now_s + int((free - begun_at).total_seconds()),
            until="" if free is None else f"{free:%Y-%m-%d %H:%M} UTC",
            raised_by=one.raised_by,
            prices={place: cents * MILLI // 100 for place, cents in one.cents.items()},
        )
