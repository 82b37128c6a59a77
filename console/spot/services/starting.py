"""From the line to a run: who waits for what, who is given which nodes, and what became of the launch."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from console.inventory import services as inventory
from console.inventory.models import Observation, Source
from console.plans.selectors import active_freezes, covers, frozen_words
from console.spot import lifecycle
from console.spot.choices import WAITS_AT_MOST_S, Reason, SeatState, State
from console.spot.models import Lease, Run, Seat
from console.spot.services.writing import change, note
from scheduler.cluster.promised import Promise
from scheduler.cluster.snapshot import Snapshot

NAMESPACE = "spot"
LEAST_SILENCE_S = 60
LOOK_AGAIN = timedelta(seconds=15)
UNSEEN_S = 120  # for so long what was launched and is in no reading yet counts as taken


@dataclass(frozen=True, slots=True)
class Line:
    """Who waits in a cluster, first come first, those that lost their place before all others; on this reading."""

    source: Source
    cluster: str
    reading: Observation
    snapshot: Snapshot
    leases: tuple[Lease, ...]
    promises: tuple[Promise, ...]  # of leases; those of recalls stand in the standby room
    frozen: tuple[str, ...]  # GPU models on which nothing may start now
    at: datetime


@dataclass(frozen=True, slots=True)
class Given:
    """The place of one pod; ``lent_by`` "": room that is free."""

    node: str
    lent_by: str = ""


def lines_due() -> list[tuple[int, str]]:
    """(source, cluster) in which somebody waits."""
    rows = Lease.objects.filter(state__in=lifecycle.IN_LINE).order_by("source_id", "cluster")
    return list(rows.values_list("source_id", "cluster").distinct())


def take_line(source_id: int, cluster: str, at: datetime | None = None) -> Line | None:
    """What a planner is to be asked now.  None where nothing can start, and every lease says why."""
    now = at or timezone.now()
    rows = [row for row in _waiting(source_id, cluster) if not _expired(row, now)]
    source = Source.objects.get(pk=source_id)
    if not source.lends:
        _all_wait(rows, Reason.OBSERVED_ONLY, {"source": source.name, "kind": source.get_kind_display()}, now)
        return None
    newest = Observation.objects.filter(source=source).order_by("-revision").first()
    silence_s = max(LEAST_SILENCE_S, 6 * source.period_s)
    if newest is None or source.last_observed_at is None or (now - source.last_observed_at).total_seconds() > silence_s:
        seen = None if source.last_observed_at is None else int((now - source.last_observed_at).total_seconds())
        _all_wait(rows, Reason.SOURCE_SILENT, {"source": source.name, "silent_s": seen}, now)
        return None
    rows = _not_frozen(rows, cluster, now)
    if not any(_is_due(row, newest, now) for row in rows):
        return None
    found = inventory.newest(source)
    if found is None:
        return None
    # Who has just lost its place, or its launch, is seated on what was seen since, never on what is behind it.
    fresh = [row for row in rows if row.reason == Reason.NOT_EVALUATED or source.last_observed_at >= row.since]
    frozen = tuple(one.gpu_model for one in active_freezes(now) if one.cluster == cluster and one.gpu_model)
    return Line(
        source, cluster, found[0], found[1], tuple(fresh), promises_of(source_id, cluster, found[0]), frozen, now
    )


def promises_of(source_id: int, cluster: str, reading: Observation) -> tuple[Promise, ...]:
    """What has been launched since the reading and is not in it."""
    seats = Seat.objects.filter(
        run__lease__source_id=source_id, run__lease__cluster=cluster, run__ended_at=None,
        run__launched_at__gte=reading.begun_at - timedelta(seconds=UNSEEN_S),
        state__in=(SeatState.PLANNED, SeatState.LAUNCHED, SeatState.UP),
    ).exclude(run__running_at__lt=reading.begun_at).select_related("run__lease")  # fmt: skip
    return tuple(
        Promise(
            cluster=cluster, node=seat.node, gpu_milli=1000 * seat.run.lease.gpus_per_pod,
            claimant=f"lease:{seat.run.lease.uid}", until_s=None, cpu_milli=seat.run.lease.cpu_milli,
            memory_mib=seat.run.lease.memory_mib,
        )
        for seat in seats
    )  # fmt: skip


@transaction.atomic
def start(
    row: Lease, gpu_model: str, places: Sequence[Given], *, reading: Observation, cents: int, at: datetime | None = None
) -> Run | None:
    """Writes down who goes where before the cluster is asked; None where the lease has changed since it was read."""
    now = at or timezone.now()
    requeued = row.state == State.REQUEUED
    gpus = row.gpus_per_pod * len(places)
    numbers = {"gpus": gpus, "model": gpu_model, "nodes": len({one.node for one in places}),
               "lent": sum(bool(one.lent_by) for one in places) * row.gpus_per_pod, "cents": cents}  # fmt: skip
    if not change(row, State.STARTING, Reason.LAUNCHING, numbers, at=now):
        return None
    number = (Run.objects.filter(lease=row).aggregate(last=Max("number"))["last"] or 0) + 1
    run = Run.objects.create(
        lease=row, number=number, gpu_model=gpu_model, gpus=gpus, requeued=requeued,
        revision=reading.revision, cents=cents, launched_at=now, from_s=row.kept_s,
    )  # fmt: skip
    Seat.objects.bulk_create(
        [
            Seat(run=run, namespace=NAMESPACE, pod=f"lease-{row.pk}-{number}-{place}", node=one.node,
                 lent_by=one.lent_by, key=str(uuid.uuid4()))
            for place, one in enumerate(places)
        ],
        batch_size=500,
    )  # fmt: skip
    return run


def key_of(run: Run) -> str:
    """Under which the cluster is asked to launch it: a worker that dies is followed by one that asks for the same."""
    return str(uuid.uuid5(run.lease.uid, f"launch {run.number}"))


@transaction.atomic
def claim_launch(run: Run) -> bool:
    """From here on its pods may exist.  False where it is not to start any more."""
    lease = Lease.objects.select_for_update().get(pk=run.lease_id)
    if lease.state != State.STARTING:
        return False
    Seat.objects.filter(run=run, state=SeatState.PLANNED).update(state=SeatState.LAUNCHED)
    return True


@transaction.atomic
def launched(run: Run, at: datetime | None = None) -> bool:
    """All of its pods are up."""
    now, row = at or timezone.now(), Lease.objects.get(pk=run.lease_id)
    until = now + timedelta(seconds=row.guaranteed_s) if row.guaranteed_s else None
    numbers = {"gpus": run.gpus, "model": run.gpu_model, "left_s": row.left_s, "from_s": run.from_s}
    first = {} if row.first_started_at is not None else {"first_started_at": now}
    if not change(row, State.RUNNING, Reason.RUNS, numbers, at=now, **first):
        return False
    Run.objects.filter(pk=run.pk).update(running_at=now, guaranteed_until=until)
    Seat.objects.filter(run=run, state=SeatState.LAUNCHED).update(state=SeatState.UP)
    return True


@transaction.atomic
def take_back(run: Run, why: str, at: datetime | None = None) -> bool:
    """Nothing of it runs: the lease waits as before, in the line from which it came, and nothing is paid."""
    now, row = at or timezone.now(), Lease.objects.get(pk=run.lease_id)
    back = State.REQUEUED if run.requeued else State.WAITING
    if not change(row, back, Reason.TAKEN_BACK, {"why": why}, at=now):
        return False
    Run.objects.filter(pk=run.pk).update(ended_at=now, billed_at=now)
    Seat.objects.filter(run=run).update(state=SeatState.GONE, gone_at=now)
    return True


def note_wait(row: Lease, reason: Reason, numbers: dict[str, Any], line: Line) -> None:
    note(row, reason, numbers, line.at)


def looked(line: Line) -> None:
    """Every lease of it was looked at on this reading."""
    Lease.objects.filter(pk__in=[row.pk for row in line.leases], state__in=lifecycle.IN_LINE).update(looked_at=line.at)


# --- the line --------------------------------------------------------------------------------------------------------
def _waiting(source_id: int, cluster: str) -> list[Lease]:
    rows = Lease.objects.filter(source_id=source_id, cluster=cluster, state__in=lifecycle.IN_LINE)
    return sorted(rows, key=lambda row: (row.state != State.REQUEUED, row.asked_at or row.made_at, row.pk))


def _is_due(row: Lease, newest: Observation, now: datetime) -> bool:
    """Once for every reading; now and then on the same one, since prices and quotas change as well."""
    return row.looked_at is None or row.looked_at < newest.observed_at or now - row.looked_at >= LOOK_AGAIN


def _expired(row: Lease, now: datetime) -> bool:
    waited_s = (now - row.since).total_seconds()
    if waited_s <= WAITS_AT_MOST_S:
        return False
    return change(row, State.EXPIRED, Reason.TOO_LATE, {"waited_s": int(waited_s)}, at=now)


def _all_wait(rows: list[Lease], reason: Reason, numbers: dict[str, Any], now: datetime) -> None:
    for row in rows:
        note(row, reason, numbers, now)


def _not_frozen(rows: list[Lease], cluster: str, now: datetime) -> list[Lease]:
    freezes = active_freezes(now)
    left = []
    for row in rows:
        over = [[one for one in freezes if covers(one, cluster, [model])] for model in row.gpu_models]
        if all(over):
            note(row, Reason.FROZEN, {"words": frozen_words(over[0][0])}, now)
        else:
            left.append(row)
    return left
