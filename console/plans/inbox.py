"""Everything that waits for a second person's yes, in one list: plans, and what rooms above register.

This room asks nobody upstairs: a room that has approvals of its own registers what waits there for a viewer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from console.plans import selectors


@dataclass(frozen=True, slots=True)
class Waiting:
    """One thing to decide; ``url`` leads to where it is decided."""

    kind: str
    number: int
    title: str
    url: str
    state: str  # a word of console.ui.tones
    fact: str
    asked_by: str
    since: datetime | None
    until: datetime | None


type Source = Callable[[Any], list[Waiting]]  # what the viewer may see of it
_sources: dict[str, Source] = {}


def register(name: str, source: Source) -> None:
    if name in _sources:
        raise ValueError(f"the inbox has {name} twice")
    _sources[name] = source


def of_others(viewer: Any) -> list[Waiting]:
    """Beside plans."""
    return [one for source in _sources.values() for one in source(viewer)]


def waiting(viewer: Any) -> list[Waiting]:
    """Plans and everything else, what runs out first on top."""
    found = [_plan(row) for row in selectors.plans_awaiting_approval(viewer)] + of_others(viewer)
    return sorted(found, key=lambda one: (one.until is None, one.until or one.since, one.kind, one.number))


def count(viewer: Any) -> int:
    return selectors.plans_awaiting_approval(viewer).count() + len(of_others(viewer))


def _plan(plan: Any) -> Waiting:
    net = plan.headline.get("net_emptied")
    return Waiting(
        kind="plan",
        number=plan.pk,
        title=f"{plan.title}, {plan.cluster}",
        url=reverse("plans:detail", args=[plan.pk]),
        state=plan.state,
        fact=f"{plan.headline.get('moves', 0):,} moves" + ("" if net is None else f", {net:,} nodes emptied net"),
        asked_by=plan.proposer.get_username(),
        since=plan.proposed_at,
        until=plan.expires_at,
    )
