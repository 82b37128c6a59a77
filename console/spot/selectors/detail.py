"""One lease with its whole past."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from console.spot.choices import Reason, SeatState
from console.spot.models import Estimate, Lease, LeaseChange, Reclaim, Run, Seat
from console.spot.selectors.rows import LeaseRow, rows_of
from console.spot.selectors.viewing import POOL, lease_for
from console.spot.selectors.wording import why_words


@dataclass(frozen=True, slots=True)
class ChangeRow:
    at: datetime
    state: str
    state_label: str
    reason: str
    reason_label: str
    words: str
    by: str
    numbers: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunRow:
    """``nodes`` only for those who see the pool: which nodes stand empty or lend says something of others."""

    run: Run
    reclaim: Reclaim | None
    up: int
    leaving: int
    lent: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    row: LeaseRow
    changes: list[ChangeRow]
    runs: list[RunRow]
    reclaims: list[Reclaim]
    estimate: Estimate | None

    @property
    def lease(self) -> Lease:
        return self.row.lease


def detail(viewer: Any, lease_id: int, now: datetime | None = None) -> Detail:
    """Raises ``NotThereError``."""
    at = now or timezone.now()
    lease = lease_for(viewer, lease_id)
    reclaims = list(Reclaim.objects.filter(lease=lease).select_related("run", "lease"))
    return Detail(
        row=rows_of(viewer, [lease], at)[0],
        changes=changes_of(viewer, lease, at),
        runs=_runs(viewer, lease, reclaims),
        reclaims=reclaims,
        estimate=Estimate.objects.filter(lease=lease).first(),
    )


def changes_of(viewer: Any, lease: Lease, now: datetime) -> list[ChangeRow]:
    """Newest first."""
    rows = LeaseChange.objects.filter(lease=lease).select_related("by").order_by("-pk")
    return [_change(one, lease, now) for one in rows]


def _change(one: LeaseChange, lease: Lease, now: datetime) -> ChangeRow:
    """In the words that it had then; what was counted down is not told again."""
    then = Lease(pk=lease.pk, run_s=lease.run_s, reason=one.reason, numbers=one.numbers)
    words = "" if one.reason in (Reason.RUNS, Reason.NOTICE) else why_words(then, one.at)
    return ChangeRow(
        at=one.at, state=one.state, state_label=one.get_state_display(), reason=one.reason,
        reason_label=one.get_reason_display(), words=words, by="" if one.by is None else one.by.get_username(),
        numbers=one.numbers,
    )  # fmt: skip


def _runs(viewer: Any, lease: Lease, reclaims: list[Reclaim]) -> list[RunRow]:
    seats: dict[int, list[Seat]] = {}
    for seat in Seat.objects.filter(run__lease=lease):
        seats.setdefault(seat.run_id, []).append(seat)
    ended_by = {one.run_id: one for one in reclaims if one.whole}
    return [
        RunRow(
            run=run, reclaim=ended_by.get(run.pk),
            up=sum(seat.state == SeatState.UP for seat in seats.get(run.pk, [])),
            leaving=sum(seat.state == SeatState.LEAVING for seat in seats.get(run.pk, [])),
            lent=sum(bool(seat.lent_by) for seat in seats.get(run.pk, [])),
            nodes=tuple(sorted({seat.node for seat in seats.get(run.pk, [])})) if viewer.has_perm(POOL) else (),
        )
        for run in Run.objects.filter(lease=lease).order_by("-number")
    ]  # fmt: skip
