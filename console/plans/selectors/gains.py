"""Which jobs started sooner because of a plan, by how much, and which would have started anyway."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from console.plans.followed import StartedJob
from console.plans.models import Plan
from console.tenancy.services import require

Verdict = StartedJob.Verdict
MILLI, HOUR_S = 1000, 3600
SHOWN = 50


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job; ``sooner_s`` and ``gpu_hours`` are None where nobody knows, ``at_least`` where only a bound is known."""

    job: str
    gang: bool
    tenant: str
    pods: int
    gpu_milli: int
    nodes: list[str]
    waited: bool | None
    started_at: datetime
    verdict: str
    why: str
    sooner_s: float | None
    at_least: bool
    gpu_hours: float | None
    until: str  # until when it would have waited, in words


@dataclass(frozen=True, slots=True)
class Gains:
    """Counts by verdict, and the sum over those that would have had to wait."""

    waits: int
    elsewhere: int
    unknown: int
    gpu_hours: float
    at_least: bool  # of some of them only a bound is known
    jobs: list[JobRow]  # the first of them
    hidden: int


def gains(viewer: Any, plan: Plan) -> Gains | None:
    """None while nothing is followed; no job at all is an answer, too."""
    require(viewer, "plans.view_plan")
    if plan.followed_until is None:
        return None
    over = plan.followed_until <= timezone.now()
    rows = [_row(job, over) for job in StartedJob.objects.filter(plan=plan)]
    rows.sort(key=lambda row: (-(row.gpu_hours or 0.0), row.started_at, row.job))
    count = {word: sum(row.verdict == word for row in rows) for word in Verdict.values}
    return Gains(
        waits=count[Verdict.WAITS],
        elsewhere=count[Verdict.ELSEWHERE],
        unknown=count[Verdict.UNKNOWN],
        gpu_hours=sum(row.gpu_hours or 0.0 for row in rows),
        at_least=any(row.at_least for row in rows),
        jobs=rows[:SHOWN],
        hidden=max(0, len(rows) - SHOWN),
    )


def _row(job: StartedJob, over: bool) -> JobRow:
    sooner = job.sooner_s
    bounded = job.verdict == Verdict.WAITS and job.fits_at is None
    return JobRow(
        job=job.job,
        gang=job.gang,
        tenant=job.tenant,
        pods=len(job.pods),
        gpu_milli=job.gpu_milli,
        nodes=job.nodes,
        waited=job.waited,
        started_at=job.started_at,
        verdict=job.verdict,
        why=job.why,
        sooner_s=sooner,
        at_least=bounded,
        gpu_hours=None if sooner is None else sooner * job.gpu_milli / MILLI / HOUR_S,
        until=_until(job, over) if job.verdict == Verdict.WAITS else "",
    )


def _until(job: StartedJob, over: bool) -> str:
    if job.fits_at is not None:
        return "until there was room elsewhere"
    if not job.is_open:
        return job.why
    return "still no room at the end of the period" if over else "still no room"
