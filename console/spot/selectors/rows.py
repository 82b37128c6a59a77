"""Leases as pages, tables and the API show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from console.prices.selectors import prices_in_force
from console.spot import lifecycle
from console.spot.choices import SeatState, State
from console.spot.models import Lease, Reclaim, Run, Seat
from console.spot.selectors.places import own_tenants
from console.spot.selectors.viewing import ASK, POOL, leases
from console.spot.selectors.wording import cause_words, what_words, why_words

MOST_DIGITS = 16
WITHDRAWABLE = (State.DRAFT, State.WAITING, State.REQUEUED)
GIVEABLE = (State.STARTING, State.RUNNING)
SHOWN = {"open": "Not over", "over": "Over", **{state.value: state.label for state in State}}


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A reclaim that is under way, for the banner and its countdown."""

    id: int
    lease_id: int
    number: str
    gpus: int
    model: str
    whole: bool
    cause: str
    words: str
    claimant: str
    noticed_at: datetime
    kill_at: datetime
    hook_at: datetime | None  # when its hook should end
    hook_ended_at: datetime | None
    checkpoint: str
    back_to_s: int | None

    @property
    def length_s(self) -> int:
        return max(1, int((self.kill_at - self.noticed_at).total_seconds()))

    def gone_s(self, now: datetime) -> float:
        return min(float(self.length_s), max(0.0, (now - self.noticed_at).total_seconds()))

    @property
    def hook_s(self) -> int | None:
        return None if self.hook_at is None else int((self.hook_at - self.noticed_at).total_seconds())


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """``cents`` is the price in force of the model it runs on, or would like first; None: no quote.

    Costs are whole cents: of runs that ended, and of the one that runs as of ``billed_at``.
    """

    lease: Lease
    run: Run | None
    notice: NoticeRow | None
    what: str
    why: str
    since: datetime
    model: str
    held_gpus: int
    cents: int | None
    charge_cents: int
    credit_cents: int
    gpu_s: int
    billed_at: datetime | None
    actions: tuple[str, ...]

    @property
    def notices(self) -> list[NoticeRow]:
        return [] if self.notice is None else [self.notice]

    @property
    def due_cents(self) -> int:
        return self.charge_cents - self.credit_cents


def filtered(viewer: Any, *, state: str = "", tenant: str = "", model: str = "", text: str = "") -> QuerySet[Lease]:
    """The viewer's leases; what is going on now first, then newest first."""
    rows = leases(viewer)
    if state == "open":
        rows = rows.exclude(state__in=lifecycle.FINAL)
    elif state == "over":
        rows = rows.filter(state__in=lifecycle.FINAL)
    elif state in State.values:
        rows = rows.filter(state=state)
    if tenant:
        rows = rows.filter(tenant=tenant)
    if model:
        rows = rows.filter(gpu_models__icontains=f'"{model}"')
    if text:
        number = text.upper().removeprefix("L-")
        by_number = Q(pk=int(number)) if number.isdigit() and len(number) < MOST_DIGITS else Q()
        rows = rows.filter(Q(name__icontains=text) | by_number)
    return rows.order_by("-pk")


def rows_of(viewer: Any, some: Sequence[Lease], now: datetime | None = None) -> list[LeaseRow]:
    """Of these leases, in their order; a fixed number of queries."""
    at, ids = now or timezone.now(), [row.pk for row in some]
    runs = {run.lease_id: run for run in Run.objects.filter(lease_id__in=ids, ended_at=None)}
    held = dict(
        Seat.objects.filter(run__in=[run.pk for run in runs.values()], state__in=(SeatState.UP, SeatState.LEAVING))
        .values_list("run__lease_id")
        .annotate(Count("pk"))
    )
    open_reclaims: dict[int, Reclaim] = {
        one.lease_id: one for one in Reclaim.objects.filter(lease_id__in=ids, ended_at=None).order_by("whole", "-pk")
    }
    wanted = {run.gpu_model for run in runs.values()} | {model for row in some for model in row.gpu_models[:1]}
    prices = {model: price.cents for model, price in prices_in_force(wanted, at).items()}
    may = frozenset(own_tenants(viewer)) if viewer.has_perm(ASK) else frozenset()
    return [
        _row(row, runs.get(row.pk), open_reclaims.get(row.pk), held.get(row.pk, 0), prices, row.tenant in may, at)
        for row in some
    ]


def _row(
    row: Lease, run: Run | None, reclaim: Reclaim | None, pods: int, prices: Mapping[str, int | None], may: bool,
    now: datetime,
) -> LeaseRow:  # fmt: skip
    model = run.gpu_model if run is not None else (row.gpu_models or [""])[0]
    sums = (0, 0, 0) if run is None else (run.charge_cents, run.credit_cents, run.gpu_s)
    began = run.running_at if run is not None and row.state == State.RUNNING and run.running_at else row.since
    return LeaseRow(
        lease=row, run=run, notice=None if reclaim is None else notice_row(reclaim, row, model),
        what=what_words(row, run.gpu_model if run is not None else ""), why=why_words(row, now, run, reclaim),
        since=began, model=model, held_gpus=pods * row.gpus_per_pod, cents=prices.get(model),
        charge_cents=row.charge_cents + sums[0], credit_cents=row.credit_cents + sums[1], gpu_s=row.gpu_s + sums[2],
        billed_at=None if run is None else run.billed_at, actions=_actions(row) if may else (),
    )  # fmt: skip


def _actions(row: Lease) -> tuple[str, ...]:
    if row.state == State.DRAFT:
        return "ask", "withdraw"
    if row.state in WITHDRAWABLE:
        return ("withdraw",)
    return ("give_back",) if row.state in GIVEABLE else ()


def notice_row(reclaim: Reclaim, row: Lease, model: str) -> NoticeRow:
    hook = None if reclaim.hook_due_s is None else reclaim.noticed_at + timedelta(seconds=reclaim.hook_due_s)
    return NoticeRow(
        id=reclaim.pk, lease_id=row.pk, number=row.number, gpus=reclaim.gpus, model=model, whole=reclaim.whole,
        cause=reclaim.cause, words=cause_words(reclaim), claimant=reclaim.claimant if reclaim.own else "",
        noticed_at=reclaim.noticed_at, kill_at=reclaim.kill_at, hook_at=hook, hook_ended_at=reclaim.hook_ended_at,
        checkpoint=reclaim.checkpoint, back_to_s=row.checkpoint_interval_s,
    )  # fmt: skip


def notices(viewer: Any, now: datetime | None = None) -> list[NoticeRow]:
    """What is being taken back now, the next to be over first."""
    mine = leases(viewer)
    rows = Reclaim.objects.filter(ended_at=None, lease__in=mine).select_related("lease", "run").order_by("kill_at")
    return [notice_row(one, one.lease, one.run.gpu_model) for one in rows[:20]]


def others_sum(viewer: Any) -> dict[str, int] | None:
    """What all others hold and wait for, as one sum without names; None for those who see everybody."""
    if viewer.has_perm(POOL):
        return None
    mine = leases(viewer).values("pk")
    theirs = Lease.objects.exclude(pk__in=mine)
    running = sum(
        each * pods
        for each, pods in Seat.objects.filter(run__lease__in=theirs, state__in=(SeatState.UP, SeatState.LEAVING))
        .values_list("run__lease__gpus_per_pod")
        .annotate(Count("pk"))
        .order_by()
    )
    waiting = sum(
        each * pods for each, pods in theirs.filter(state__in=lifecycle.IN_LINE).values_list("gpus_per_pod", "pods")
    )
    return {"running_gpus": running, "waiting_gpus": waiting}
