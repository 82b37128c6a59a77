"""What people and services read about plans: rows, checks and lists."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.utils import timezone

from console.plans import lifecycle
from console.plans.choices import FreezeScope, State, StepState
from console.plans.models import Freeze, KeptNode, NodeLock, Plan, PlanMap, Step
from console.tenancy.services import require
from console.ui.ages import limits
from console.ui.figures import duration

HEAVY = ("document", "impact", "curve")
STALE_NEXT_STEP = "Drop the moves that changed and check again, or compute a new plan."
REST_NEXT_STEP = "Abort this plan and compute a new one for what is left."


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of an action: the page draws it, the service obeys it."""

    code: str
    label: str
    holds: bool
    fact: str
    reason: str = ""  # the sentence of the refusal
    next_step: str = ""


# --- conditions ------------------------------------------------------------------------------------------------------
def approval_checks(user: Any, plan: Plan) -> list[Check]:
    """In the order in which a refusal names them."""
    now = timezone.now()
    return [
        _in_state(plan, State.PROPOSED, "Awaiting approval"),
        _acts(plan),
        _not_own(user, plan),
        _in_time(plan, now),
        _fresh(plan, now),
        _not_frozen(plan, now),
        _holds(plan),
    ]


def start_checks(user: Any, plan: Plan) -> list[Check]:
    now = timezone.now()
    return [
        _in_state(plan, State.APPROVED, "Approved"),
        _acts(plan),
        _in_time(plan, now),
        _fresh(plan, now),
        _not_frozen(plan, now),
        _holds(plan),
    ]


def resume_checks(user: Any, plan: Plan) -> list[Check]:
    now = timezone.now()
    stopped = plan.state in (State.PAUSED, State.HALTED)
    words = plan.get_state_display().lower()
    return [
        Check("state", "Paused or halted", stopped, words, f"Plan {plan.pk} is {words}: there is nothing to resume."),
        _fresh(plan, now),
        _not_frozen(plan, now),
    ]


def _in_state(plan: Plan, wanted: State, label: str) -> Check:
    words = plan.get_state_display().lower()
    because = f" ({plan.reason.rstrip('.')})" if plan.reason else ""
    next_step = STALE_NEXT_STEP if plan.state == State.STALE else "" if plan.is_running else "Compute a new plan."
    return Check(
        "state", label, plan.state == wanted, words, f"Plan {plan.pk} is {words}{because}.", next_step=next_step
    )


def _acts(plan: Plan) -> Check:
    source = plan.source
    return Check(
        "acts",
        "Source can act",
        source.acts,
        source.get_kind_display().lower(),
        f"{source.name} is a {source.get_kind_display().lower()}: Slackline can only look at it, no plan runs on it.",
        "Take the moves from the CSV or JSON and run them with your own tools.",
    )


def _not_own(user: Any, plan: Plan) -> Check:
    own = plan.proposer_id == user.pk
    return Check(
        "own",
        "Not your own proposal",
        not own,
        "you asked" if own else f"{plan.proposer.get_username()} asked",
        "You asked for this plan: somebody else must approve it.",
        "Ask an approver.",
    )


def _in_time(plan: Plan, now: datetime) -> Check:
    left = None if plan.expires_at is None else (plan.expires_at - now).total_seconds()
    held = left is not None and left > 0
    return Check(
        "time",
        "In time",
        held,
        f"{duration(left)} left" if held else "time is up",
        f"Plan {plan.pk} expired: a plan is valid for 30 minutes.",
        "Compute a new plan.",
    )


def _fresh(plan: Plan, now: datetime) -> Check:
    source = plan.source
    limit = limits(source.period_s)[1]
    at = source.last_observed_at
    age = None if at is None else (now - at).total_seconds()
    words = "never observed" if age is None else f"last seen {duration(age)} ago"
    return Check(
        "fresh",
        f"Data fresh, {plan.cluster}",
        age is not None and age < limit,
        duration(age),
        f"{source.name} was {words}, later than {duration(limit)}: nothing is decided on old data.",
        f"Wait for a new reading{f' ({source.last_error})' if source.last_error else ''}.",
    )


def _not_frozen(plan: Plan, now: datetime) -> Check:
    freeze = freeze_over(plan, now)
    if freeze is None:
        return Check("freeze", f"No freeze in {plan.cluster}", True, "")
    return Check(
        "freeze",
        f"No freeze in {plan.cluster}",
        False,
        f"until {freeze.expires_at:%H:%M}",
        frozen_words(freeze),
        "Wait until it ends, or have it lifted.",
    )


def _holds(plan: Plan) -> Check:
    moves = plan.headline.get("moves", 0)
    hit = len({move for change in plan.changes for move in change["moves"]})
    at = plan.checked_at
    checked = "not checked" if at is None else f"checked {duration((timezone.now() - at).total_seconds())} ago"
    return Check(
        "holds",
        f"All {moves:,} moves hold",
        not plan.changes,
        f"{hit} stale" if plan.changes else checked,
        f"{hit:,} of {moves:,} moves no longer hold.",
        STALE_NEXT_STEP,
    )


# --- freezes ---------------------------------------------------------------------------------------------------------
def active_freezes(now: datetime | None = None) -> list[Freeze]:
    """What is frozen now, widest first."""
    at = now or timezone.now()
    rows = Freeze.objects.filter(lifted_at__isnull=True, expires_at__gt=at).select_related("owner")
    order = list(FreezeScope.values)
    return sorted(rows, key=lambda freeze: (order.index(freeze.scope), freeze.pk))


def covers(freeze: Freeze, cluster: str, models: Iterable[str]) -> bool:
    if freeze.scope == FreezeScope.FLEET:
        return True
    if freeze.cluster != cluster:
        return False
    return freeze.scope == FreezeScope.CLUSTER or freeze.gpu_model in set(models)


def freeze_over(plan: Plan, now: datetime | None = None) -> Freeze | None:
    models = plan.headline.get("models", [])
    return next((freeze for freeze in active_freezes(now) if covers(freeze, plan.cluster, models)), None)


def frozen_words(freeze: Freeze) -> str:
    until = f"{freeze.expires_at:%H:%M} UTC"
    return f"Frozen: {freeze.where}, by {freeze.owner.get_username()}, until {until}: {freeze.reason}"


# --- lists -----------------------------------------------------------------------------------------------------------
def plans(viewer: Any) -> QuerySet[Plan]:
    require(viewer, "plans.view_plan")
    return Plan.objects.select_related("source", "proposer", "approver").defer(*HEAVY)


def plans_awaiting_approval(viewer: Any) -> QuerySet[Plan]:
    return plans(viewer).filter(state=State.PROPOSED)


def plans_running(viewer: Any) -> QuerySet[Plan]:
    return plans(viewer).filter(state__in=lifecycle.RUNNING)


def plan_detail(viewer: Any, plan_id: int) -> Plan:
    """Raises ``Plan.DoesNotExist``; the right is asked for first, so that a no tells nothing of what exists."""
    require(viewer, "plans.view_plan")
    rows = Plan.objects.select_related("source", "proposer", "approver", "parent", "decision__user")
    return rows.defer("document").get(pk=plan_id)


def plan_document(viewer: Any, plan_id: int) -> tuple[bytes, str]:
    """The canonical JSON and its digest; empty where the plan has no answer (yet)."""
    require(viewer, "plans.view_plan")
    plan = Plan.objects.only("document", "digest").get(pk=plan_id)
    return bytes(plan.document or b""), plan.digest


def plan_map(viewer: Any, plan_id: int) -> PlanMap:
    require(viewer, "plans.view_plan")
    return PlanMap.objects.get(plan_id=plan_id)


def moves(viewer: Any, plan_id: int) -> QuerySet[Step]:
    require(viewer, "plans.view_plan")
    return Step.objects.filter(plan_id=plan_id)


def kept_nodes(viewer: Any, plan_id: int) -> QuerySet[KeptNode]:
    require(viewer, "plans.view_plan")
    return KeptNode.objects.filter(plan_id=plan_id)


def freezes(viewer: Any) -> QuerySet[Freeze]:
    require(viewer, "plans.view_plan")
    return Freeze.objects.select_related("owner", "lifted_by")


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """Nodes that stay, by their first reason."""

    reason: str
    label: str
    nodes: int


def kept_by_reason(viewer: Any, plan_id: int) -> list[ReasonRow]:
    counted = kept_nodes(viewer, plan_id).order_by().values("reason").annotate(nodes=Count("id"))
    rows = counted.order_by("-nodes", "reason")
    return [ReasonRow(row["reason"], row["reason"].replace("_", " "), row["nodes"]) for row in rows]


@dataclass(frozen=True, slots=True)
class WaveRow:
    """A wave as it is run."""

    number: int  # from 1
    moves: int
    waiting: int
    in_flight: int
    done: int
    failed: int
    dropped: int


def waves(viewer: Any, plan_id: int) -> list[WaveRow]:
    rows = moves(viewer, plan_id).order_by().values("run_wave", "state").annotate(count=Count("id"))
    by_wave: dict[int, dict[str, int]] = {}
    for row in rows:
        by_wave.setdefault(row["run_wave"], {})[row["state"]] = row["count"]
    return [
        WaveRow(
            number=wave + 1,
            moves=sum(states.values()),
            waiting=states.get(StepState.WAITING, 0),
            in_flight=states.get(StepState.ISSUED, 0),
            done=states.get(StepState.SUCCEEDED, 0),
            failed=states.get(StepState.FAILED, 0),
            dropped=states.get(StepState.DROPPED, 0),
        )
        for wave, states in sorted(by_wave.items())
    ]


@dataclass(frozen=True, slots=True)
class LockRow:
    """The locks of one plan, as one thing."""

    nodes: int
    owner: str
    since: datetime
    expires_at: datetime


def lock_of(viewer: Any, plan_id: int) -> LockRow | None:
    require(viewer, "plans.view_plan")
    rows = NodeLock.objects.filter(plan_id=plan_id)
    count = rows.count()
    if count == 0:
        return None
    first = rows.select_related("owner").first()
    if first is None:
        return None
    since = rows.aggregate(since=Min("since"))["since"]
    return LockRow(count, first.owner.get_username(), since, first.expires_at)


def may_listen(user: Any, topic: str) -> bool:
    """Who may hear of plans and freezes."""
    return bool(user.has_perm("plans.view_plan"))
