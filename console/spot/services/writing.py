"""What every change of a lease leaves behind: the state by compare-and-set, its history, the audit, the notice."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from console.audit import services as audit
from console.live.services import publish
from console.rest.errors import Conflict
from console.spot import lifecycle
from console.spot.choices import Reason, State
from console.spot.models import Lease, LeaseChange

TOPIC = "leases"


def change(
    row: Lease,
    target: State,
    reason: Reason,
    numbers: dict[str, Any] | None = None,
    *,
    by: Any = None,
    at: datetime | None = None,
    **fields: Any,
) -> bool:
    """From the state in which ``row`` was read to ``target``; False where somebody else has changed it since.

    ``by`` None stands for the console itself.  ``row`` is as written afterwards.
    """
    now, said = at or timezone.now(), numbers or {}
    written = {"reason": reason, "numbers": said, "since": now, **fields}
    if target in lifecycle.FINAL:
        written.setdefault("ended_at", now)
    mine = Lease.objects.filter(pk=row.pk, turn=row.turn)
    if not lifecycle.move(mine, target, sources=[State(row.state)], **written):
        return False
    was = row.state
    row.refresh_from_db()
    LeaseChange.objects.create(lease=row, at=now, state=target, reason=reason, numbers=said, by=by)
    audit.record(
        actor=by, action=f"lease.{target.value}", target_kind="lease", target_id=row.pk,
        detail={"was": was, "reason": reason.value, **said},
    )  # fmt: skip
    announce(row, f"lease.{target.value}")
    return True


def changed(row: Lease, target: State, reason: Reason, numbers: dict[str, Any] | None = None, **said: Any) -> None:
    """As ``change``; raises ``Conflict`` where it is lost."""
    if not change(row, target, reason, numbers, **said):
        raise Conflict(f"Lease {row.number} changed while you looked at it. Read it again.")


def note(row: Lease, reason: Reason, numbers: dict[str, Any], at: datetime) -> bool:
    """The same state for another reason, or with other numbers: no change of turn, so that nobody's edit is lost.

    The history keeps one row for each reason in turn, with the numbers as they were first seen.
    """
    fresh = row.reason != reason
    if not fresh and row.numbers == numbers:
        return False
    mine = Lease.objects.filter(pk=row.pk, turn=row.turn, state=row.state)
    if not mine.update(reason=reason, numbers=numbers):
        return False
    row.reason, row.numbers = reason, numbers
    if fresh:
        LeaseChange.objects.create(lease=row, at=at, state=row.state, reason=reason, numbers=numbers)
    announce(row, "lease.noted")
    return True


def announce(row: Lease, kind: str) -> None:
    publish(TOPIC, kind)
    publish(f"lease:{row.pk}", kind)


def refuse_old(row: Lease, version: int | None) -> None:
    """``version`` None: who asks has not said what was read, and means the lease as it is."""
    if version is not None and row.turn != version:
        raise Conflict(f"Lease {row.number} has changed since you read it: it is {row.get_state_display().lower()}.")
