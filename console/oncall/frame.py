"""What on-call hangs into every page: who is called now, and which call reached nobody."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from console.live import topics
from console.oncall import selectors
from console.oncall.choices import Kind
from console.ui import shell

MAY_VIEW, MAY_ANSWER = "oncall.view_rota", "oncall.answer"


def register() -> None:
    shell.register_banners("oncall", _banners)
    shell.register_hits("oncall", _hits)
    shell.register_topic("oncall", MAY_ANSWER)
    topics.register("oncall", lambda user, topic: bool(user.has_perm(MAY_VIEW)))


def _banners(request: HttpRequest) -> Iterable[shell.Banner]:
    """To whom a call went, and, to all who answer calls, which one reached nobody."""
    if not request.user.has_perm(MAY_ANSWER):
        return
    calling = selectors.calls_to(request.user)
    if calling:
        yield _calling(calling)
    for message in selectors.unreached():
        title = f"{message.user.get_username()} was not reached about {message.alert.about}."
        link = ("See the alert", message.alert.path)
        yield shell.Banner("bad", "bell-off", title, f"{message.error}.", link)


def _calling(alerts: list[Any]) -> shell.Banner:
    """One line, however many there are: it stands above every page."""
    first = alerts[0]
    words = f"{Kind(first.kind).label}, since {first.opened_at:%R} UTC. Nobody has taken it yet."
    if len(alerts) == 1:
        title = f"{first.about[:1].upper()}{first.about[1:]} calls you."
        return shell.Banner("warn", "bell-ringing", title, words, ("Decide", first.path))
    about = ", ".join(dict.fromkeys(one.about for one in alerts))
    return shell.Banner(
        "warn", "bell-ringing", f"{len(alerts)} alerts call you.",
        f"{about[:1].upper()}{about[1:]}. Nobody has taken them yet.",
        ("See them", reverse("oncall:now")),
    )  # fmt: skip


def _hits(request: HttpRequest, words: str, limit: int) -> Iterable[shell.Hit]:
    if request.user.has_perm(MAY_VIEW) and words.lower() in ("on call", "oncall", "on-call", "rota", "alerts"):
        yield shell.Hit("page", "On call: rotas and alerts", reverse("oncall:now"), "bell-ringing")
