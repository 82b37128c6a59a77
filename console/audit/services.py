"""Writing down what was done."""

from typing import Any

import structlog

from console.audit.models import Entry

SYSTEM = "system"


def record(
    *,
    actor: Any,
    action: str,
    target_kind: str,
    target_id: object,
    reason: str = "",
    digest: str = "",
    detail: dict[str, Any] | None = None,
) -> Entry:
    """Writes one entry in the caller's transaction.  ``actor`` is a user, or None or a word for what no person did."""
    person = None if actor is None or isinstance(actor, str) else actor
    name = person.get_username() if person is not None else (actor or SYSTEM)
    return Entry.objects.create(
        actor=name,
        actor_uid=person.pk if person is not None else None,
        action=action,
        target_kind=target_kind,
        target_id=str(target_id),
        reason=reason,
        digest=digest,
        request_id=str(structlog.contextvars.get_contextvars().get("request_id", "")),
        detail=detail or {},
    )
