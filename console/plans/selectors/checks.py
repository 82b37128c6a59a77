"""The conditions of an action: the page draws them, the service obeys them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from console.inventory.choices import WATCHED
from console.plans.choices import State, Verdict
from console.plans.models import Plan
from console.plans.selectors.acts import because
from console.plans.selectors.freezing import freeze_over, frozen_words
from console.plans.selectors.holding import held_targets, held_words
from console.plans.selectors.passing import GLASS_NEXT, gate_of, passed
from console.plans.selectors.resting import disturbed
from console.plans.selectors.rules import level_of
from console.policies.choices import OBSERVE
from console.ui.ages import limits
from console.ui.figures import duration, plural

STALE_NEXT_STEP = "Drop the moves that changed and check again, or compute a new plan."
NEXT_STEPS = {
    State.REQUESTED: "Wait until it is computed.",
    State.PLANNING: "Wait until it is computed.",
    State.PROPOSED: "It needs an approval first.",
    State.APPROVED: "Start it.",
    State.STALE: STALE_NEXT_STEP,
}
TWICE = "You have approved this plan already: the other approval must be somebody else's."
REST_NEXT_STEP = "Abort this plan and compute a new one for what is left."
REST_CHANGED = "Leave out what changed and check again, or abort and compute a new plan."


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of an action: the page draws it, the service obeys it."""

    code: str
    label: str
    holds: bool
    fact: str
    reason: str = ""  # the sentence of the refusal
    next_step: str = ""
    soft: bool = False  # holds while the glass is broken


def approval_checks(user: Any, plan: Plan) -> list[Check]:
    """In the order in which a refusal names them."""
    now = timezone.now()
    checks = [
        _in_state(plan, State.PROPOSED, "Awaiting approval"),
        _acts(plan),
        _not_own(user, plan),
        *_above_observing(plan),
        *_not_twice(user, plan),
        *_stands(plan, now),
    ]
    return passed(plan, checks)


def start_checks(user: Any, plan: Plan) -> list[Check]:
    now = timezone.now()
    checks = [_in_state(plan, State.APPROVED, "Approved"), _acts(plan), *_stands(plan, now), *_in_window(plan, now)]
    return passed(plan, checks)


def _stands(plan: Plan, now: datetime) -> list[Check]:
    """What time and the world may have taken away since it was proposed."""
    return [
        _in_time(plan, now),
        _fresh(plan, now),
        _not_frozen(plan, now),
        *_rested(plan, now),
        *_kept_for_others(plan),
        _holds(plan),
    ]


def resume_checks(user: Any, plan: Plan) -> list[Check]:
    now = timezone.now()
    stopped = plan.state in (State.PAUSED, State.HALTED)
    words = plan.get_state_display().lower()
    checks = [
        Check("state", "Paused or halted", stopped, "", f"Plan {plan.pk} is {words}: there is nothing to resume."),
        _fresh(plan, now),
        _not_frozen(plan, now),
        *_in_window(plan, now),
        *_kept_for_others(plan),
    ]
    return passed(plan, checks)


def rest_holds(plan: Plan) -> Check:
    """Of a stopped run, as last checked; resuming checks again whatever this says."""
    hit = len({move for change in plan.changes for move in change["moves"]})
    reason = f"{plural(hit, 'move')} of what is left no longer hold{'s' if hit == 1 else ''}."
    return Check("rest", "What is left holds", not plan.changes, f"{hit:,} changed" if hit else _checked(plan), reason)


def _checked(plan: Plan) -> str:
    at = plan.checked_at
    return "not checked" if at is None else f"checked {duration((timezone.now() - at).total_seconds())} ago"


def _in_state(plan: Plan, wanted: State, label: str) -> Check:
    words = plan.get_state_display().lower()
    told = "" if plan.state == wanted else because(plan)
    next_step = NEXT_STEPS.get(State(plan.state), "" if plan.is_running else "Compute a new plan.")
    return Check(
        "state",
        label,
        plan.state == wanted,
        "" if plan.state == wanted else words,
        f"Plan {plan.pk} is {words}{told}.",
        next_step=next_step,
    )


def _acts(plan: Plan) -> Check:
    source = plan.source
    kind = source.get_kind_display().lower()
    watched = source.kind in WATCHED
    reason = (
        f"{source.name}: this cluster is only observed. Slackline lists and watches it and may change nothing there, "
        f"so that no plan runs on it."
        if watched
        else f"{source.name} is a {kind}: Slackline can only look at it, no plan runs on it."
    )
    step = "Take the moves from the CSV or JSON and run them with your own tools."
    if watched:
        step += " Only a source that can act would change that; a Kubernetes cluster cannot in this version."
    return Check("acts", "Source can act", source.acts, "only observed" if watched else kind, reason, step)


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


def _in_window(plan: Plan, now: datetime) -> list[Check]:
    """Asked only where windows apply."""
    gate = gate_of(plan, now)
    if not gate.ruled:
        return []
    reason = f"Closed: {gate.why}; {gate.words}."
    return [Check("window", "Inside its windows", gate.open, gate.words, reason, GLASS_NEXT, soft=True)]


def _rested(plan: Plan, now: datetime) -> list[Check]:
    """Asked only where another plan has moved workloads of this one since it was computed."""
    found = disturbed(plan, now)
    if not found:
        return []
    first = found[0]
    verb = "rests" if len(found) == 1 else "rest"
    reason = (
        f"{plural(len(found), 'workload')} of it {verb} after a move, first {first.owner}, by plan {first.plan_id}."
    )
    step = "Compute a new plan, which leaves them alone, or wait until they have rested."
    return [Check("rested", "No workload rests", False, f"{len(found):,} rest", reason, step, soft=True)]


def _kept_for_others(plan: Plan) -> list[Check]:
    """Asked only where moves would reach nodes that another plan holds."""
    found = held_targets(plan)
    if not found:
        return []
    reason = f"{held_words(found)}, and moves of this plan would go there."
    step = "Release that hold, or compute a new plan when it has ended."
    return [Check("held", "No target is held", False, f"{len(found):,} held", reason, step)]


def _above_observing(plan: Plan) -> list[Check]:
    """Asked only where somebody decided that plans are reports."""
    level = level_of(plan)
    if level.value != OBSERVE:
        return []
    reason = f"{level.origin[:1].upper()}{level.origin[1:]} is at the level of {level.words}: plans there are reports."
    step = "Take its moves from the CSV or JSON, or have the level raised under Policies."
    return [Check("level", "May be approved", False, level.words, reason, step)]


def _not_twice(user: Any, plan: Plan) -> list[Check]:
    """Asked only of a plan that somebody has approved and that waits for another approval."""
    given = [one.user for one in plan.decisions.all() if one.verdict == Verdict.APPROVED]
    if plan.state != State.PROPOSED or not given:
        return []
    own = any(one.pk == user.pk for one in given)
    who = "you have approved" if own else f"{given[0].get_username()} approved"
    return [Check("twice", "Two different approvers", not own, who, TWICE, "Ask another approver.", soft=True)]


def _in_time(plan: Plan, now: datetime) -> Check:
    left = None if plan.expires_at is None else (plan.expires_at - now).total_seconds()
    held = left is not None and left > 0
    return Check(
        "time",
        "In time",
        held,
        f"{duration(left)} left" if held else "time is up",
        f"Plan {plan.pk} expired{'' if plan.expires_at is None else f' at {plan.expires_at:%H:%M} UTC'}: proposals and "
        "approvals have an end.",
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


def stale_words(plan: Plan, changes: Iterable[dict[str, Any]]) -> str:
    hit = len({move for change in changes for move in change["moves"]})
    moves = plan.headline.get("moves", 0)
    return f"{hit:,} of {plural(moves, 'move')} no longer hold{'s' if moves == 1 else ''}"


def _holds(plan: Plan) -> Check:
    moves = plan.headline.get("moves", 0)
    hit = len({move for change in plan.changes for move in change["moves"]})
    return Check(
        "holds",
        "The move holds" if moves == 1 else f"All {moves:,} moves hold",
        not plan.changes,
        f"{hit} stale" if plan.changes else _checked(plan),
        f"{stale_words(plan, plan.changes)}.",
        STALE_NEXT_STEP,
    )
