"""Remedies as the documents of the command line and the API."""

from typing import Any

from scheduler.advice.remedy import FOUND, Remedy


def remedies_json(remedies: tuple[Remedy, ...], *, failed: bool = False) -> list[dict[str, Any]]:
    """Those that help; ``failed``: also those that were looked at in vain, with their outcome."""
    return [
        {
            "kind": remedy.kind, "cost": remedy.cost, "unit": remedy.unit, "detail": remedy.detail,
            "outcome": remedy.outcome, "numbers": dict(remedy.numbers),
        }
        for remedy in remedies
        if failed or remedy.outcome == FOUND
    ]  # fmt: skip
