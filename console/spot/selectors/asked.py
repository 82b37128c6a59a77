"""Leases of a period as prices read them: who asked, at which limit, what ran and what waited.  No viewer."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from console.prices.record import Asked
from console.spot.choices import State
from console.spot.lifecycle import IN_LINE
from console.spot.models import Lease, LeaseChange, Reclaim, Run

type Span = tuple[datetime, datetime]


def asked_between(start: datetime, end: datetime) -> list[Asked]:
    """Four queries.  One that was withdrawn before it ever ran is no demand."""
    rows = Lease.objects.filter(asked_at__lt=end).filter(Q(ended_at=None) | Q(ended_at__gte=start)).order_by("pk")
    leases = list(rows.exclude(state=State.WITHDRAWN, first_started_at=None))
    uids = [lease.pk for lease in leases]
    runs: defaultdict[int, list[Run]] = defaultdict(list)
    for run in Run.objects.filter(lease__in=uids, running_at__lt=end).order_by("number"):
        runs[run.lease_id].append(run)
    changes: defaultdict[int, list[tuple[datetime, str]]] = defaultdict(list)
    for pk, at, state in LeaseChange.objects.filter(lease__in=uids).values_list("lease", "at", "state").order_by("id"):
        changes[pk].append((at, state))
    reclaims: defaultdict[int, int] = defaultdict(int)
    noticed = Reclaim.objects.filter(lease__in=uids, noticed_at__gte=start, noticed_at__lt=end, own=False, whole=True)
    for pk in noticed.values_list("lease", flat=True):
        reclaims[pk] += 1
    return [_asked(one, runs[one.pk], changes[one.pk], reclaims[one.pk], start, end) for one in leases]


def _asked(
    lease: Lease, runs: Sequence[Run], changes: Sequence[tuple[datetime, str]], reclaims: int, start: datetime,
    end: datetime,
) -> Asked:  # fmt: skip
    assert lease.asked_at is not None
    ran: list[Span] = [(run.running_at, run.ended_at or end) for run in runs if run.running_at is not None]
    before = _seconds(ran, lease.asked_at, start)
    return Asked(
        gpu_model=runs[-1].gpu_model if runs else lease.gpu_models[0],
        tenant=lease.tenant,
        key=lease.number,
        gpu_milli=lease.gpus * 1000,
        asked_at=lease.asked_at,
        work_s=max(1, lease.run_s - before),
        limit_cents=lease.limit_cents,
        guaranteed_s=lease.guaranteed_s,
        checkpoint_s=lease.checkpoint_interval_s,
        waited_s=_seconds(_waits(changes, end), start, end),
        ran_s=_seconds(ran, start, end),
        reclaims=reclaims,
    )


def _waits(changes: Sequence[tuple[datetime, str]], end: datetime) -> list[Span]:
    """From each change into a line to the next change of its state."""
    ends = [at for at, _ in changes[1:]] + [end]
    return [(at, until) for (at, state), until in zip(changes, ends, strict=True) if state in IN_LINE]


def _seconds(spans: Iterable[Span], start: datetime, end: datetime) -> int:
    inside = (min(b, end) - max(a, start) for a, b in spans)
    return int(sum((one for one in inside if one > timedelta(0)), timedelta(0)).total_seconds())
