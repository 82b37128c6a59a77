"""The page of one job: what it asks for, why it waits, its members, and what was seen of it."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from console.inventory.archive import UNKNOWN, Snapshot
from console.inventory.cells import asw_of_nodes
from console.inventory.models import Observation
from console.inventory.selectors.pods import rows_of_pods
from console.inventory.selectors.viewing import Filters, NotThereError, Reading, mask_of_scope, readings
from console.queue.choices import InquiryState, JobState, Outcome, Reason, RemedyKind, Sighted
from console.queue.models import Inquiry, Job, Sighting, Turn
from console.queue.selectors.job_parts import (
    InquiryRow,
    JobBlock,
    JobCard,
    JobMember,
    JobPart,
    JobQuota,
    JobReason,
    JobSighting,
    RemedyRow,
)
from console.queue.selectors.starts import ahead_of, start_of
from console.queue.wording import number_words, numbers_for, remedy_cost, remedy_words, sentence_for
from console.tenancy.selectors import tenant_scope

SHOWN_MEMBERS = 200
SHOWN_SIGHTINGS = 100


def job_row(viewer: Any, cluster: str, key: str, *, source: str = "") -> Job:
    """The waiting one first, then the gang.  Raises ``NotThereError``: of another tenant's job just as of none."""
    scope = tenant_scope(viewer)
    rows = Job.objects.filter(cluster=cluster, key=key).select_related("source", "source__queue_turn")
    if source:
        rows = rows.filter(source__name=source)
    if scope is not None:
        rows = rows.filter(tenant__in=scope - {""})
    order = [JobState.PENDING, JobState.RUNNING, JobState.GONE]
    found = sorted(rows, key=lambda row: (order.index(JobState(row.state)), not row.gang, row.source.name))
    if not found:
        raise NotThereError("no such job")
    return found[0]


def job_of(viewer: Any, job_id: int) -> Job:
    """By number.  Raises ``NotThereError``: of another tenant's job just as of none."""
    scope = tenant_scope(viewer)
    row = Job.objects.filter(pk=job_id).select_related("source", "source__queue_turn").first()
    if row is None or (scope is not None and (not row.tenant or row.tenant not in scope)):
        raise NotThereError("no such job")
    return row


def job_inquiry(viewer: Any, job: Job) -> InquiryRow | None:
    """The newest question about a job that the viewer sees."""
    return inquiry_of(job, tenant_scope(viewer))


def job_card(viewer: Any, cluster: str, key: str, *, source: str = "") -> JobCard:
    """Raises ``NotThereError``: where neither was it ever seen waiting nor does a member of it show in a reading."""
    scope = tenant_scope(viewer)
    try:
        row: Job | None = job_row(viewer, cluster, key, source=source)
    except NotThereError:
        row = None
    wanted = source or (row.source.name if row is not None else "")
    for reading in readings(Filters(source=wanted, cluster=cluster)):
        pods = _members(reading.snapshot, cluster, key, gang=row is None or row.gang)
        if row is None and not len(pods):
            pods = _members(reading.snapshot, cluster, key, gang=False)
        pods = pods[mask_of_scope(scope, reading.snapshot)[pods]]
        if len(pods) or row is not None:
            return _card(row, reading, pods, scope, key)
    if row is None:
        raise NotThereError("no such job")
    return _card(row, None, np.zeros(0, np.intp), scope, key)


def _members(snapshot: Snapshot, cluster: str, key: str, *, gang: bool) -> Any:
    """Rows of the gang's pods, or of the one pod; those that wait first."""
    names = [one.name for one in snapshot.clusters]
    if cluster not in names:
        return np.zeros(0, np.intp)
    inside = snapshot.pod_cluster == names.index(cluster)
    if gang:
        known = [g for g, one in enumerate(snapshot.gangs)
                 if one.cluster == cluster and f"{one.namespace}/{one.name}" == key]  # fmt: skip
        found = np.flatnonzero(inside & np.isin(snapshot.pod_gang, known))
    else:
        name = key.partition("/")[2]
        found = np.array([p for p in np.flatnonzero(inside & (snapshot.pod_gang == UNKNOWN)).tolist()
                          if snapshot.pod_name[p] == name and snapshot.pod_key(p) == key], np.intp)  # fmt: skip
    return found[np.argsort(snapshot.pod_node[found] != UNKNOWN, kind="stable")]


def _card(row: Job | None, reading: Reading | None, pods: Any, scope: frozenset[str] | None, key: str) -> JobCard:
    members = _member_rows(reading, pods[:SHOWN_MEMBERS]) if reading is not None else ()
    seen = _seen(row, scope) if row is not None else _unseen(reading, members, pods, key)
    return JobCard(
        **seen,
        members=members,
        members_total=len(pods),
        observed_at=reading.observation.observed_at if reading is not None else None,
        period_s=reading.period_s if reading is not None else None,
    )


def _seen(row: Job, scope: frozenset[str] | None) -> dict[str, Any]:
    """What the rows say of a job that was seen waiting."""
    told, waits = row.told, row.state == JobState.PENDING
    sightings = Sighting.objects.filter(job=row)
    turn: Turn | None = getattr(row.source, "queue_turn", None)
    begun_at = turn.begun_at if turn is not None else None
    return {
        "id": row.pk,
        "source": row.source.name,
        "cluster": row.cluster,
        "key": row.key,
        "gang": row.gang,
        "tenant": row.tenant,
        "state": row.state,
        "pods": row.pods,
        "running": row.running,
        "gpu_milli": row.gpu_milli,
        "models": tuple(name for name in row.models_text.split("|") if name),
        "priority": row.priority,
        "priority_class": told.get("class", "") if waits else "",
        "tier": "LP" if row.lp else "HP",
        "position": row.position if waits else None,
        "min_members": told["min_members"],
        "levels": tuple(told["levels"]),
        "preferred": tuple(told["preferred"]),
        "parts": tuple(JobPart(**{**part, "mig": tuple(part["mig"])}) for part in told["parts"]),
        "first_at": row.first_at,
        "since": row.since if waits else None,
        "since_known": row.since_known,
        "left_at": row.left_at,
        "primary": reason_row(told["reason"], scope) if waits else None,
        "others": tuple(reason_row(other, scope) for other in told["others"]) if waits else (),
        "blocks": tuple(JobBlock(*block) for block in told["blocks"]) if waits else (),
        "seats": tuple(told["seats"]) if waits and scope is None else (),
        "seat_nodes": told["seat_nodes"] if waits else 0,
        "starts_by": _starts_by(told, begun_at) if waits else None,
        "quota": _quota(told["quota"], scope) if waits else (),
        "sightings": tuple(_sighting(one) for one in sightings[:SHOWN_SIGHTINGS]),
        "sightings_total": sightings.count(),
        "inquiry": inquiry_of(row, scope) if waits else None,
        "start": start_of(row) if waits else None,
        "ahead": ahead_of(row, scope) if waits else (),
        "explained_at": _said_at(turn),
    }


def _quota(told: list[dict[str, Any]], scope: frozenset[str] | None) -> tuple[JobQuota, ...]:
    return tuple(JobQuota(**one) for one in told if scope is None or one["account"] in scope)


def _said_at(turn: Turn | None) -> datetime | None:
    if turn is None:
        return None
    said = Observation.objects.filter(pk=turn.revision).values_list("observed_at", flat=True).first()
    return said or turn.begun_at


def _starts_by(told: dict[str, Any], begun_at: datetime | None) -> datetime | None:
    """When the last pod whose room it waits for must be gone."""
    left_s = told["starts_in_s"]
    return begun_at + timedelta(seconds=left_s) if begun_at is not None and left_s is not None else None


def reason_row(reason: dict[str, Any], scope: frozenset[str] | None) -> JobReason:
    numbers = tuple(number_words(name, value) for name, value in numbers_for(reason, scope).items())
    word = reason["word"]
    return JobReason(word, str(Reason(word).label), sentence_for(reason, scope), numbers)


def inquiry_of(row: Job, scope: frozenset[str] | None) -> InquiryRow | None:
    """The newest question about it, with what this viewer may read of the answer; None where nobody asked."""
    found = Inquiry.objects.filter(job=row).first()
    if found is None:
        return None
    return InquiryRow(
        state=found.state,
        label=str(InquiryState(found.state).label),
        asked_at=found.asked_at,
        done_at=found.done_at,
        revision=found.revision,
        begun_at=found.begun_at,
        solved=found.solved,
        failure=found.failure,
        remedies=tuple(_remedy(one, scope) for one in found.remedies),
    )


def _remedy(remedy: dict[str, Any], scope: frozenset[str] | None) -> RemedyRow:
    kind, outcome = RemedyKind(remedy["kind"]), Outcome(remedy["outcome"])
    words = remedy_words(remedy, scope)
    cost = remedy_cost(remedy, scope)
    return RemedyRow(kind.value, str(kind.label), outcome.value, str(outcome.label), cost, remedy["unit"], words)


def _sighting(row: Sighting) -> JobSighting:
    label = str(Reason(row.reason).label) if row.reason else ""
    kind = Sighted(row.kind)
    return JobSighting(row.at, row.kind, str(kind.label), row.reason, label, row.pods, row.running, row.known)


def _unseen(reading: Reading | None, members: Iterable[JobMember], pods: Any, key: str) -> dict[str, Any]:
    """Of a job that no explanation has shown waiting only its pods tell."""
    assert reading is not None
    first = next(iter(members)).pod
    snapshot = reading.snapshot
    gang = int(snapshot.pod_gang[pods[0]])
    record = None if gang == UNKNOWN else snapshot.gangs[gang]
    wish = record.topology if record is not None else snapshot.pod_specs[snapshot.pod_spec[pods[0]]].topology
    milli = snapshot.pod_gpus[pods].astype(np.int64) * snapshot.pod_gpu_milli[pods]
    nobody: dict[str, Any] = dict.fromkeys(
        ("id", "position", "first_at", "since", "left_at", "primary", "starts_by", "explained_at", "inquiry", "start")
    )
    return {
        **nobody,
        "source": reading.source,
        "cluster": first.cluster,
        "key": key,
        "gang": record is not None,
        "tenant": first.tenant or "",
        "state": "",
        "pods": 0,
        "running": int(snapshot.pod_live[pods].sum()),
        "gpu_milli": int(milli[snapshot.pod_live[pods]].sum()),
        "models": (),
        "priority": first.priority,
        "priority_class": "",
        "tier": first.tier,
        "min_members": record.min_members if record is not None else None,
        "levels": (wish.required,) if wish is not None and wish.required else (),
        "preferred": (wish.preferred,) if wish is not None and wish.preferred else (),
        "parts": (),
        "since_known": False,
        "others": (),
        "ahead": (),
        "blocks": (),
        "seats": (),
        "seat_nodes": 0,
        "quota": (),
        "sightings": (),
        "sightings_total": 0,
    }


def _member_rows(reading: Reading, pods: Any) -> tuple[JobMember, ...]:
    snapshot = reading.snapshot
    asws = asw_of_nodes(snapshot)
    found = []
    for p, row in zip(pods.tolist(), rows_of_pods(reading, pods), strict=True):
        node = int(snapshot.pod_node[p])
        domain = int(asws[node]) if node >= 0 else UNKNOWN
        found.append(JobMember(row, snapshot.domain_name[domain] if domain != UNKNOWN else None))
    return tuple(found)
