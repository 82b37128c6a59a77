"""Where a plan stands (the state line) and what this person can do about it (the approval box)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from console.plans import lifecycle
from console.plans.choices import NOT_POSSIBLE, OBSERVED, REPORT, State, StepState
from console.plans.models import Plan
from console.plans.selectors.acts import last_act
from console.plans.selectors.checks import (
    REST_NEXT_STEP,
    STALE_NEXT_STEP,
    Check,
    approval_checks,
    rest_holds,
    resume_checks,
    start_checks,
)
from console.plans.selectors.lists import WaveRow
from console.plans.selectors.rest import left_out
from console.plans.selectors.returning import rollback_checks
from console.plans.selectors.rules import approvals_of
from console.ui.figures import clock, duration, plural
from console.ui.tones import look_of


@dataclass(frozen=True, slots=True)
class Stage:
    """One mark of the state line; ``state`` is done, now, bad or "" (still to come)."""

    label: str
    fact: str
    state: str

    @property
    def icon(self) -> str:
        return {"done": "circle-check", "now": "circle-dot", "bad": "alert-triangle"}.get(self.state, "circle")


@dataclass(frozen=True, slots=True)
class Box:
    """What can be done by whom now.  An action that cannot be used is not offered, and ``why`` says so."""

    title: str
    checks: list[Check]  # without that of the state: the pill beside the title says it
    actions: frozenset[str]
    why: list[str] = field(default_factory=list)
    next_steps: list[str] = field(default_factory=list)
    leaves_out: int = 0  # moves that go with "leave-out"


# --- the state line --------------------------------------------------------------------------------------------------
_COMPUTED, _CHECKED, _READY, _APPROVAL, _WAVE_1, _WAVES, _VERIFY, _DONE, _PAST = range(9)
_REACHED = {
    State.REQUESTED: _COMPUTED, State.PLANNING: _COMPUTED, State.FAILED: _COMPUTED, State.CANCELLED: _COMPUTED,
    State.NOTHING_TO_DO: _READY, State.PROPOSED: _APPROVAL, State.REJECTED: _APPROVAL, State.STALE: _APPROVAL,
    State.EXPIRED: _APPROVAL, State.APPROVED: _WAVE_1, State.SUCCEEDED: _PAST,
}  # fmt: skip
_BAD = {State.FAILED, State.CANCELLED, State.REJECTED, State.STALE, State.EXPIRED, State.HALTED, State.ABORTED}
_WORDS = {State.PLANNING: "Computing", State.REQUESTED: "Requested", State.NOTHING_TO_DO: "Nothing to do"}


def stages(plan: Plan, waves: Sequence[WaveRow]) -> list[Stage]:
    """Computed, Checked, Ready, Approval, Wave 1, Waves, Verify, Done: the present one says how it is."""
    state = State(plan.state)
    now = _present(plan, state, waves)
    rest = f"Waves 2–{len(waves)}" if len(waves) > 2 else "Wave 2" if len(waves) == 2 else ""
    later = plural(sum(wave.moves for wave in waves[1:]), "move")
    labels = [
        ("Computed", _took(plan)),
        ("Checked", _clock(plan.checked_at)),
        ("Ready", _clock(plan.proposed_at)),
        ("Approval", _clock(plan.approved_at)),
        ("Wave 1", plural(waves[0].moves, "move") if waves else ""),
        (rest, later),
        ("Verify", ""),
        ("Done", _clock(plan.ended_at) if state == State.SUCCEEDED else ""),
    ]
    if plan.shown_state in (OBSERVED, REPORT):
        return [
            *(Stage(label, fact, "done") for label, fact in labels[:_APPROVAL]),
            Stage(look_of(plan.shown_state).label, "", "now"),
        ]
    drawn = [_stage(place, label, fact, now, state, plan) for place, (label, fact) in enumerate(labels)]
    return [stage for stage in drawn if stage.label]


def _clock(at: datetime | None) -> str:
    return clock(at) if at else ""


def _took(plan: Plan) -> str:
    """How long the planner was at it."""
    begun, ended = plan.planning_at, plan.proposed_at
    return duration((ended - begun).total_seconds()) if begun and ended else ""


def _present(plan: Plan, state: State, waves: Sequence[WaveRow]) -> int:
    """Place of the present mark; one past the end where all is done."""
    if plan.started_at and state != State.SUCCEEDED:
        return _present_wave(waves)
    if state in (State.CANCELLED, State.EXPIRED, State.FAILED) and plan.proposed_at:
        return _APPROVAL
    return _REACHED[state]


def _present_wave(waves: Sequence[WaveRow]) -> int:
    """The first wave of which something is still to come; after the last one the emptied nodes are counted."""
    ended = [wave.waiting == wave.in_flight == 0 for wave in waves]
    if all(ended):
        return _VERIFY
    return _WAVES if ended[0] else _WAVE_1


def _stage(place: int, label: str, fact: str, now: int, state: State, plan: Plan) -> Stage:
    if place < now:
        return Stage(label, fact, "done")
    if place > now:
        return Stage(label, fact if place in (_WAVE_1, _WAVES) else "", "")
    if state in _BAD:
        return Stage(f"{label}: {state.label.lower()}" if label else "", _clock(plan.ended_at), "bad")
    word = f"{label}: paused" if state == State.PAUSED else _WORDS.get(state, label)
    if plan.shown_state == NOT_POSSIBLE:
        word = look_of(NOT_POSSIBLE).label
    return Stage(word, fact, "now")


# --- the box ---------------------------------------------------------------------------------------------------------
def box(user: Any, plan: Plan) -> Box:
    """Everything the approval box says to this person."""
    state = State(plan.state)
    found = _box(user, plan, state)
    return replace(found, checks=[check for check in found.checks if check.code != "state"])


def _box(user: Any, plan: Plan, state: State) -> Box:
    if state == State.PROPOSED:
        return _decide(user, plan)
    if state == State.APPROVED:
        return _start(user, plan)
    if state in lifecycle.RUNNING:
        return _steer(user, plan)
    if state in lifecycle.COMPUTING:
        return _wait(user, plan)
    return _ended(user, plan)


def _observed(user: Any, plan: Plan) -> Box:
    """Nobody can approve it: what it says is to be taken and done elsewhere."""
    acts = next(check for check in approval_checks(user, plan) if check.code == "acts")
    actions = {"cancel"} if _may_cancel(user, plan) else set()
    return Box(look_of(OBSERVED).label, [acts], frozenset(actions), [acts.reason], [acts.next_step])


def _decide(user: Any, plan: Plan) -> Box:
    if not plan.source.acts:
        return _observed(user, plan)
    checks = approval_checks(user, plan)
    failing = [check for check in checks if not check.holds]
    actions = set()
    why = [check.reason for check in failing]
    next_steps = [check.next_step for check in failing if check.next_step]
    if not user.has_perm("plans.approve_plan"):
        why.insert(0, f"Your role ({user.get_role_display().lower()}) may not approve plans.")
        next_steps = next_steps or ["An approver decides; this page shows it at once."]
    elif plan.proposer_id != user.pk:
        actions.add("reject")
        if not failing:
            actions.add("approve")
        actions |= _glass(user, plan, checks)
    if _may_cancel(user, plan):
        actions.add("cancel")
    title = look_of(REPORT).label if any(check.code == "level" for check in failing) else "Approval"
    return Box(title, checks, frozenset(actions), why, next_steps)


def _start(user: Any, plan: Plan) -> Box:
    checks = start_checks(user, plan)
    failing = [check for check in checks if not check.holds]
    actions = {"cancel"} if _may_cancel(user, plan) else set()
    why = [check.reason for check in failing]
    if not user.has_perm("plans.run_plan"):
        why.insert(0, f"Your role ({user.get_role_display().lower()}) may not run plans.")
    elif not failing:
        actions.add("start")
    else:
        actions |= _glass(user, plan, checks)
    return Box("Start", checks, frozenset(actions), why, [check.next_step for check in failing if check.next_step])


def _steer(user: Any, plan: Plan) -> Box:
    in_flight = plan.steps.filter(state=StepState.ISSUED).count()
    words = "nothing is in flight" if in_flight == 0 else f"{plural(in_flight, 'move')} in flight will end on their own"
    if not user.has_perm("plans.run_plan"):
        return Box("Run", [], frozenset(), [f"Your role ({user.get_role_display().lower()}) may not steer runs."])
    if plan.state == State.EXECUTING:
        return Box("Run", [], frozenset({"pause", "abort"}))  # what each means is said beside it
    checks = [*resume_checks(user, plan), rest_holds(plan)]
    failing = [check for check in checks if not check.holds]
    why = [check.reason for check in failing]
    next_steps = [check.next_step for check in failing if check.next_step]
    hold = {"pause"} if plan.waits_for else set()
    if not failing:
        next_steps = [f"Resume drops the chains of failed moves, checks the rest and goes on; {words}."]
        return Box("Run", checks, frozenset({"resume", "abort"} | hold), why, next_steps)
    if {check.code for check in failing} != {"rest"} or in_flight:
        return Box("Run", checks, frozenset({"abort"} | hold | _glass(user, plan, checks)), why, next_steps)
    return _leave_out(plan, checks, why)


def _glass(user: Any, plan: Plan, checks: list[Check]) -> set[str]:
    """Broken where all that fails is soft, or where a second approval is all that is missing."""
    failing = [check for check in checks if not check.holds]
    soft = bool(failing) and all(check.soft for check in failing)
    alone = plan.state == State.PROPOSED and not failing and approvals_of(plan).needed > 1
    return {"break-glass"} if (soft or alone) and user.has_perm("plans.break_glass") else set()


def _leave_out(plan: Plan, checks: list[Check], why: list[str]) -> Box:
    """Nothing speaks against going on but what has changed."""
    out, left = left_out(plan)
    if left == 0:
        return Box("Run", checks, frozenset({"abort"}), [*why, "No chain is left without them."], [REST_NEXT_STEP])
    words = (
        f"Leave out {plural(out, 'move')}, all that is left of chains that changed or lost a move, and have the other "
        f"{left:,} checked again. "
        f"The approval of digest {plan.approved_digest[:8]} covers them: they are a part of what was signed, and "
        "nothing is added. Then resume."
    )
    return Box("Run", checks, frozenset({"leave-out", "abort"}), why, [words], leaves_out=out)


def _wait(user: Any, plan: Plan) -> Box:
    actions = {"cancel"} if _may_cancel(user, plan) else set()
    if user.has_perm("plans.request_plan") and not plan.stop_requested:
        actions.add("stop")
    return Box("Computing", [], frozenset(actions))


def _ended(user: Any, plan: Plan) -> Box:
    state = State(plan.state)
    title = {State.SUCCEEDED: "Done", State.NOTHING_TO_DO: "Nothing to do"}.get(
        state, f"Run {state.label.lower()}" if plan.started_at else state.label
    )
    if plan.shown_state == NOT_POSSIBLE:
        title = look_of(NOT_POSSIBLE).label
    actions = set()
    if user.has_perm("plans.request_plan"):
        # A rollback is asked for anew on the page of the plan that it takes back.
        actions = {"again"} if plan.undoes_id is None else set()
        actions |= {"drop"} if state == State.STALE else set()
    if user.has_perm("plans.request_plan") and plan.started_at and all(c.holds for c in rollback_checks(plan)):
        actions.add("roll-back")
    checks = approval_checks(user, plan) if state == State.STALE else []
    why = _why_ended(plan, state)
    next_steps = [STALE_NEXT_STEP] if "drop" in actions else []
    if plan.shown_state == NOT_POSSIBLE:
        next_steps.append("See what is in the way under the reasons. Where it is a lock, ask its owner for a release "
                          "(Plans, Locks by owners); or ask for less.")  # fmt: skip
    if "roll-back" in actions:
        next_steps.append("Taking it back is a plan of its own: you see what goes back and what cannot, another person "
                          "approves it, and it runs under the same checks.")  # fmt: skip
    return Box(title, checks, frozenset(actions), why, next_steps)


def _why_ended(plan: Plan, state: State) -> list[str]:
    if not plan.reason or state == State.SUCCEEDED:
        return []
    if state == State.NOTHING_TO_DO:
        return [plan.reason]
    act = last_act(plan)
    if act is not None and act.actor:
        return [act.words]
    return [f"The plan {'is stale' if state == State.STALE else f'was {state.label.lower()}'}: {plan.reason}"]


def _may_cancel(user: Any, plan: Plan) -> bool:
    own = plan.proposer_id == user.pk
    return bool(user.has_perm("plans.request_plan") and (own or user.has_perm("plans.approve_plan")))
