"""What on-call hangs into every page: who is called now, and which call reached nobody."""

from collections.abc import Iterable

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
    for alert in selectors.calls_to(request.user):
        words = f"{Kind(alert.kind).label}, since {alert.opened_at:%R} UTC. Nobody has taken it yet."
        link = ("Decide", reverse("oncall:decide", args=[alert.plan_id]))
        yield shell.Banner("warn", "bell-ringing", f"Plan {alert.plan_id} calls you.", words, link)
    for message in selectors.unreached():
        title = f"{message.user.get_username()} was not reached about plan {message.alert.plan_id}."
        link = ("See the alert", reverse("oncall:decide", args=[message.alert.plan_id]))
        yield shell.Banner("bad", "bell-off", title, f"{message.error}.", link)


def _hits(request: HttpRequest, words: str, limit: int) -> Iterable[shell.Hit]:
    if request.user.has_perm(MAY_VIEW) and words.lower() in ("on call", "oncall", "on-call", "rota", "alerts"):
        yield shell.Hit("page", "On call: rotas and alerts", reverse("oncall:now"), "bell-ringing")
