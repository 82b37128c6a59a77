"""Setting and ending windows."""

from datetime import date
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.audit import services as audit
from console.live.services import publish
from console.policies.choices import Place, WindowKind
from console.policies.models import Window
from console.policies.occurrences import wrong_cron, wrong_zone
from console.policies.selectors import names_of
from console.policies.services import refuse_unknown
from console.rest.errors import Conflict, FieldError
from console.tenancy.services import require

LONGEST_MINUTES = 7 * 24 * 60
MOST_SKIPPED = 366


def add_window(
    user: Any,
    place: Place,
    *,
    kind: str,
    cron: str,
    minutes: int,
    zone: str,
    reason: str,
    skip_days: list[str] | None = None,
) -> Window:
    """From now on plans run there only inside it, or not inside it.  Raises ``Denied`` or ``FieldError``."""
    require(user, "policies.set_policy")
    _refuse(kind, cron, minutes, zone, reason, skip_days or [])
    skipped = sorted({date.fromisoformat(day).isoformat() for day in skip_days or []})  # as they are compared
    refuse_unknown(user, place)
    with transaction.atomic():
        row = Window.objects.create(
            kind=kind, cron=" ".join(cron.split()), minutes=minutes, zone=zone, reason=reason.strip(), owner=user,
            skip_days=skipped, **names_of(place),
        )  # fmt: skip
        audit.record(
            actor=user, action="window.set", target_kind="window", target_id=row.pk, reason=row.reason,
            detail={"kind": kind, "where": place.words, "cron": row.cron, "minutes": minutes, "zone": zone},
        )  # fmt: skip
        publish("policies", "window.set", window=row.pk)
    return row


def end_window(user: Any, window_id: int, reason: str = "") -> Window:
    """It never comes again; its row stays."""
    require(user, "policies.set_policy")
    with transaction.atomic():
        rows = Window.objects.filter(pk=window_id, ended_at__isnull=True)
        if rows.update(ended_at=timezone.now(), ended_by=user) != 1:
            raise Conflict(f"Window {get_object_or_404(Window, pk=window_id).pk} has been ended already.")
        audit.record(
            actor=user, action="window.ended", target_kind="window", target_id=window_id, reason=reason.strip()
        )
        publish("policies", "window.ended", window=window_id)
    return Window.objects.select_related("owner", "ended_by").get(pk=window_id)


def _refuse(kind: str, cron: str, minutes: int, zone: str, reason: str, skip_days: list[str]) -> None:
    """Raises ``FieldError`` with the field that is wrong."""
    if kind not in WindowKind.values:
        raise FieldError("kind", "choose maintenance or blackout")
    wrong = wrong_zone(zone)
    if wrong:
        raise FieldError("zone", wrong)
    wrong = wrong_cron(cron, zone, timezone.now())
    if wrong:
        raise FieldError("cron", wrong)
    if not 1 <= minutes <= LONGEST_MINUTES:
        raise FieldError("minutes", f"from 1 to {LONGEST_MINUTES:,} minutes")
    if not reason.strip():
        raise FieldError("reason", "say why: it is shown where it closes")
    if len(skip_days) > MOST_SKIPPED:
        raise FieldError("skip_days", f"at most {MOST_SKIPPED} days")
    for day in skip_days:
        try:
            date.fromisoformat(day)
        except ValueError as error:
            raise FieldError("skip_days", f"{day[:20]!r} is no day: write 2026-12-24") from error
