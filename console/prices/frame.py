"""What prices hang into the house: navigation, notice of coming changes, search, topics, the inbox, and the bills."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from console.live import topics
from console.plans import inbox
from console.prices import selectors
from console.prices.choices import State
from console.tenancy import prices as charged
from console.ui import shell
from console.ui.figures import plural

VIEW, SECTION = selectors.VIEW, "prices"
NAMED = 4  # models in a banner; the page has them all


def register() -> None:
    shell.register_entry(shell.Entry(SECTION, "Prices", "prices:list", "tag", order=24, permission=VIEW))
    shell.register_banners(SECTION, _banners)
    shell.register_hits(SECTION, _hits)
    shell.register_topic(SECTION, VIEW)
    topics.register(SECTION, _may_listen)
    inbox.register(SECTION, _waiting)
    charged.register_quotes("spot price", _quoted)


def _may_listen(user: Any, topic: str) -> bool:
    """That something changed, and its number; what it says is asked for."""
    return bool(user.has_perm(VIEW))


def _quoted(start: datetime, end: datetime) -> Mapping[str, Sequence[tuple[datetime, int | None]]]:
    return selectors.steps_between(start, end)


def _banners(request: HttpRequest) -> Iterable[shell.Banner]:
    """Every change that comes is told to everybody until it is in force."""
    if not request.user.has_perm(VIEW):
        return
    for one in selectors.coming_changes():
        said = [f"{line.gpu_model} {selectors.usd(line.was_cents)} → {selectors.usd(line.cents)}" for line in one.lines]
        more = f" and {plural(len(said) - NAMED, 'other model')}" if len(said) > NAMED else ""
        title = f"Spot prices change on {one.at:%d %b} at {one.at:%H:%M} UTC."
        text = f"{', '.join(said[:NAMED])}{more}, USD per GPU-hour."
        if one.held:
            text += f" Held back now. {one.held}."
        yield shell.Banner("", "tag", title, text, ("See prices", reverse("prices:list")))


def _hits(request: HttpRequest, words: str, limit: int) -> Iterable[shell.Hit]:
    if not request.user.has_perm(VIEW):
        return []
    wanted = words.lower().removeprefix("price").removeprefix("s").strip()
    found = [one for one in selectors.quotes().values() if wanted in one.gpu_model.lower()]
    return [
        shell.Hit(
            "price", f"Price of {one.gpu_model}", f"{reverse('prices:list')}?model={one.gpu_model}", "tag",
            "no quote" if one.cents is None else f"{one.cents / 100:.2f} USD/GPU-h",
        )
        for one in found[:limit]
    ]  # fmt: skip


def _waiting(viewer: Any) -> list[inbox.Waiting]:
    """Proposals that wait for another person's yes."""
    if not viewer.has_perm(selectors.VIEW_PROPOSAL):
        return []
    return [
        inbox.Waiting(
            kind="prices",
            number=row.pk,
            title=row.title,
            url=reverse("prices:proposal", args=[row.pk]),
            state=State.PROPOSED.value,
            fact=", ".join(
                f"{line.gpu_model} {selectors.usd(line.was_cents)} → {selectors.usd(line.cents)}"
                for line in row.lines.all()
                if line.changes
            ),
            asked_by=row.proposer.get_username() if row.proposer is not None else "",
            since=row.proposed_at,
            until=row.expires_at,
        )
        for row in selectors.proposals_awaiting(viewer).order_by("expires_at", "-pk")
    ]
