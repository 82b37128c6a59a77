"""What sleeps and what of it is lent, counted from reading to reading: for rebates, and as the pool's past."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.utils import timezone

from console.inventory import services as inventory
from console.inventory.models import Source
from console.live.services import publish
from console.standby.choices import KEPT_DAYS, SAMPLE_S, SleeperState
from console.standby.models import PoolSample, Sleeper, Window
from console.standby.services.pods import Found, asleep_in
from console.standby.services.sleeping import note_awake
from console.standby.services.worth import held_for_an_hour, price
from console.ui.sums import known_sum

LONGEST_STEP_S = 120  # of a time that nobody looked at, nothing is known


@dataclass(slots=True)
class _Pool:
    pods: list[Found] = field(default_factory=list)
    ruled_milli: int = 0


def sample(now: datetime | None = None) -> int:
    """One look at every source that was read; how many rows of the pool were written."""
    at, written = now or timezone.now(), 0
    for source in Source.objects.all():
        found = inventory.newest(source)
        if found is None:
            continue
        observation, snapshot = found
        asleep = asleep_in(snapshot)
        note_awake(source, snapshot, observation.begun_at)
        _count(source, asleep, at)
        written += _keep(source, asleep, at)
    PoolSample.objects.filter(at__lt=at - timedelta(days=KEPT_DAYS)).delete()
    publish("standby", "pool.counted")
    return written


def _count(source: Source, asleep: list[Found], at: datetime) -> None:
    """Adds to each sleeper what it has lent since it was counted last."""
    there = {(one.cluster, one.pod, one.uid): one for one in asleep}
    states = (SleeperState.ASLEEP, SleeperState.WAKING)
    rows = list(Sleeper.objects.filter(window__source=source, state__in=states).select_related("window"))
    counted = []
    for row in rows:
        found = there.get((row.window.cluster, row.pod, row.pod_uid))
        if found is None or row.counted_at is None:
            continue
        seconds = min(max(int((at - row.counted_at).total_seconds()), 0), LONGEST_STEP_S)
        row.asleep_s += seconds
        row.lent_milli_s += seconds * (found.lent_milli if row.lent_milli is None else row.lent_milli)
        row.lent_milli, row.counted_at = found.lent_milli, at
        price(row)
        counted.append(row)
    names = ["asleep_s", "lent_milli_s", "lent_milli", "counted_at", "rebate_cents", "cost_cents"]
    Sleeper.objects.bulk_update(counted, names, batch_size=100)


def _keep(source: Source, asleep: list[Found], at: datetime) -> int:
    """One row for each pool with sleepers, and for one that had some: that nothing sleeps is known, too."""
    pools: dict[tuple[str, str], _Pool] = defaultdict(_Pool)
    ruled = {
        (cluster, f"{namespace}/{workload}")
        for cluster, namespace, workload in Window.objects.filter(source=source, ended_at=None).values_list(
            "cluster", "namespace", "workload"
        )
    }
    for cluster, model in PoolSample.objects.filter(source=source).values_list("cluster", "gpu_model").distinct():
        pools[cluster, model] = _Pool()
    for one in asleep:
        pool = pools[one.cluster, one.gpu_model]
        pool.pods.append(one)
        pool.ruled_milli += one.gpu_milli if (one.cluster, f"{one.namespace}/{one.workload}") in ruled else 0
    slot = datetime.fromtimestamp(at.timestamp() // SAMPLE_S * SAMPLE_S, UTC)
    with transaction.atomic():
        for (cluster, model), pool in pools.items():
            PoolSample.objects.update_or_create(
                source=source, cluster=cluster, gpu_model=model, at=slot, defaults=_sums(pool)
            )
    return len(pools)


def _sums(pool: _Pool) -> dict[str, int | None]:
    return {
        "asleep_milli": sum(one.gpu_milli for one in pool.pods),
        "ruled_milli": pool.ruled_milli,
        "lent_milli": sum(one.lent_milli for one in pool.pods),
        "pods": len(pool.pods),
        "memory_mib": sum(one.memory_mib for one in pool.pods),
        "device_mib": known_sum([one.device_mib for one in pool.pods]),
        "cents_per_hour": known_sum([one.cost_cents for one in held_for_an_hour(pool.pods)]),
    }
