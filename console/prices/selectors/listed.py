"""What pages and the API list: quotes of all models, every change, what is announced.  Nothing of it names a tenant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from console.prices.choices import State
from console.prices.models import Line, Price, Proposal
from console.prices.selectors.quotes import Quote, changes, quotes
from console.prices.selectors.terms import VIEW
from console.tenancy.services import require

ORDERS = ("model", "price", "discount", "changed")


@dataclass(frozen=True, slots=True)
class Announced:
    """A change that is approved and comes: ``at`` is the hour, ``held`` what holds it back now."""

    proposal: int
    at: datetime
    said: str
    held: str
    lines: list[Line]


def quote_rows(viewer: Any, gpu_model: str = "", order: str = "model") -> list[Quote]:
    """Of models whose name has these letters; no quote comes last, whatever the order."""
    require(viewer, VIEW)
    wanted = gpu_model.lower()
    rows = [one for name, one in quotes().items() if wanted in name.lower()]
    word, falling = order.removeprefix("-"), order.startswith("-")
    known = [one for one in rows if _key(one, word) is not None]
    unknown = [one for one in rows if _key(one, word) is None]
    return sorted(known, key=lambda one: _key(one, word), reverse=falling) + unknown


def _key(one: Quote, word: str) -> Any:
    values = {"model": one.gpu_model, "price": one.cents, "discount": one.off_percent, "changed": one.since}
    return values[word]


def history_rows(viewer: Any, gpu_model: str = "", since: datetime | None = None) -> QuerySet[Price]:
    """Every price that there was, newest first."""
    require(viewer, VIEW)
    rows = changes(gpu_model)
    return rows if since is None else rows.filter(since__gte=since)


def announced(viewer: Any) -> list[Announced]:
    """By hour."""
    require(viewer, VIEW)
    return coming_changes()


def coming_changes() -> list[Announced]:
    """For the frame of every page, which asks for the right itself."""
    rows = Proposal.objects.filter(state=State.APPROVED).prefetch_related("lines").defer("document", "preview")
    return [
        Announced(row.pk, row.takes_at, row.said, row.held, [line for line in row.lines.all() if line.changes])
        for row in rows.order_by("takes_at", "pk")
        if row.takes_at is not None
    ]
