"""Asking the owner of a lock to let its workload be moved for a while, the answer, and what follows from a yes.

A yes changes nothing in the cluster.  Within its window the pods of that workload count as unlocked for plans of ours:
while they are computed, whenever they are checked, and as they run.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import IntegrityError, transaction
from django.utils import timezone

from console.audit import services as audit
from console.inventory.choices import LockShare, ReleaseState
from console.inventory.models import LockRelease, OwnerLock, Source
from console.inventory.selectors.pods import workload_name
from console.inventory.selectors.releases import release_for
from console.rest.errors import Conflict, FieldError
from console.tenancy.services import require
from scheduler.cluster.records import OwnerRecord, PodRecord
from scheduler.cluster.snapshot import Bools, PodSpec, Snapshot

LONGEST = timedelta(days=14)
FURTHEST = timedelta(days=60)


def ask_release(user: Any, lock: OwnerLock, begins_at: datetime, ends_at: datetime, why: str) -> LockRelease:
    """Ask the tenant of ``lock``.  Raises ``Denied``, ``FieldError`` or ``Conflict`` where a question is open."""
    require(user, "inventory.ask_release")
    _refuse_unasked(lock, begins_at, ends_at, why)
    names = {name: getattr(lock, name) for name in ("source", "cluster", "tenant", "namespace", "workload")}
    try:
        with transaction.atomic():
            row = LockRelease.objects.create(
                **names, begins_at=begins_at, ends_at=ends_at, why=why.strip(), asked_by=user
            )
            _write_down(row, user, "release.asked", row.why)
    except IntegrityError as twice:
        raise Conflict("This was asked already and waits for an answer. Withdraw that question first.") from twice
    return row


def answer_release(user: Any, release_id: int, yes: bool, reason: str) -> LockRelease:
    """The tenant's answer, by any of its members.  Raises ``NotThereError`` for others, ``Conflict`` if it is over."""
    require(user, "inventory.answer_release")
    state = ReleaseState.GRANTED if yes else ReleaseState.REFUSED
    return _change(user, release_id, state, reason, ReleaseState.ASKED)


def withdraw_release(user: Any, release_id: int, reason: str) -> LockRelease:
    """The question is taken back by those who may ask, as long as nobody has answered."""
    require(user, "inventory.ask_release")
    return _change(user, release_id, ReleaseState.WITHDRAWN, reason, ReleaseState.ASKED)


def take_back_release(user: Any, release_id: int, reason: str) -> LockRelease:
    """The tenant takes its yes back; from this moment on it counts no more."""
    require(user, "inventory.answer_release")
    return _change(user, release_id, ReleaseState.TAKEN_BACK, reason, ReleaseState.GRANTED)


def expire_releases() -> int:
    """Questions that nobody answered before their window was over."""
    over = LockRelease.objects.filter(state=ReleaseState.ASKED, ends_at__lte=timezone.now())
    expired = 0
    for row in over:
        with transaction.atomic():
            mine = LockRelease.objects.filter(pk=row.pk, state=ReleaseState.ASKED)
            if mine.update(state=ReleaseState.EXPIRED):
                _write_down(row, None, "release.expired", "nobody answered before its window was over")
                expired += 1
    return expired


# --- what follows from a yes ----------------------------------------------------------------------------------------
def released(source: Source, snapshot: Snapshot, now: datetime | None = None) -> Snapshot:
    """The snapshot as plans may read it at this moment: pods whose owner let them be moved count as unlocked."""
    rows = _granted(source, now)
    if not rows or not snapshot.pod_locked.any():
        return snapshot
    free = np.zeros(len(snapshot.pod_name), np.bool_)
    for row in rows:
        free |= _pods_of(row, snapshot)
    return unlocked(snapshot, free)


def unlocked(snapshot: Snapshot, pods: Bools) -> Snapshot:
    """The same with these pods [p] unlocked."""
    if not (snapshot.pod_locked & pods).any():
        return snapshot
    locked = snapshot.pod_locked & ~pods
    locked.flags.writeable = False
    return replace(snapshot, pod_locked=locked)


def any_released(source: Source) -> bool:
    """Whether any window of this source is open now."""
    return bool(_granted(source, None))


def is_released(source: Source, pod: PodRecord, now: datetime | None = None) -> bool:
    """Whether its owner lets this very pod be moved now."""
    owner = pod.owner if isinstance(pod.owner, OwnerRecord) else None
    made = workload_name(PodSpec(workload=pod.workload, owner=owner)) or ""
    names = (pod.cluster, pod.tenant or "", pod.namespace, made)
    return any(_names(row) == names for row in _granted(source, now))


def _granted(source: Source, now: datetime | None) -> list[LockRelease]:
    at = now or timezone.now()
    return list(
        LockRelease.objects.filter(source=source, state=ReleaseState.GRANTED, begins_at__lte=at, ends_at__gt=at)
    )


def _names(row: LockRelease) -> tuple[str, str, str, str]:
    return row.cluster, row.tenant, row.namespace, row.workload


def _pods_of(row: LockRelease, snapshot: Snapshot) -> Bools:
    """[p] pods of the workload of that very tenant."""
    clusters = [cluster.name == row.cluster for cluster in snapshot.clusters]
    made = np.array([(workload_name(spec) or "") == row.workload for spec in snapshot.pod_specs], np.bool_)
    spaces = np.array([name == row.namespace for name in snapshot.namespaces], np.bool_)
    tenants = np.array([*(name == row.tenant for name in snapshot.tenants), False], np.bool_)  # -1: none
    within = np.array(clusters, np.bool_)[snapshot.pod_cluster]
    of_workload = made[snapshot.pod_spec] & spaces[snapshot.pod_namespace]
    return np.asarray(within & of_workload & tenants[snapshot.pod_tenant])


# --- rules ----------------------------------------------------------------------------------------------------------
def _refuse_unasked(lock: OwnerLock, begins_at: datetime, ends_at: datetime, why: str) -> None:
    now = timezone.now()
    if lock.ended_at is not None:
        raise Conflict("This workload is not locked any more.")
    if lock.share != LockShare.WORKLOAD:
        raise Conflict("This row stands for several workloads. Ask for each of them on its own.")
    if not lock.tenant:
        raise Conflict("These pods are of no tenant: there is nobody who could answer.")
    if ends_at <= max(begins_at, now):
        raise FieldError("ends_at", "must lie after the beginning, and ahead")
    if ends_at - begins_at > LONGEST:
        raise FieldError("ends_at", f"a release lasts at most {LONGEST.days} days")
    if begins_at > now + FURTHEST:
        raise FieldError("begins_at", f"ask at most {FURTHEST.days} days ahead")
    if not why.strip():
        raise FieldError("why", "say why: the owner decides by it")


def _change(user: Any, release_id: int, state: ReleaseState, reason: str, was: ReleaseState) -> LockRelease:
    """One answer, by compare-and-set: the second one is told what the first one said."""
    row = release_for(user, release_id)
    if not reason.strip():
        raise FieldError("reason", "say why: it is kept with the answer")
    now = timezone.now()
    said = {"state": state, "answer": reason.strip(), "answered_by": user, "answered_at": now}
    with transaction.atomic():
        if not LockRelease.objects.filter(pk=row.pk, state=was, ends_at__gt=now).update(**said):
            row.refresh_from_db()
            raise Conflict(f"This release is {ReleaseState(row.state).label.lower()}: nothing to answer any more.")
        row.refresh_from_db()
        _write_down(row, user, f"release.{state.value}", row.answer)
    return row


def _write_down(row: LockRelease, actor: Any, action: str, reason: str) -> None:
    window = {"begins_at": row.begins_at.isoformat(), "ends_at": row.ends_at.isoformat()}
    whose = {"source": row.source.name, "cluster": row.cluster, "tenant": row.tenant, "workload": row.key}
    audit.record(
        actor=actor, action=action, target_kind="release", target_id=row.pk, reason=reason, detail={**whose, **window}
    )
