"""The only place where leases act on a cluster: pods are launched and told to end, and their ends are watched.

What is asked of the cluster was written down before, under a key of its own: a worker that dies in between is followed
by another that asks for the same, and a second asking goes on with the first.
"""

from collections import defaultdict
from datetime import datetime

import structlog
from django.utils import timezone

from console.connectors.protocol import Connector, ConnectorError, Ending, Outcome
from console.connectors.registry import connect
from console.inventory.models import Source
from console.spot import services
from console.spot.choices import GRACE_S, SeatState, State
from console.spot.models import Lease, Run, Seat
from console.spot.services import Told
from scheduler.plan.operations import Evict, Launch, LaunchedPod

log = structlog.get_logger(__name__)
KEPT_S = 120  # for so long the room of a pod that made way is kept for whom it made way


def look(now: datetime | None = None) -> int:
    """One look at every run that is not over; how many there were."""
    by_source: dict[int, list[Run]] = defaultdict(list)
    for run in services.runs_open():
        by_source[run.lease.source_id].append(run)
    for runs in by_source.values():
        _look_at_source(runs[0].lease.source, runs, now or timezone.now())
    services.note_hand_overs(now or timezone.now())
    return sum(len(runs) for runs in by_source.values())


def _look_at_source(source: Source, runs: list[Run], now: datetime) -> None:
    try:
        connector = connect(source.kind, source.config)
        seen, recalls = services.seen_of(source, runs), services.recalls_of(runs)
    except Exception:
        log.exception("lease.source_failed", source=source.name)
        return
    for run in runs:
        try:
            look_at(run, connector, seen, recalls.get(str(run.lease.uid), []), now)
        except ConnectorError as error:
            log.warning("lease.cluster_refused", lease=run.lease_id, error=str(error))
        except Exception:
            # One lease that cannot be looked at must not keep the others from it.
            log.exception("lease.failed", lease=run.lease_id)


def look_at(
    run: Run, connector: Connector, seen: services.Seen | None, recalls: list[services.Recalled], now: datetime
) -> None:
    if run.lease.state == State.STARTING:
        _launch(run, connector, now)
        return
    services.watch(run, seen, recalls, now)
    services.review(run, services.quote_for(run), now)
    services.bill_so_far(run, now)
    state = Lease.objects.values_list("state", flat=True).get(pk=run.lease_id)
    if state == State.ENDING:
        _settle_launch(run, connector)
        services.end_seats(run, now)
    for seat in Seat.objects.filter(run=run, state=SeatState.LEAVING, ordered=True).select_related("reclaim"):
        _evict(run, seat, connector)
    services.settle(run.pk, now)


# --- the launch -------------------------------------------------------------------------------------------------------
def _launch(run: Run, connector: Connector, now: datetime) -> None:
    if not services.claim_launch(run):
        return
    outcome = connector.execute(launch_of(run), services.key_of(run))
    if outcome.state == "succeeded":
        services.launched(run, now)
    elif outcome.state == "failed":
        services.take_back(run, outcome.detail, now)


def _settle_launch(run: Run, connector: Connector) -> None:
    """A launch that was on its way when its tenant gave it back: it is over before its pods are told to end."""
    if Seat.objects.filter(run=run, state=SeatState.LAUNCHED).exists() and run.running_at is None:
        outcome = connector.execute(launch_of(run), services.key_of(run))
        if outcome.state == "failed":
            services.never_came(run)


def launch_of(run: Run) -> Launch:
    lease = run.lease
    seats = Seat.objects.filter(run=run).order_by("pk")
    gang = lease.min_members if lease.min_members > 1 else 0
    return Launch(
        cluster=lease.cluster, namespace=services.NAMESPACE, lease=str(lease.uid), tenant=lease.tenant,
        workload=f"lease-{lease.pk}", gpus=lease.gpus_per_pod, cpu_milli=lease.cpu_milli,
        memory_mib=lease.memory_mib, min_members=gang, checkpoint_interval_s=lease.checkpoint_interval_s or 0,
        checkpoint_on_notice=bool(lease.hook_name), min_runtime_s=lease.guaranteed_s,
        pods=tuple(LaunchedPod(name=seat.pod, node=seat.node, lent_by=seat.lent_by) for seat in seats),
        labels={"slackline.io/exit-hook-s": str(lease.hook_s)} if lease.hook_s else {},
    )  # fmt: skip


# --- the end of a pod -------------------------------------------------------------------------------------------------
def _evict(run: Run, seat: Seat, connector: Connector) -> None:
    claimant = seat.reclaim.claimant if seat.reclaim is not None else ""
    operation = Evict(
        cluster=run.lease.cluster, pod=seat.name, uid=seat.uid, source=seat.node, grace_s=GRACE_S, claimant=claimant,
        kept_s=KEPT_S if claimant else 0,
    )  # fmt: skip
    outcome = connector.execute(operation, seat.key)
    told = told_by(seat, outcome)
    if told is not None:
        services.told_of(run.pk, [told])
    elif outcome.state == "failed" and connector.read_pod(seat.name, run.lease.cluster) is None:
        services.told_of(run.pk, [Told(seat.name, seat.noticed_at or timezone.now(), ended_at=timezone.now())])
    elif outcome.state == "failed":
        services.note_trouble(seat, outcome.detail)


def told_by(seat: Seat, outcome: Outcome) -> Told | None:
    ends = [] if outcome.reclaim is None else [one for one in outcome.reclaim.endings if one.pod == seat.name]
    return _told(ends[0]) if ends else None


def _told(one: Ending) -> Told:
    return Told(
        pod=one.pod, noticed_at=one.noticed_at, hook_ended_at=one.hook_ended_at, ended_at=one.ended_at,
        killed=one.killed if one.ended_at is not None else None, checkpoint_at=one.checkpoint_at,
    )  # fmt: skip
