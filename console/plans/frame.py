"""What plans hang into every page: their place in the navigation, the freeze switch and its banner, search, topics."""

from collections.abc import Iterable

from django.http import HttpRequest
from django.urls import reverse

from console.live import topics
from console.plans import inbox, selectors
from console.plans.frozen import Freeze
from console.ui import shell

SEES_BANNERS = "inventory.view_own"  # everybody: a freeze is told to tenants too, only not by whom and why


def register() -> None:
    shell.register_entry(
        shell.Entry(
            "plans",
            "Consolidation",
            "plans:list",
            "arrows-exchange",
            order=14,
            permission="plans.view_plan",
            short="Plans",
            count=_awaiting,
        )
    )
    shell.register_tools("freeze", _switch)
    shell.register_banners("freeze", _banners)
    shell.register_hits("plans", _hits)
    shell.register_notes("locks", _lock_notes)
    shell.register_topic("plans", "plans.view_plan")
    shell.register_topic("freeze", SEES_BANNERS)
    for prefix in ("plan", "plans"):
        topics.register(prefix, selectors.may_listen)
    topics.register("freeze", lambda user, topic: bool(user.has_perm(SEES_BANNERS)))


def _awaiting(request: HttpRequest) -> int:
    """Plans, and what other rooms have to be approved."""
    return inbox.count(request.user)


def _freezes(request: HttpRequest) -> list[Freeze]:
    """Asked once a request, however often the frame needs it."""
    if not hasattr(request, "active_freezes"):
        request.active_freezes = selectors.active_freezes()  # type: ignore[attr-defined]
    return list(request.active_freezes)  # type: ignore[attr-defined]


def _switch(request: HttpRequest) -> Iterable[shell.Tool]:
    if not request.user.has_perm("plans.view_plan"):
        return []
    on = len(_freezes(request))
    label = "Freeze: off" if on == 0 else "Freeze: on" if on == 1 else f"Freeze: {on} on"
    return [shell.Tool(label, reverse("plans:freezes"), "snowflake", "accent" if on else "")]


def _banners(request: HttpRequest) -> Iterable[shell.Banner]:
    """On every page.  Those who may not see plans are told that and until when, not by whom or why."""
    insider = request.user.has_perm("plans.view_plan")
    for freeze in _freezes(request):
        until = f"until {freeze.expires_at:%H:%M} UTC"
        if not insider:
            yield shell.Banner("accent", "snowflake", f"Frozen: {freeze.where}, {until}.", "Nothing is moved there.")
            continue
        link = (
            ("Lift freeze", reverse("plans:freezes") + f"#freeze-{freeze.pk}")
            if request.user.has_perm("plans.set_freeze")
            else ("See freeze", reverse("plans:freezes"))
        )
        title = f"Frozen: {freeze.where}, by {freeze.owner.get_username()}, {until}."
        yield shell.Banner("accent", "snowflake", title, freeze.reason, link)


def _lock_notes(request: HttpRequest, kind: str, cluster: str, name: str) -> Iterable[shell.Note]:
    if kind != "node" or not request.user.has_perm("plans.view_plan"):
        return
    lock = selectors.lock_on(request.user, cluster, name)
    if lock is not None:
        owner, until = lock.owner.get_username(), f"{lock.expires_at:%H:%M} UTC"
        text = f"Locked by plan {lock.plan_id} of {owner} since {lock.since:%H:%M}, until {until}"
        yield shell.Note("lock", text, reverse("plans:locks") + f"?plan={lock.plan_id}")


def _hits(request: HttpRequest, words: str, limit: int) -> Iterable[shell.Hit]:
    if not request.user.has_perm("plans.view_plan"):
        return []
    found = selectors.find_plans(request.user, words)[:limit]
    return [
        shell.Hit(
            "plan",
            f"Plan {plan.pk}: {plan.title}",
            reverse("plans:detail", args=[plan.pk]),
            "arrows-exchange",
            plan.get_state_display(),
        )
        for plan in found
    ]
