"""Questions to owners whether a locked workload may be moved for a while, and their answers.

A tenant sees those about its own workloads; who may not see the fleet sees no others.
"""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from console.inventory.choices import ReleaseState
from console.inventory.models import LockRelease, OwnerLock
from console.inventory.selectors.viewing import NotThereError
from console.tenancy.selectors import tenant_scope


def releases(viewer: Any) -> QuerySet[LockRelease]:
    """The newest first."""
    rows = LockRelease.objects.select_related("source", "asked_by", "answered_by")
    scope = tenant_scope(viewer)
    return rows if scope is None else rows.filter(tenant__in=scope)


def release_for(viewer: Any, release_id: int) -> LockRelease:
    """Raises ``NotThereError``."""
    row = releases(viewer).filter(pk=release_id).first()
    if row is None:
        raise NotThereError("no such release")
    return row


def releases_to_answer(viewer: Any) -> QuerySet[LockRelease]:
    """Those that this person may answer, the first to be over first; none for people who answer for no tenant."""
    if not viewer.has_perm("inventory.answer_release"):
        return LockRelease.objects.none()
    return releases(viewer).filter(state=ReleaseState.ASKED, ends_at__gt=timezone.now()).order_by("ends_at", "pk")


def releases_of(viewer: Any, lock: OwnerLock) -> QuerySet[LockRelease]:
    """All that was ever asked about this workload."""
    names = {name: getattr(lock, name) for name in ("source", "cluster", "tenant", "namespace", "workload")}
    return releases(viewer).filter(**names)


def releases_ahead(viewer: Any) -> list[LockRelease]:
    """Windows that were granted and are not over, by their beginning."""
    rows = releases(viewer).filter(state=ReleaseState.GRANTED, ends_at__gt=timezone.now())
    return list(rows.order_by("begins_at", "pk"))


type Names = tuple[int, str, str, str, str]


def newest_releases(viewer: Any, locks: Iterable[OwnerLock]) -> dict[Names, LockRelease]:
    """Of these locks (a page of them) the newest question each; by source, cluster, tenant, namespace, workload."""
    wanted = {names_of(lock) for lock in locks}
    spaces = {names[3] for names in wanted}
    rows = releases(viewer).filter(namespace__in=spaces).order_by("pk")
    return {names: row for row in rows if (names := names_of(row)) in wanted}


def names_of(row: OwnerLock | LockRelease) -> Names:
    return row.source_id, row.cluster, row.tenant, row.namespace, row.workload
