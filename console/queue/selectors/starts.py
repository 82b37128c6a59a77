"""When a job may start, and who stands before it."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, Sum

from console.queue.choices import InquiryState, JobState, Reason
from console.queue.models import Foretelling, Job
from console.queue.selectors.job_parts import AheadRow, JobStart

SHOWN_AHEAD = 10
DAY_S = 86_400


def job_start(viewer: Any, job: Job) -> JobStart | None:
    """Of a job that the viewer sees: what was foretold last, or that it is being worked out; None: nobody asked."""
    del viewer  # the job is one that is seen, and nothing of others is told
    return start_of(job)


def start_of(job: Job) -> JobStart | None:
    found = list(Foretelling.objects.filter(source=job.source_id)[:2])
    if not found:
        return None
    row = found[0]
    place = "\n".join((job.cluster, job.key, "gang" if job.gang else "pod"))
    p10, p50, p90, started, runs, why = row.starts.get(place) or (None, None, None, 0, 0, "")
    if row.state == InquiryState.DONE and place not in row.starts:
        why = "it did not wait in the reading that was replayed"
    basis = row.basis
    return JobStart(
        state=row.state,
        asked_at=row.asked_at,
        revision=row.revision,
        begun_at=row.begun_at,
        earliest_at=_at(row.begun_at, p10),
        middle_at=_at(row.begun_at, p50),
        latest_at=_at(row.begun_at, p90),
        started=started,
        runs=runs,
        why=why,
        failure=row.failure,
        horizon_days=basis.get("horizon_s", 0) // DAY_S,
        newcomers_a_day=basis.get("newcomers_a_day", 0.0),
        like_it_milli=sum(basis.get(word, 0) for word in ("stated", "tenant", "size", "age")),
        unknown_milli=basis.get("unknown", 0),
    )


def _at(begun_at: datetime, seconds: int | None) -> datetime | None:
    return None if seconds is None else begun_at + timedelta(seconds=seconds)


def ahead_of(job: Job, scope: frozenset[str] | None) -> tuple[AheadRow, ...]:
    """The nearest ones first; who sees only its own reads all others as one sum by tier."""
    before = Job.objects.filter(
        source=job.source_id, cluster=job.cluster, state=JobState.PENDING, position__lt=job.position
    ).select_related("source")
    seen = before if scope is None else before.filter(tenant__in=scope - {""})
    rows = [
        AheadRow(
            one.key, one.source.name, one.cluster, one.told.get("class", ""), "LP" if one.lp else "HP", 1,
            one.gpu_milli, str(Reason(one.reason).label),
        )
        for one in seen.order_by("-position")[:SHOWN_AHEAD]
    ]  # fmt: skip
    rest = before.exclude(pk__in=seen.order_by("-position").values_list("pk", flat=True)[:SHOWN_AHEAD])
    sums = rest.order_by().aggregate(
        hp_jobs=Count("pk", filter=Q(lp=False)), hp_milli=Sum("gpu_milli", filter=Q(lp=False)),
        lp_jobs=Count("pk", filter=Q(lp=True)), lp_milli=Sum("gpu_milli", filter=Q(lp=True)),
    )  # fmt: skip
    rows += [
        AheadRow("", "", "", "", tier.upper(), sums[f"{tier}_jobs"], sums[f"{tier}_milli"] or 0, "")
        for tier in ("hp", "lp")
        if sums[f"{tier}_jobs"]
    ]
    return tuple(rows)
