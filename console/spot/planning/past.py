"""The past of one GPU model in one cluster, as the planner of estimates reads it; of all tenants, and told to none."""

from datetime import datetime, timedelta

import numpy as np
from django.db.models import F

from console.spot.choices import HORIZONS_S, State
from console.spot.models import Lease, Run, ScoredChance, SupplySample
from console.spot.selectors.calibration import DAYS, SLOT, slot_of
from scheduler.cluster.snapshot import UNKNOWN
from scheduler.spot.calibration import Curve, Told, recalibration
from scheduler.spot.chance import Job
from scheduler.spot.lives import ENOUGH, Lived
from scheduler.spot.supply import Past

PAST = timedelta(days=28)
LATELY = timedelta(hours=6)
MOST_USED = 200


def curves(now: datetime) -> dict[int, Curve]:
    """What raw chances have turned out to be, by horizon; from what was over by ``now``."""
    rows = ScoredChance.objects.filter(asked_at__gte=now - timedelta(days=DAYS), raw__isnull=False)
    by_horizon: dict[int, list[Told]] = {one: [] for one in HORIZONS_S}
    for horizon, raw, started in rows.values_list("horizon_s", "raw", "started"):
        if raw is not None and started is not None and horizon in by_horizon:
            by_horizon[horizon].append(Told(raw, started))
    return {horizon: recalibration(told) for horizon, told in by_horizon.items()}


def past_of(source_id: int, cluster: str, gpu_model: str, now: datetime) -> tuple[Past, bool]:
    """(what spot work could hold, by quarter hour up to now; whether some of it was simulated)."""
    end = slot_of(now)
    rows = SupplySample.objects.filter(
        source_id=source_id, cluster=cluster, gpu_model=gpu_model, at__gt=end - PAST, at__lte=end
    )
    seen = list(rows.values_list("at", "supply_gpus", "gpus", "simulated"))
    step_s = int(SLOT.total_seconds())
    first = min((at for at, *_ in seen), default=end)
    supply = np.full(int((end - first).total_seconds()) // step_s + 1, UNKNOWN, np.int64)
    for at, gpus, _, _ in seen:
        supply[int((at - first).total_seconds()) // step_s] = gpus
    gpus = seen[-1][2] if seen else 0
    return Past(gpu_model, int(first.timestamp()), step_s, supply, gpus), any(simulated for *_, simulated in seen)


def lived(gpu_model: str, now: datetime) -> tuple[list[Lived], bool]:
    """(how long runs were seen and which of them were reclaimed; whether runs of all models had to be taken)."""
    since = now - timedelta(days=DAYS)
    rows = Run.objects.filter(running_at__isnull=False, launched_at__gte=since).prefetch_related("reclaims")
    of_model = rows.filter(gpu_model=gpu_model)
    wide = of_model.count() < ENOUGH
    return [_lived(run, now) for run in (rows if wide else of_model)], wide


def _lived(run: Run, now: datetime) -> Lived:
    """A reclaim by others ends it at the notice; its own tenant's doing is no reclaim that another must expect."""
    begun = run.running_at or run.launched_at
    taken = [one for one in run.reclaims.all() if one.whole and not one.own]
    end = min((one.noticed_at for one in taken), default=run.ended_at or now)
    return Lived(max(0, int((end - begun).total_seconds())), bool(taken))


def jobs_of(source_id: int, cluster: str, gpu_model: str, now: datetime) -> dict[str, tuple[Job, ...]]:
    """Leases that accept the model: ``running`` on it, ``ahead`` in the line, and ``newcomers`` of the last hours."""
    here = Lease.objects.filter(source_id=source_id, cluster=cluster)
    runs = Run.objects.filter(lease__in=here, ended_at=None, gpu_model=gpu_model).select_related("lease")
    line = here.filter(state__in=(State.WAITING, State.REQUEUED)).order_by("asked_at", "pk")
    lately = here.filter(asked_at__gt=now - LATELY).order_by("pk")
    return {
        "running": tuple(_running(run, now) for run in runs.order_by("pk")),
        "ahead": tuple(_waits(row, now) for row in line if gpu_model in row.gpu_models),
        "newcomers": tuple(_waits(row, now) for row in lately if gpu_model in row.gpu_models),
    }


def _running(run: Run, now: datetime) -> Job:
    done = int((now - (run.running_at or run.launched_at)).total_seconds())
    return Job(run.gpus, run.lease.gpus_per_pod, max(1, run.lease.run_s - run.from_s), max(0, done))


def _waits(row: Lease, now: datetime) -> Job:
    ago = int((now - (row.asked_at or now)).total_seconds())
    return Job(
        row.gpus_per_pod * row.min_members, row.gpus_per_pod, max(1, row.left_s), ago_s=max(0, ago),
        looked_at=row.looked_at is not None,
    )  # fmt: skip


def used_parts() -> tuple[float, ...]:
    """Of the last leases that are over, the part of their hours that they took; none where none is over."""
    rows = Lease.objects.filter(state__in=(State.ENDED, State.GIVEN_BACK), first_started_at__isnull=False)
    found = rows.annotate(took=F("ended_at") - F("first_started_at")).order_by("-ended_at")
    pairs = found.values_list("took", "run_s")[:MOST_USED]
    return tuple(min(1.0, took.total_seconds() / run_s) for took, run_s in pairs if took is not None)
