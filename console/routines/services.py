"""Making and stopping routines, and opening their plans in time: as their owner would, through the same service."""

from datetime import date, datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.automation import services as automation
from console.consolidation import services as desk
from console.inventory import services as inventory
from console.live.services import publish
from console.plans.choices import State
from console.plans.models import Plan
from console.plans.selectors import plan_detail
from console.policies.occurrences import wrong_cron, wrong_zone
from console.rest.errors import Conflict, FieldError
from console.routines import selectors
from console.routines.choices import ASKED_WITH, LATEST_S, TRIGGER_LABELS, TRIGGER_RANGES, Kind, Outcome
from console.routines.models import Opening, Routine
from console.tenancy.services import Denied, require
from console.ui.figures import plural
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot

log = structlog.get_logger(__name__)
MOST_SKIPPED = 366
NAMED = 100


def make_routine(
    user: Any,
    *,
    name: str,
    kind: str,
    plan_id: int,
    reason: str,
    cron: str = "",
    zone: str = "UTC",
    skip_days: list[str] | None = None,
    threshold: dict[str, int] | None = None,
) -> Routine:
    """Ask the question of ``plan_id`` again and again, in the name of ``user``.  Raises ``Denied``, ``FieldError``.

    A routine for waiting gangs takes only source and cluster from that plan: each gang is a question of its own.
    """
    require(user, "plans.request_plan")
    plan = plan_detail(user, plan_id)
    if plan.kind != desk.KIND:
        raise FieldError("plan", "was not asked of a planner: it cannot be asked again")
    _refuse(name, kind, reason)
    when = _when(kind, cron, zone, skip_days or [], threshold or {})
    params = dict(plan.params)
    goal = params.pop("goal", None)
    asks = kind != Kind.GANG_WAITS
    with transaction.atomic():
        row = Routine(
            name=name.strip(), kind=kind, owner=user, reason=reason.strip(), source=plan.source, cluster=plan.cluster,
            models_in_scope=plan.models_in_scope if asks else [], params=params, goal=goal if asks else None,
            seed=plan.seed, question=plan.title if asks else f"make the waiting gang fit in {plan.cluster}", **when,
        )  # fmt: skip
        row.next_at = next(selectors.starts_after(row, timezone.now()), None) if kind == Kind.SCHEDULE else row.since
        row.save()
        _write_down(
            row, user, "routine.made", row.reason, {"when": selectors.when_words(row), "question": row.question}
        )
    return row


def pause_routine(user: Any, routine_id: int, reason: str) -> Routine:
    """It opens nothing until somebody resumes it; plans that it has opened go on."""
    row = _own(user, routine_id)
    if not reason.strip():
        raise FieldError("reason", "say why: it is shown beside the routine")
    with transaction.atomic():
        said = {"paused_at": timezone.now(), "pause_reason": reason.strip()}
        if not Routine.objects.filter(pk=row.pk, paused_at=None, ended_at=None).update(**said):
            raise Conflict(f"Routine {row.pk} is {row.state} already.")
        _write_down(row, user, "routine.paused", reason.strip())
    return selectors.routine_for(user, routine_id)


def resume_routine(user: Any, routine_id: int) -> Routine:
    """From the next start on; those that fell into the pause are not made up for."""
    row = _own(user, routine_id)
    now = timezone.now()
    following = next(selectors.starts_after(row, now), None) if row.kind == Kind.SCHEDULE else now
    with transaction.atomic():
        rows = Routine.objects.filter(pk=row.pk, paused_at__isnull=False, ended_at=None)
        if not rows.update(paused_at=None, pause_reason="", next_at=following, waiting={}):
            raise Conflict(f"Routine {row.pk} is not paused.")
        _write_down(row, user, "routine.resumed", "")
    return selectors.routine_for(user, routine_id)


def end_routine(user: Any, routine_id: int, reason: str) -> Routine:
    """It opens nothing any more; it and its history stay."""
    row = _own(user, routine_id)
    with transaction.atomic():
        if not Routine.objects.filter(pk=row.pk, ended_at=None).update(ended_at=timezone.now(), next_at=None):
            raise Conflict(f"Routine {row.pk} has ended already.")
        _write_down(row, user, "routine.ended", reason.strip())
    return selectors.routine_for(user, routine_id)


def skip_days_of(user: Any, routine_id: int, days: list[str], reason: str = "") -> Routine:
    """The days (ISO, on the clock of its zone) on which it opens nothing; the list that was there is replaced."""
    row = _own(user, routine_id)
    if row.kind != Kind.SCHEDULE:
        raise FieldError("skip_days", "only routines with set times have days to skip")
    row.skip_days = _days(days)
    with transaction.atomic():
        following = next(selectors.starts_after(row, timezone.now()), None)
        if not Routine.objects.filter(pk=row.pk, ended_at=None).update(skip_days=row.skip_days, next_at=following):
            raise Conflict(f"Routine {row.pk} has ended already.")
        _write_down(row, user, "routine.days_skipped", reason.strip(), {"days": row.skip_days[:NAMED]})
    return selectors.routine_for(user, routine_id)


# --- opening plans --------------------------------------------------------------------------------------------------
def open_due(now: datetime | None = None) -> int:
    """Opens what is due; how many plans that were.  Safe to run twice at once: each start is taken by one of them."""
    at = now or timezone.now()
    due = Routine.objects.filter(next_at__lte=at, paused_at=None, ended_at=None).select_related("owner", "source")
    opened = 0
    for row in due:
        try:
            opened += _open_scheduled(row, at) if row.kind == Kind.SCHEDULE else _look(row, at)
        except Exception:
            # One routine that cannot be opened must not keep the others from it.
            log.exception("routine.failed", routine=row.pk)
    return opened


def _open_scheduled(row: Routine, now: datetime) -> int:
    """The newest start that is due; earlier ones, and one that is too late by now, were missed."""
    assert row.next_at is not None
    passed = [row.next_at]
    ahead = selectors.starts_after(row, row.next_at)
    following = next(ahead, None)
    while following is not None and following <= now:
        passed.append(following)
        following = next(ahead, None)
    mine = Routine.objects.filter(pk=row.pk, next_at=row.next_at, paused_at=None, ended_at=None)
    with transaction.atomic():
        if not mine.update(next_at=following):
            return 0
        late = (now - passed[-1]).total_seconds() > LATEST_S
        for start in passed if late else passed[:-1]:
            _note(row, start, Outcome.MISSED, "the console did not run at that time, or nobody opened it in time")
        return 0 if late else _open(row, passed[-1], row.goal)


def _open(row: Routine, due_at: datetime, goal: dict[str, Any] | None, words: str = "") -> int:
    """One plan, asked for by the owner; never a second one while the last is not over."""
    running = selectors.open_plan_of(row)
    if running is not None:
        state = running.get_state_display().lower()
        _note(row, due_at, Outcome.HELD, f"plan {running.pk} is not over: {state}")
        return 0
    try:
        with transaction.atomic():
            plan = desk.request(
                row.owner, source_id=row.source_id, cluster=row.cluster, models=row.models_in_scope, params=row.params,
                seed=row.seed, goal=goal, request_key=f"routine-{row.pk}-{due_at.isoformat()}",
                because=f"routine {row.pk}, {row.name}: {words or row.reason}",
            )  # fmt: skip
    except (desk.RequestError, Denied, Conflict) as refused:
        _note(row, due_at, Outcome.REFUSED, str(getattr(refused, "reason", refused)))
        return 0
    _note(row, due_at, Outcome.OPENED, words, plan)
    return 1


def _note(row: Routine, due_at: datetime, outcome: Outcome, words: str, plan: Plan | None = None) -> None:
    Opening.objects.create(routine=row, due_at=due_at, outcome=outcome, words=words, plan=plan)
    detail = {"due_at": due_at.isoformat(), "words": words, "plan": None if plan is None else plan.pk}
    _write_down(row, None, f"routine.{outcome.value}", "", detail)


def decide_open() -> int:
    """Have the policy look at every plan that a routine opened and that awaits its approval; how many it started.

    What a person asked for by hand is never among them, and while a routine is paused its plans are left to people.
    """
    complete = automation.settle()
    rows = Opening.objects.filter(outcome=Outcome.OPENED, plan__state=State.PROPOSED).select_related("routine", "plan")
    started = 0
    for opening in rows:
        routine, plan = opening.routine, opening.plan
        assert plan is not None
        hands = "" if routine.state == "active" else f"routine {routine.pk} is {routine.state}"
        try:
            started += automation.decide(plan.pk, complete=complete, hands=hands)
        except Exception:
            # One plan that cannot be judged must not keep the others waiting.
            log.exception("routine.not_decided", plan=plan.pk)
    return started


# --- triggers -------------------------------------------------------------------------------------------------------
def _look(row: Routine, now: datetime) -> int:
    """What holds since when, as the newest reading shows it; opens a plan for what has held for long enough."""
    found = _holding(row)
    if found is None:
        return 0  # nothing is known now: what held before is neither over nor longer
    since = {subject: row.waiting.get(subject, now.isoformat()) for subject in found}
    long = [subject for subject, text in since.items() if now - selectors.instant(text) >= _span(row, "minutes")]
    with transaction.atomic():
        mine = Routine.objects.filter(pk=row.pk, next_at=row.next_at, paused_at=None, ended_at=None)
        held_off = {"next_at": now + _span(row, "hold_off_minutes")} if long else {}
        if not mine.update(waiting={} if long else since, **held_off) or not long:
            return 0
        subject = min(long, key=lambda one: (since[one], one))
        goal = {"kind": "gang", "name": subject} if row.kind == Kind.GANG_WAITS else row.goal
        return _open(row, now, goal, f"{found[subject]}, since {selectors.instant(since[subject]):%F %R} UTC")


def _span(row: Routine, name: str) -> timedelta:
    return timedelta(minutes=row.threshold[name])


def _holding(row: Routine) -> dict[str, str] | None:
    """What the trigger waits for and is so now, in words; None where the newest reading is not to be had or too old."""
    snapshot = _snapshot(row)
    if snapshot is None:
        return None
    if row.kind == Kind.GANG_WAITS:
        return {name: f"{name} waits for its topology" for name in selectors.waiting_gangs(snapshot)}
    count = selectors.little_used(snapshot, row.models_in_scope, row.threshold["below_per_cent"])
    have, whose = ("has", "its") if count == 1 else ("have", "their")
    words = f"{plural(count, 'node')} {have} less than {row.threshold['below_per_cent']} % of {whose} GPUs in use"
    return {"nodes": words} if count >= row.threshold["least_nodes"] else {}


def _snapshot(row: Routine) -> Snapshot | None:
    found = inventory.newest(row.source)
    if found is None or (timezone.now() - found[0].observed_at).total_seconds() > max(60, 6 * row.source.period_s):
        return None
    try:
        return restrict(found[1], row.cluster)
    except InputError:
        return None


# --- rules ----------------------------------------------------------------------------------------------------------
def _own(user: Any, routine_id: int) -> Routine:
    require(user, "plans.request_plan")
    row = selectors.routine_for(user, routine_id)
    if row.owner_id != user.pk and not user.has_perm("plans.approve_plan"):
        raise Denied(f"Routine {routine_id} is {row.owner}'s: they or an approver may change it.")
    return row


def _refuse(name: str, kind: str, reason: str) -> None:
    if kind not in Kind.values:
        raise FieldError("kind", "choose set times or one of the triggers")
    if not name.strip():
        raise FieldError("name", "give it a name: its plans carry it")
    if not reason.strip():
        raise FieldError("reason", "say why: its plans carry it")


def _when(kind: str, cron: str, zone: str, skip_days: list[str], threshold: dict[str, int]) -> dict[str, Any]:
    if kind != Kind.SCHEDULE:
        return {"cron": "", "threshold": _checked(Kind(kind), threshold)}
    if wrong := wrong_zone(zone):
        raise FieldError("zone", wrong)
    if wrong := wrong_cron(cron, zone, timezone.now()):
        raise FieldError("cron", wrong)
    return {"cron": " ".join(cron.split()), "zone": zone, "skip_days": _days(skip_days)}


def _checked(kind: Kind, threshold: dict[str, int]) -> dict[str, int]:
    found = {}
    for name in ASKED_WITH[kind]:
        low, high, usual = TRIGGER_RANGES[name]
        value = threshold.get(name, usual)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise FieldError(name, f"a whole number from {low:,} to {high:,} {TRIGGER_LABELS[name][1]}")
        found[name] = value
    return found


def _days(days: list[str]) -> list[str]:
    if len(days) > MOST_SKIPPED:
        raise FieldError("skip_days", f"at most {MOST_SKIPPED} days")
    for day in days:
        try:
            date.fromisoformat(day)
        except ValueError as error:
            raise FieldError("skip_days", f"{day[:20]!r} is no day: write 2026-12-24") from error
    return sorted({date.fromisoformat(day).isoformat() for day in days})


def _write_down(row: Routine, actor: Any, action: str, reason: str, detail: dict[str, Any] | None = None) -> None:
    audit.record(
        actor=actor, action=action, target_kind="routine", target_id=row.pk, reason=reason,
        detail={"name": row.name, **(detail or {})},
    )  # fmt: skip
    publish("plans", action, routine=row.pk)
