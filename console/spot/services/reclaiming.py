"""From the notice to the next place in the line: which pods leave, whether the run can go on, and what was kept."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from console.live.services import publish
from console.spot.choices import GRACE_S, OWN_CAUSES, Cause, Checkpoint, Reason, SeatState, State
from console.spot.models import Lease, Reclaim, Run, Seat
from console.spot.services import billing
from console.spot.services.writing import announce, change

DONE_WITHIN_S = 1  # of its hours: what is left is not worth another start
HANDED_OVER_WITHIN = timedelta(minutes=30)  # then nobody asks any more when the claimant served


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of the end of one pod; None: not yet, or nobody says."""

    pod: str  # namespace/name
    noticed_at: datetime
    kill_at: datetime | None = None
    hook_ended_at: datetime | None = None
    ended_at: datetime | None = None
    killed: bool | None = None
    checkpoint_at: datetime | None = None
    serving_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """Why GPUs are taken back, and for whom.  ``predicted_gpu_s``: what is lost by it, as it was told before."""

    cause: Cause
    claimant: str = ""
    own: bool = False
    detail: dict[str, Any] = field(default_factory=dict)
    predicted_gpu_s: int | None = None


@transaction.atomic
def notice(
    run_id: int, pods: Collection[str], order: Order, told: Sequence[Told] = (), at: datetime | None = None
) -> Reclaim | None:
    """These pods of a run leave; ``told`` by whoever gave them notice, else we ask the cluster to end them.

    Where too few are left, the others go as well: a gang is given back whole.  None where nothing of it runs any more.
    """
    now = at or timezone.now()
    run = Run.objects.select_related("lease").get(pk=run_id)
    lease = Lease.objects.select_for_update().get(pk=run.lease_id)
    if lease.state not in (State.RUNNING, State.STARTING) or run.ended_at is not None:
        return None
    live = list(Seat.objects.filter(run=run, state__in=(SeatState.UP, SeatState.LAUNCHED)))
    going = [seat for seat in live if seat.name in pods]
    if not going:
        return None
    whole = len(live) - len(going) < lease.min_members
    leaving = live if whole else going
    reclaim = _opened(run, lease, leaving, whole, order, told, now)
    by_pod = {one.pod: one for one in told}
    for seat in leaving:
        _give_notice(seat, reclaim, by_pod.get(seat.name), now)
    if whole:
        change(lease, State.RECLAIMING, Reason.NOTICE, _notice_numbers(reclaim, lease), at=now)
    announce(lease, "lease.notice")
    return reclaim


def _opened(
    run: Run, lease: Lease, leaving: list[Seat], whole: bool, order: Order, told: Sequence[Told], now: datetime
) -> Reclaim:
    noticed_at = min((one.noticed_at for one in told), default=now)
    kills = [one.kill_at for one in told if one.kill_at is not None]
    began = run.running_at or noticed_at
    return Reclaim.objects.create(
        lease=lease, run=run, whole=whole, cause=order.cause, claimant=order.claimant[:520],
        own=order.own or order.cause in OWN_CAUSES, detail=order.detail, gpus=lease.gpus_per_pod * len(leaving),
        noticed_at=noticed_at, kill_at=max(kills, default=noticed_at + timedelta(seconds=GRACE_S)),
        hook_due_s=lease.hook_s, predicted_loss_gpu_s=order.predicted_gpu_s,
        checkpoint=Checkpoint.WRITING if lease.hook_name else Checkpoint.NONE,
        ran_s=max(0, int((noticed_at - began).total_seconds())),
    )  # fmt: skip


def _give_notice(seat: Seat, reclaim: Reclaim, told: Told | None, now: datetime) -> None:
    seat.state, seat.reclaim = SeatState.LEAVING, reclaim
    seat.ordered = told is None
    seat.noticed_at = told.noticed_at if told is not None else now
    seat.save(update_fields=["state", "reclaim", "ordered", "noticed_at"])


def _notice_numbers(reclaim: Reclaim, lease: Lease) -> dict[str, Any]:
    return {"cause": reclaim.cause, "gpus": reclaim.gpus, "kill_at": reclaim.kill_at.isoformat(),
            "hook_s": lease.hook_s}  # fmt: skip


# --- how their end goes -----------------------------------------------------------------------------------------------
@transaction.atomic
def told_of(run_id: int, said: Sequence[Told]) -> None:
    """Writes down how the ends of these pods go; those that are gone make room."""
    seats = {seat.name: seat for seat in Seat.objects.filter(run_id=run_id, state=SeatState.LEAVING)}
    for one in said:
        seat = seats.get(one.pod)
        if seat is not None:
            _write_end(seat, one)


def _write_end(seat: Seat, one: Told) -> None:
    was = (seat.hook_ended_at, seat.gone_at)
    seat.noticed_at = one.noticed_at
    seat.hook_ended_at = one.hook_ended_at or seat.hook_ended_at
    seat.checkpoint_at = one.checkpoint_at or seat.checkpoint_at
    if one.ended_at is not None:
        seat.gone_at, seat.state, seat.killed = one.ended_at, SeatState.GONE, one.killed
    if (seat.hook_ended_at, seat.gone_at) != was:
        seat.save(update_fields=["noticed_at", "hook_ended_at", "checkpoint_at", "gone_at", "state", "killed"])


@transaction.atomic
def handed_over(reclaim: Reclaim, at: datetime) -> None:
    """The claimant serves again."""
    if Reclaim.objects.filter(pk=reclaim.pk, handed_over_at=None).update(handed_over_at=at):
        announce(reclaim.lease, "lease.handed_over")


def awaiting_hand_over(now: datetime) -> QuerySet[Reclaim]:
    """Reclaims whose claimant has not been seen to serve yet."""
    rows = Reclaim.objects.select_related("lease", "run").filter(
        handed_over_at=None, cause__in=(Cause.RECALL, Cause.HIGH_PRIORITY)
    )
    return rows.filter(noticed_at__gt=now - HANDED_OVER_WITHIN)


@transaction.atomic
def settle(run_id: int, at: datetime | None = None) -> None:
    """Closes what is over: reclaims whose pods are all gone, and the run with the last of its pods."""
    now = at or timezone.now()
    run = Run.objects.select_related("lease").get(pk=run_id)
    lease = Lease.objects.select_for_update().get(pk=run.lease_id)
    run.lease = lease
    if run.ended_at is not None:
        return
    seats = list(Seat.objects.filter(run=run).select_related("reclaim"))
    for reclaim in Reclaim.objects.filter(run=run, ended_at=None):
        _settle_reclaim(reclaim, lease, run, [seat for seat in seats if seat.reclaim_id == reclaim.pk])
    if lease.state == State.RECLAIMING and all(seat.state == SeatState.GONE for seat in seats):
        _requeue(lease, run, seats, now)
    elif lease.state == State.ENDING and all(seat.state == SeatState.GONE for seat in seats):
        _end(lease, run, seats, now)


def _settle_reclaim(reclaim: Reclaim, lease: Lease, run: Run, seats: list[Seat]) -> None:
    hooks = [seat.hook_ended_at for seat in seats]
    facts: dict[str, Any] = {"checkpoint": _checkpoint(lease, run, seats)}
    if seats and all(hooks):
        facts["hook_ended_at"] = max(hook for hook in hooks if hook is not None)
    if seats and all(seat.state == SeatState.GONE for seat in seats):
        kills = [seat.killed for seat in seats]
        facts["ended_at"] = max((seat.gone_at for seat in seats if seat.gone_at is not None), default=None)
        facts["killed"] = True if any(kills) else None if None in kills else False
        facts["realised_loss_gpu_s"] = sum(_lost_s(seat, lease, run) for seat in seats) * lease.gpus_per_pod
    if Reclaim.objects.filter(pk=reclaim.pk).exclude(**facts).update(**facts):
        announce(lease, "lease.reclaim")


def _checkpoint(lease: Lease, run: Run, seats: list[Seat]) -> Checkpoint:
    if not lease.hook_name:
        return Checkpoint.NONE if lease.checkpoint_interval_s is None else Checkpoint.UNKNOWN
    if any(seat.killed for seat in seats):
        return Checkpoint.MISSED
    written = [seat.hook_ended_at is not None and seat.checkpoint_at is not None for seat in seats]
    if all(written):
        return Checkpoint.WRITTEN
    return Checkpoint.UNKNOWN if all(seat.state == SeatState.GONE for seat in seats) else Checkpoint.WRITING


# --- what follows -----------------------------------------------------------------------------------------------------
def _requeue(lease: Lease, run: Run, seats: list[Seat], now: datetime) -> None:
    """First in line, from what a checkpoint holds of its work; done where that was all of it."""
    ended = max((seat.gone_at for seat in seats if seat.gone_at is not None), default=now)
    last = [seat for seat in seats if seat.reclaim is not None and seat.reclaim.whole]
    saved_s = min((_saved_s(seat, lease, run) for seat in last), default=0)
    kept_s = min(lease.run_s, run.from_s + saved_s)
    lost = sum(_lost_s(seat, lease, run) for seat in seats) * lease.gpus_per_pod
    totals = _close(run, seats, ended)
    numbers = {"from_s": kept_s, "run_s": lease.run_s, "lost_gpu_s": lost, "reclaimed_at": ended.isoformat()}
    fields = {**totals, "kept_s": kept_s, "lost_gpu_s": F("lost_gpu_s") + lost}
    if lease.run_s - kept_s <= DONE_WITHIN_S:
        change(lease, State.ENDED, Reason.HOURS_OVER, numbers, at=now, **fields)
    else:
        change(lease, State.REQUEUED, Reason.RECLAIMED, numbers, at=now, **fields)
    _credit(run, seats)


def _end(lease: Lease, run: Run, seats: list[Seat], now: datetime) -> None:
    ended = max((seat.gone_at for seat in seats if seat.gone_at is not None), default=now)
    ran_s = 0 if run.running_at is None else int((ended - run.running_at).total_seconds())
    target = State(lease.numbers.get("to", State.ENDED))
    reason = Reason.HOURS_OVER if target == State.ENDED else Reason.BY_TENANT
    kept_s = min(lease.run_s, run.from_s + max(0, ran_s))
    totals = _close(run, seats, ended)
    change(lease, target, reason, {"ran_s": kept_s, "run_s": lease.run_s}, at=now, kept_s=kept_s, **totals)


def _close(run: Run, seats: list[Seat], ended: datetime) -> dict[str, Any]:
    """The run's end and bill, and what the lease's sums become by it."""
    found = billing.sum_of(run, seats, ended)
    Run.objects.filter(pk=run.pk).update(
        ended_at=ended,
        billed_at=ended,
        gpu_s=found.gpu_s,
        charge_cents=found.charge_cents,
        credit_cents=found.credit_cents,
    )  # fmt: skip
    publish("spot", "lease.billed")
    return {
        "gpu_s": F("gpu_s") + found.gpu_s,
        "charge_cents": F("charge_cents") + found.charge_cents,
        "credit_cents": F("credit_cents") + found.credit_cents,
    }


def _credit(run: Run, seats: list[Seat]) -> None:
    """The credit of a run stands beside the reclaim that ended it."""
    credit = Run.objects.values_list("credit_cents", flat=True).get(pk=run.pk)
    whole = [seat.reclaim for seat in seats if seat.reclaim is not None and seat.reclaim.whole]
    if whole:
        Reclaim.objects.filter(pk=whole[0].pk).update(credit_cents=credit)


def _saved_s(seat: Seat, lease: Lease, run: Run) -> int:
    """Of this run, what the last checkpoint of the pod holds: the one that is known of, else the last that was due."""
    if run.running_at is None:
        return 0
    stopped = seat.noticed_at or seat.gone_at or run.running_at
    ran_s = max(0, int((stopped - run.running_at).total_seconds()))
    if seat.checkpoint_at is not None:
        return max(0, int((seat.checkpoint_at - run.running_at).total_seconds()))
    every_s = lease.checkpoint_interval_s
    return 0 if every_s is None else ran_s // every_s * every_s


def _lost_s(seat: Seat, lease: Lease, run: Run) -> int:
    if run.running_at is None:
        return 0
    ended = seat.gone_at or seat.noticed_at or run.running_at
    ran_s = max(0, int((ended - run.running_at).total_seconds()))
    # Without any checkpoint all is lost that it had done, what earlier runs had kept for it too: that is in no place.
    return max(0, ran_s - _saved_s(seat, lease, run))
