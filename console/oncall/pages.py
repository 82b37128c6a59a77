"""What the templates of on-call are given."""

from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils import timezone

from console.inventory.selectors import filter_choices
from console.oncall import selectors
from console.oncall.choices import REASONS, ContactKind, Kind, Reach
from console.oncall.forms import CoverForm, RotaForm
from console.oncall.selectors.rotas import handover_words
from console.plans import selectors as plans
from console.plans.lifecycle import AWAITING, RUNNING

LISTED = 25
SHOWN = 4  # alerts of one plan or campaign
ON_PHONE = ("approve", "reject", "start", "resume", "abort")


def now_page(request: HttpRequest, cover: CoverForm | None = None) -> dict[str, Any]:
    """Who is on call where, what is open, and how this person is reached."""
    user, now = request.user, timezone.now()
    found = [_rota_row(row, now) for row in selectors.rotas(user)]
    answers = user.has_perm("oncall.answer")
    page = Paginator(selectors.alerts(user), LISTED).get_page(request.GET.get("page"))
    return {
        "section": "oncall",
        "rows": found,
        "page": page,
        "alerts": [(one, selectors.calls_ahead(one) if one.due_at else "") for one in page.object_list],
        "now": now,
        "answers": answers,
        "may_set": user.has_perm("oncall.set_rota"),
        "cover_form": cover or CoverForm(),
        "people": [one.get_username() for one in selectors.may_be_on_call()],
        "ways": selectors.ways_of(user) if answers else [],
        "own": selectors.contacts_of(user) if answers else {},
        "webhook_hosts": sorted(settings.WEBHOOK_HOSTS),
        "mail_set_up": bool(settings.MAILERS),
        "no_link": not settings.PUBLIC_URL,
        "demo": settings.DEMO,
        "kinds": ContactKind.choices,
    }


def _rota_row(row: Any, now: Any) -> dict[str, Any]:
    return {
        "rota": row,
        "now": selectors.view_of(row, now),
        "shifts": selectors.schedule_of(row, now),
        "covers": [one for one in row.covers.all() if one.ends_at > now],
        "people": [one.user.get_username() for one in row.members.all()],
        "handover": handover_words(row),
        "urgent": [Kind(word).label for word in row.urgent],
    }


def rota_page(request: HttpRequest, form: RotaForm, row: Any = None) -> dict[str, Any]:
    return {
        "section": "oncall",
        "form": form,
        "rota": row,
        "plain": [form[name] for name in form.fields if name not in ("urgent", "version")],
        "known": filter_choices(request.user),
        "people": [one.get_username() for one in selectors.may_be_on_call()],
        "urgent": form["urgent"].value() or [],
        "kinds": Kind.choices,
    }


def rota_initial(row: Any) -> dict[str, Any]:
    """What a rota says, as its form shows it."""
    names = ("handover", "zone", "next_minutes", "singles", "last_minutes", "hold_minutes", "review_hours", "version")
    times = {name: at and f"{at:%H:%M}" for name in ("at", "quiet_from", "quiet_until") if (at := getattr(row, name))}
    people = ", ".join(one.user.get_username() for one in row.members.all())
    plain = {name: getattr(row, name) for name in names}
    return {**plain, **times, "people": people, "weekday": row.weekday, "urgent": row.urgent}


def decide_page(request: HttpRequest, plan_id: int) -> dict[str, Any]:
    """One plan on a phone: what it is, whether it holds, what this person may do, and who is called about it."""
    plan = plans.plan_detail(request.user, plan_id)
    box = plans.box(request.user, plan)
    alert = selectors.open_alert_of(request.user, plan_id)
    level = plans.level_of(plan)
    gate = plans.gate_of(plan)
    on = alert_part(request.user, plan, alert)
    actions = [name for name in ON_PHONE if name in box.actions]
    return {
        "section": "plans",
        "plan": plan,
        "facts": selectors.facts_of(plan),
        "box": box,
        "act": plans.last_act(plan),
        "failing": [check for check in box.checks if not check.holds],
        "holding": [check for check in box.checks if check.holds],
        "actions": actions,
        "approvals": plans.approvals_of(plan) if plan.digest else None,
        "may_start": "approve" in actions and level.words == "approve" and gate.open,
        "changes": plan.changes[:6],
        "hidden_changes": max(0, len(plan.changes) - 6),
        "reasons": [(act, words) for act, words in REASONS.items() if act in actions],
        "seconds_left": _left(plan),
        "asks_reason": bool({"approve", "reject", "abort"} & set(actions)),
        **on,
    }


def alert_part(user: Any, plan: Any, alert: Any) -> dict[str, Any]:
    """Who is on call for a plan, and what was done about its alerts."""
    ahead = "" if alert is None else selectors.calls_ahead(alert)
    every = selectors.alerts_of(user, plan.pk)
    matters = plan.state in (*AWAITING, *RUNNING) or alert is not None
    answers = user.has_perm("oncall.answer") and alert is not None and user.pk not in selectors.never_of(alert)
    looking = alert is not None and alert.acknowledged_by_id
    return {
        "alert": alert,
        "on_call": selectors.now_of(plan.cluster) if matters else None,
        "ahead": ahead,
        "not_yet": selectors.waits_for_itself(plan) if matters else "",
        "histories": [(one, selectors.history(user, one)) for one in every[:SHOWN]],
        "may_acknowledge": answers and looking in (None, user.pk),
        "may_hand_on": answers and looking in (None, user.pk) and _next_of(alert),
    }


def campaign_part(user: Any, row: Any) -> dict[str, Any]:
    """The same of a campaign, which may have several alerts open."""
    every = selectors.alerts_of_campaign(user, row.pk)
    is_open = [one for one in every if one.resolved_at is None]
    shown = [*is_open, *(one for one in every if one.resolved_at is not None)][:SHOWN]
    return {
        "on_call": None if row.is_final else selectors.now_of(row.cluster),
        "alerts": [_alert_row(user, one) for one in shown],
    }


def _alert_row(user: Any, alert: Any) -> dict[str, Any]:
    answers = user.has_perm("oncall.answer") and alert.resolved_at is None
    free = answers and user.pk not in selectors.never_of(alert) and alert.acknowledged_by_id in (None, user.pk)
    return {
        "alert": alert,
        "ahead": selectors.calls_ahead(alert),
        "lines": selectors.history(user, alert),
        "may_acknowledge": free,
        "may_hand_on": free and _next_of(alert),
    }


def _next_of(alert: Any) -> bool:
    """Whether anybody is left who has not been called."""
    return bool(alert.reached != Reach.APPROVERS)


def _left(plan: Any) -> int | None:
    if plan.expires_at is None or plan.state not in AWAITING:
        return None
    return max(0, int((plan.expires_at - timezone.now()).total_seconds()))
