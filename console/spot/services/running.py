"""What runs, held against what was seen of it: who leaves and why, whose hours are over, whose price is too high."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from console.plans.selectors import active_freezes, covers
from console.prices.selectors import Quote
from console.spot import lifecycle
from console.spot.choices import GRACE_S, Cause, Reason, SeatState, State
from console.spot.models import Lease, LeaseChange, Run, Seat
from console.spot.services.reclaiming import Order, Told, notice, told_of
from console.spot.services.sightings import Sighting
from console.spot.services.writing import announce, change, note

BEARS = timedelta(seconds=30)  # for so long a node that is not ready is waited for
ANSWERS_WITHIN = timedelta(seconds=GRACE_S + 60)
UNSAID = "told by no recall, no plan and no node"


@dataclass(frozen=True, slots=True)
class Seen:
    """One reading as far as it bears on leases; ``awake``: lenders that do not sleep any more."""

    begun_at: datetime
    observed_at: datetime
    pods: Mapping[str, Sighting]
    unready: frozenset[str]  # nodes that are not ready, or are gone
    awake: frozenset[str]


@dataclass(frozen=True, slots=True)
class Recalled:
    """A pod's end by a recall, as the standby room tells it; ``lender``: the pod that wakes."""

    told: Told
    lender: str
    own: bool
    recall_id: int | None = None


def runs_open() -> QuerySet[Run]:
    """Runs that are not over, with their leases."""
    rows = Run.objects.filter(ended_at=None, lease__state__in=lifecycle.HOLDING)
    return rows.select_related("lease__source").order_by("lease__source_id", "pk")


def watch(run: Run, seen: Seen | None, recalls: Sequence[Recalled], now: datetime) -> None:
    """One look at a run that serves or leaves."""
    seats = {seat.name: seat for seat in Seat.objects.filter(run=run).exclude(state=SeatState.GONE)}
    ends = [one for one in recalls if one.told.pod in seats and one.told.noticed_at >= run.launched_at]
    if run.lease.state == State.RUNNING:
        _recalled(run, seats, ends, now)
        if seen is not None and run.running_at is not None and seen.begun_at > run.running_at:
            _missed(run, seats, {one.told.pod for one in ends}, seen, now)
            _on_dead_nodes(run, seats, seen, now)
    told_of(run.pk, [one.told for one in ends])
    if seen is not None:
        _gone(run, seen, {one.told.pod for one in ends}, now)


def _recalled(run: Run, seats: dict[str, Seat], ends: list[Recalled], now: datetime) -> None:
    fresh = [one for one in ends if seats[one.told.pod].state == SeatState.UP]
    if not fresh:
        return
    first = fresh[0]
    order = Order(Cause.RECALL, claimant=first.lender, own=all(one.own for one in fresh),
                  detail={"recall": first.recall_id, "pods": len(fresh)})  # fmt: skip
    notice(run.pk, {one.told.pod for one in fresh}, order, [one.told for one in fresh], now)


def _missed(run: Run, seats: dict[str, Seat], known: set[str], seen: Seen, now: datetime) -> None:
    """Pods that end, or have ended, although nobody of ours said so."""
    up = {name: seat for name, seat in seats.items() if seat.state == SeatState.UP and name not in known}
    lost = {name: seat for name, seat in up.items() if name not in seen.pods}
    if lost:
        lost = _moved(run, lost, seats, seen, now)
    leaving = {name: seat for name, seat in up.items() if name in seen.pods and seen.pods[name].noticed_at is not None}
    by_cause: dict[Cause, list[Told]] = {}
    for name, seat in {**lost, **leaving}.items():
        one = seen.pods.get(name)
        told = Told(name, seen.observed_at, ended_at=seen.observed_at) if one is None else _told(one, seen)
        by_cause.setdefault(_cause(seat, seen), []).append(told)
    for cause, ends in by_cause.items():
        detail = {"pods": len(ends)} if cause != Cause.UNKNOWN else {"pods": len(ends), "words": UNSAID}
        if notice(run.pk, {one.pod for one in ends}, Order(cause, detail=detail), ends, now) is not None:
            told_of(run.pk, ends)


def _on_dead_nodes(run: Run, seats: dict[str, Seat], seen: Seen, now: datetime) -> None:
    """A node may be lost for a moment; pods that stand on one for longer are given up, and their gang with them."""
    up = [seat for name, seat in seats.items() if seat.state == SeatState.UP and name in seen.pods]
    dead = {seat.name for seat in up if not seen.pods[seat.name].ready}
    back = [seat.pk for seat in up if seat.unready_at is not None and seat.name not in dead]
    fresh = [seat.pk for seat in up if seat.unready_at is None and seat.name in dead]
    for pks, at in ((back, None), (fresh, now)):
        if pks:
            Seat.objects.filter(pk__in=pks).update(unready_at=at)
    late = {
        seat.name for seat in up if seat.name in dead and seat.unready_at is not None and now - seat.unready_at >= BEARS
    }
    if late:
        notice(run.pk, late, Order(Cause.HARDWARE, detail={"pods": len(late)}), at=now)


def _told(one: Sighting, seen: Seen) -> Told:
    return Told(one.pod, one.noticed_at or seen.observed_at, kill_at=one.kill_at, checkpoint_at=one.checkpoint_at)


def _cause(seat: Seat, seen: Seen) -> Cause:
    if seat.node in seen.unready:
        return Cause.HARDWARE
    return Cause.RECALL if seat.lent_by and seat.lent_by in seen.awake else Cause.UNKNOWN


@transaction.atomic
def _moved(run: Run, lost: dict[str, Seat], seats: dict[str, Seat], seen: Seen, now: datetime) -> dict[str, Seat]:
    """A plan moves a pod by another one that takes its place elsewhere: the seat goes with it, and nothing is lost."""
    uid = str(run.lease.uid)
    spare = [one for name, one in sorted(seen.pods.items()) if one.lease == uid and name not in seats]
    for (_, seat), one in zip(sorted(lost.items()), spare, strict=False):
        namespace, _, pod = one.pod.partition("/")
        numbers = {"node": seat.node, "to": one.node}
        seat.namespace, seat.pod, seat.node, seat.lent_by = namespace, pod, one.node, ""
        seat.save(update_fields=["namespace", "pod", "node", "lent_by"])
        LeaseChange.objects.create(lease=run.lease, at=now, state=run.lease.state, reason=Reason.MOVED, numbers=numbers)
        announce(run.lease, "lease.moved")
    return {name: seat for place, (name, seat) in enumerate(sorted(lost.items())) if place >= len(spare)}


def _gone(run: Run, seen: Seen, told: set[str], now: datetime) -> None:
    """Pods that leave and are in no reading any more are gone, also where nobody tells how.

    Whoever ordered the end knows better how it went, and is waited for; not for ever.
    """
    for seat in Seat.objects.filter(run=run, state=SeatState.LEAVING, noticed_at__lt=seen.begun_at):
        noticed_at = seat.noticed_at or seen.observed_at
        answers = seat.name in told or (seat.ordered and not seat.trouble)
        if seat.name not in seen.pods and (not answers or now - noticed_at > ANSWERS_WITHIN):
            told_of(run.pk, [Told(seat.name, noticed_at, ended_at=seen.observed_at)])


# --- time and money ---------------------------------------------------------------------------------------------------
def review(run: Run, quote: Quote, now: datetime) -> None:
    """Whether it is done, or dearer than its tenant pays; what comes is said before it comes."""
    lease = run.lease
    if lease.state != State.RUNNING or run.running_at is None:
        return
    done_s = run.from_s + int((now - run.running_at).total_seconds())
    if done_s >= lease.run_s:
        change(lease, State.ENDING, Reason.HOURS_OVER, {"to": State.ENDED.value, "ran_s": done_s}, at=now)
        return
    if _too_dear(lease, quote.cents) and not _frozen(lease, run):
        _end_for_price(run, quote, now)
        return
    note(lease, Reason.RUNS, _numbers(run, quote), now)


def _numbers(run: Run, quote: Quote) -> dict[str, Any]:
    lease = run.lease
    up = Seat.objects.filter(run=run, state=SeatState.UP).count()
    said: dict[str, Any] = {"gpus": up * lease.gpus_per_pod, "model": run.gpu_model, "from_s": run.from_s}
    if up < lease.pods:
        said["pods"], said["of_pods"] = up, lease.pods
    if quote.coming is not None and quote.coming.cents is not None and _too_dear(lease, quote.coming.cents):
        said |= {"coming_cents": quote.coming.cents, "coming_at": quote.coming.at.isoformat(),
                 "limit_cents": lease.limit_cents}  # fmt: skip
    return said


def _too_dear(lease: Lease, cents: int | None) -> bool:
    return lease.limit_cents is not None and cents is not None and cents > lease.limit_cents


def _end_for_price(run: Run, quote: Quote, now: datetime) -> None:
    """Its own limit: it gets its notice and its hook like anybody else, and waits until it is cheaper."""
    pods = {seat.name for seat in Seat.objects.filter(run=run, state=SeatState.UP)}
    detail = {"cents": quote.cents, "limit_cents": run.lease.limit_cents}
    notice(run.pk, pods, Order(Cause.PRICE, own=True, detail=detail), at=now)


def _frozen(lease: Lease, run: Run) -> bool:
    """Nothing that nobody asked for now is done under a freeze: it goes on, at the price that is in force."""
    return any(covers(one, lease.cluster, [run.gpu_model]) for one in active_freezes())
