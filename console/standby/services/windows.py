"""Windows: a tenant says when its own workloads sleep, edits that, and ends it."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.inventory.models import Source
from console.live.services import publish
from console.rest.errors import Conflict, FieldError
from console.rest.versions import PreconditionFailed, PreconditionRequired
from console.standby import selectors
from console.standby.choices import (
    LEAST_MINUTES,
    LONGEST_ONCE_DAYS,
    MOST_MINUTES,
    MOST_WINDOWS,
    SET,
    Cause,
    SleeperState,
)
from console.standby.hours import Weekly
from console.standby.models import ASLEEP, Sleeper, Window
from console.standby.services.pods import Found, of_workload, reading
from console.standby.services.recalling import ask
from console.standby.services.worth import expected
from console.tenancy.services import require

WHEN = ("days", "from_minute", "until_minute", "first_day", "last_day", "begins_at", "ends_at")


def preview_window(
    user: Any, *, source_id: int, cluster: str, namespace: str, workload: str, **when: Any
) -> dict[str, Any]:
    """What one span would bring and cost.  Raises ``Denied`` and ``FieldError`` as the making itself does."""
    require(user, SET)
    _, pods = _own(user, source_id, cluster, namespace, workload)
    return expected(pods, _hours(_when(when, timezone.now())))


def make_window(
    user: Any, *, source_id: int, cluster: str, namespace: str, workload: str, reason: str = "", **when: Any
) -> Window:
    """``when``: ``days``, ``from_minute``, ``until_minute``, ``first_day``, ``last_day``; or
    ``begins_at`` and ``ends_at``.

    Raises ``Denied``, ``FieldError``; ``Conflict`` where the tenant has too many.
    """
    require(user, SET)
    source, pods = _own(user, source_id, cluster, namespace, workload)
    tenant, said = pods[0].tenant, _when(when, timezone.now())
    with transaction.atomic():
        if Window.objects.filter(tenant=tenant, ended_at=None).count() >= MOST_WINDOWS:
            raise Conflict(f"{tenant} has {MOST_WINDOWS} windows already. End one first.")
        row = Window.objects.create(
            source=source, cluster=cluster, tenant=tenant, namespace=namespace, workload=workload,
            reason=reason.strip(), made_by=user, expected=expected(pods, _hours(said)), **said,
        )  # fmt: skip
        _write_down(row, user, "standby.window_made", row.reason)
    return row


def edit_window(user: Any, window_id: int, version: int | None, *, reason: str = "", **when: Any) -> Window:
    """Other times for the window, on top of ``version``.  Who sleeps under it now sleeps as the new times say.

    Raises ``Denied``, ``FieldError``, ``Conflict``, and what If-Match asks for (428 without it, 412 where it is old).
    """
    require(user, SET)
    row = selectors.window_for(user, window_id)
    if version is None:
        raise PreconditionRequired("Send the version that you read (If-Match).")
    now = timezone.now()
    said = _when(when, now)
    pods = _pods_of(row)
    with transaction.atomic():
        fields = {**said, "reason": reason.strip() or row.reason, "version": version + 1}
        if pods:
            fields["expected"] = expected(pods, _hours(said))
        if not Window.objects.filter(pk=row.pk, version=version, ended_at=None).update(**fields):
            _refuse_edit(row.pk, version)
        row = selectors.window_for(user, window_id)
        _follow_edit(row, user, now)
        _write_down(row, user, "standby.window_edited", reason.strip())
    return row


def end_window(user: Any, window_id: int, reason: str) -> Window:
    """Nothing sleeps under it any more; who does is recalled now."""
    require(user, SET)
    row = selectors.window_for(user, window_id)
    now = timezone.now()
    with transaction.atomic():
        ends = {"ended_at": now, "ended_by": user, "end_reason": reason.strip(), "version": row.version + 1}
        if not Window.objects.filter(pk=row.pk, ended_at=None).update(**ends):
            raise Conflict(f"Window {row.pk} was ended already.")
        for sleeper in Sleeper.objects.filter(window=row, state__in=ASLEEP).select_related("window__source"):
            ask(sleeper, Cause.PERSON, reason.strip() or "its window was ended", by=user)
        _write_down(row, user, "standby.window_ended", reason.strip())
    return selectors.window_for(user, window_id)


# --- what may be said -----------------------------------------------------------------------------------------------
def _own(user: Any, source_id: int, cluster: str, namespace: str, workload: str) -> tuple[Source, list[Found]]:
    """The source and the workload's pods; another tenant's workload is refused like one that is not there."""
    source = Source.objects.filter(pk=source_id).first()
    snapshot = None if source is None else reading(source)
    if source is None or snapshot is None:
        raise FieldError("source", "there is no such source, or nothing was read of it yet")
    pods = [pod for pod in of_workload(snapshot, cluster, namespace, workload) if selectors.owns(user, pod.tenant)]
    if not pods:
        raise FieldError("workload", "no running high-priority workload with GPUs of that name is yours")
    if len({pod.tenant for pod in pods}) > 1:
        raise FieldError("workload", "its pods belong to several tenants; name one that belongs to one")
    return source, pods


def _pods_of(row: Window) -> list[Found]:
    snapshot = reading(row.source)
    if snapshot is None:
        return []
    return [pod for pod in of_workload(snapshot, row.cluster, row.namespace, row.workload) if pod.tenant == row.tenant]


def _when(said: dict[str, Any], now: datetime) -> dict[str, Any]:
    """All fields of when, those that do not apply empty."""
    unknown = sorted(set(said) - set(WHEN))
    if unknown:
        raise TypeError(f"{unknown} say nothing of when")
    if said.get("begins_at") is not None or said.get("ends_at") is not None:
        return _once(said.get("begins_at"), said.get("ends_at"), now)
    return _weekly(said, now)


def _once(begins_at: datetime | None, ends_at: datetime | None, now: datetime) -> dict[str, Any]:
    if begins_at is None or ends_at is None:
        raise FieldError("ends_at" if ends_at is None else "begins_at", "say from when until when")
    minutes = (ends_at - begins_at).total_seconds() / 60
    if minutes < LEAST_MINUTES:
        raise FieldError("ends_at", f"a window lasts {LEAST_MINUTES} minutes or more")
    if minutes > LONGEST_ONCE_DAYS * 24 * 60:
        raise FieldError("ends_at", f"a window lasts at most {LONGEST_ONCE_DAYS} days")
    if ends_at <= now:
        raise FieldError("ends_at", "this lies in the past")
    empty = dict.fromkeys(("from_minute", "until_minute", "first_day", "last_day"))
    return {**empty, "days": [], "begins_at": begins_at.astimezone(UTC), "ends_at": ends_at.astimezone(UTC)}


def _weekly(said: dict[str, Any], now: datetime) -> dict[str, Any]:
    days, first, last = sorted(set(said.get("days") or [])), said.get("first_day"), said.get("last_day")
    if not days or not all(0 <= day <= 6 for day in days):
        raise FieldError("days", "name at least one day of the week")
    for name in ("from_minute", "until_minute"):
        if said.get(name) is None or not 0 <= said[name] < 24 * 60:
            raise FieldError(name, "say a time of the day, in UTC")
    first = first or now.astimezone(UTC).date()
    rule = Weekly(tuple(days), said["from_minute"], said["until_minute"], first, last)
    if not LEAST_MINUTES <= rule.minutes < MOST_MINUTES:
        raise FieldError("until_minute", f"a window lasts {LEAST_MINUTES} minutes or more, and less than a day")
    _refuse_dates(first, last, now)
    ends = {"begins_at": None, "ends_at": None}
    return {
        "days": days, "from_minute": rule.from_minute, "until_minute": rule.until_minute,
        "first_day": first, "last_day": last, **ends,
    }  # fmt: skip


def _refuse_dates(first: date, last: date | None, now: datetime) -> None:
    if last is not None and last < first:
        raise FieldError("last_day", "the last day comes before the first")
    if last is not None and last < now.astimezone(UTC).date() - timedelta(days=1):
        raise FieldError("last_day", "this lies in the past")


def _hours(said: dict[str, Any]) -> float:
    if said["begins_at"] is not None:
        return float((said["ends_at"] - said["begins_at"]).total_seconds() / 3600)
    return Weekly((0,), said["from_minute"], said["until_minute"], said["first_day"], None).minutes / 60


# --- what follows ---------------------------------------------------------------------------------------------------
def _refuse_edit(window_id: int, version: int) -> None:
    row = Window.objects.get(pk=window_id)
    if row.ended_at is not None:
        raise Conflict(f"Window {window_id} was ended: make a new one.")
    raise PreconditionFailed(f"Window {window_id} was edited meanwhile: it is at version {row.version}, not {version}.")


def _follow_edit(row: Window, user: Any, now: datetime) -> None:
    """A sleeper whose span is still on sleeps until its new end; the others are recalled."""
    span = row.span_at(now)
    for sleeper in Sleeper.objects.filter(window=row, state__in=ASLEEP).select_related("window__source"):
        if span is None:
            ask(sleeper, Cause.PERSON, "its window was edited", by=user)
        elif span.ends_at != sleeper.until_at and sleeper.state != SleeperState.WAKING:
            Sleeper.objects.filter(pk=sleeper.pk).update(
                until_at=span.ends_at, wake_at=None, told=False, turn=sleeper.turn + 1
            )


def _write_down(row: Window, user: Any, action: str, reason: str) -> None:
    detail = {"tenant": row.tenant, "workload": row.key, "when": row.words, "version": row.version}
    audit.record(
        actor=user, action=action, target_kind="standby window", target_id=row.pk, reason=reason, detail=detail
    )
    publish("standby", action.removeprefix("standby."))
