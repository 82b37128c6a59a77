"""The book as plain columns."""

import json

from console.audit.models import Entry

HEAD = ("id", "at", "actor", "action", "target_kind", "target_id", "reason", "digest", "request_id", "detail")


def as_row(entry: Entry) -> tuple[object, ...]:
    """One line of the CSV, in the order of HEAD."""
    detail = json.dumps(entry.detail, sort_keys=True) if entry.detail else ""
    at = entry.at.isoformat()
    return (
        entry.pk,
        at,
        entry.actor,
        entry.action,
        entry.target_kind,
        entry.target_id,
        entry.reason,
        entry.digest,
        entry.request_id,
        detail,
    )
