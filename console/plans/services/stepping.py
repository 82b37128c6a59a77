"""What the executor writes: its lease, each step by compare-and-set, and how the run ends."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from console.audit import services as audit
from console.live.services import publish
from console.plans import lifecycle
from console.plans.choices import Kind, State, StepState
from console.plans.milestones import Milestone, reach
from console.plans.models import Plan, RoomNode, Step
from console.plans.services import holding, locks
from console.plans.services.transition import change, read
from console.ui.figures import plural

LEASE = timedelta(seconds=30)
WINDOW = "window"  # of Plan.waits_for
_GOAL = {Kind.CONSOLIDATION: "emptied", Kind.ROLLBACK: "back"}  # what a run of the kind counts at its end


def take_run(plan_id: int, worker: str) -> Plan | None:
    """Take the lease on a run that nobody holds or whose holder is lost; None otherwise: then there is nothing to do.

    A plan that was paused, halted or aborted can be taken while it still has moves in flight, to see them to their end;
    one that rests not before it is due, however many messages are still on their way.
    """
    now = timezone.now()
    due = Q(looks_at__isnull=True) | Q(looks_at__lte=now)
    free = Q(worker="") & due | Q(heartbeat_at__isnull=True) | ~Q(worker="") & Q(heartbeat_at__lt=now - LEASE)
    rows = Plan.objects.filter(free, Q(state=State.EXECUTING) | Q(steps__state=StepState.ISSUED), pk=plan_id)
    if not rows.exists():
        return None
    taken = Plan.objects.filter(free, pk=plan_id).update(worker=worker, heartbeat_at=now)
    return read(plan_id) if taken == 1 else None


def beat(plan_id: int, worker: str) -> Plan | None:
    """Show that the executor lives; the plan as it is now, or None if the lease is somebody else's."""
    now = timezone.now()
    if Plan.objects.filter(pk=plan_id, worker=worker).update(heartbeat_at=now) != 1:
        return None
    plan = read(plan_id)
    locks.extend(plan)
    return plan


def let_go(plan: Plan, worker: str) -> bool:
    """Give the lease back unless the plan runs again; locks of a finished plan go with it."""
    with transaction.atomic():
        idle = Plan.objects.filter(pk=plan.pk, worker=worker).exclude(state=State.EXECUTING)
        if idle.update(worker="") != 1:
            return False
        if read(plan.pk).state in lifecycle.FINAL:
            locks.release(plan)
    return True


def rest(plan: Plan, worker: str, seconds: float) -> bool:
    """Give the worker back while nothing but checkpoints are waited for; the locks stay, the sweep sends it out again.

    False if the run is no longer this worker's, or was stopped in this very moment.
    """
    now = timezone.now()
    mine = Plan.objects.filter(pk=plan.pk, worker=worker, state=State.EXECUTING)
    return mine.update(worker="", heartbeat_at=now, looks_at=now + timedelta(seconds=seconds)) == 1


def release_lease(plan_id: int, worker: str) -> None:
    """Give the lease back as it is; the sweep sends the plan out again if there is anything left to do."""
    Plan.objects.filter(pk=plan_id, worker=worker).update(worker="")


def claim(step: Step, worker: str) -> bool:
    """Compare-and-set: of two executors one issues the move."""
    now = timezone.now()
    waiting = Step.objects.filter(pk=step.pk, state=StepState.WAITING, plan__state=State.EXECUTING, plan__worker=worker)
    if waiting.update(state=StepState.ISSUED, worker=worker, issued_at=now) != 1:
        return False
    step.state, step.issued_at = StepState.ISSUED, now
    publish(f"plan:{step.plan_id}", "step.issued", step=step.index, plan=step.plan_id)
    return True


def record_outcome(step: Step, state: StepState, detail: str, requests: tuple[int, int] | None = None) -> bool:
    """The end of a step, once: row, audit entry and event together.  ``requests``: (served, lost), None unknown."""
    served, lost = requests or (None, None)
    with transaction.atomic():
        before = StepState.WAITING if step.issued_at is None else StepState.ISSUED
        rows = Step.objects.filter(pk=step.pk, state=before)
        ends = {"ended_at": timezone.now(), "requests_served": served, "requests_lost": lost}
        if rows.update(state=state, detail=detail, **ends) != 1:
            return False
        audit.record(
            actor="executor",
            action=f"step.{state.value}",
            target_kind="plan",
            target_id=str(step.plan_id),
            reason=detail if state == StepState.FAILED else "",
            detail={"step": step.index, "uid": str(step.uid), "pod": step.pod, "from": step.source_node,
                    "to": step.target_node},
        )  # fmt: skip
        publish(f"plan:{step.plan_id}", f"step.{state.value}", step=step.index, plan=step.plan_id)
    reach(Milestone.STEP_RECORDED)
    return True


def halt(plan: Plan, worker: str, reason: str, changes: list[dict[str, Any]] | None = None) -> Plan:
    """Stop after the wave; a person decides whether to go on."""
    return change(
        plan.pk,
        State.HALTED,
        actor="executor",
        reason=reason,
        narrow={"worker": worker},
        detail={"changes": (changes or [])[:20]},
        changes=changes or [],
    )


def pause_for_freeze(plan: Plan, reason: str) -> Plan:
    return change(plan.pk, State.PAUSED, actor="executor", reason=reason)


def wait_for_window(plan: Plan, worker: str, why: str) -> Plan:
    """Between two waves: the run goes on by itself when its windows open again (``sweeping.go_on``)."""
    return change(
        plan.pk,
        State.PAUSED,
        actor="executor",
        reason=f"Waits for its window and goes on by itself: {why}",
        narrow={"worker": worker},
        waits_for=WINDOW,
    )


def finish(plan: Plan, worker: str, reached: int | None, rooms: list[RoomNode], holds: bool) -> Plan:
    """All steps have ended.  ``reached`` counts what was promised and is so: empty nodes, or pods that are back.

    None where no reading was had.  ``rooms`` are the nodes to hold, where the cluster ``holds`` any.
    """
    ended = Step.objects.filter(plan=plan)
    counts = {
        state: ended.filter(state=state).count() for state in (StepState.SUCCEEDED, StepState.FAILED, StepState.DROPPED)
    }
    whole = counts[StepState.FAILED] + counts[StepState.DROPPED] == 0
    # A run that lost moves and empties nothing has won nothing: to call it done would hide that.
    won = counts[StepState.SUCCEEDED] > 0 and (whole or reached != 0)
    with transaction.atomic():
        kept = holding.begin(plan, rooms, holds)
        until = kept.get("held_until")
        held = {} if until is None else {"held_until": until.isoformat(), "held_for": kept["held_for"]}
        finished = change(
            plan.pk,
            State.SUCCEEDED if won else State.FAILED,
            actor="executor",
            reason=_summary(plan, counts, reached),
            narrow={"worker": worker},
            detail={_GOAL[Kind(plan.kind)]: reached, **{state.value: count for state, count in counts.items()}, **held},
            worker="",
            **kept,
            ended_at=timezone.now(),
        )
        if plan.undoes_id:
            holding.end_of_itself(plan.undoes_id, f"taken back by plan {plan.pk}")
        locks.release(plan)
        reach(Milestone.RUN_WRITTEN)
    reach(Milestone.RUN_COMMITTED)
    return finished


def _summary(plan: Plan, counts: dict[StepState, int], reached: int | None) -> str:
    moves = f"{counts[StepState.SUCCEEDED]:,} of {plural(plan.headline['moves'], 'move')} done"
    if counts[StepState.FAILED]:
        moves += f", {counts[StepState.FAILED]:,} failed, {counts[StepState.DROPPED]:,} not run"
    elif counts[StepState.DROPPED]:
        moves += f", {counts[StepState.DROPPED]:,} not run"
    return f"{moves}; {_reached_words(plan, reached)}"


def _reached_words(plan: Plan, reached: int | None) -> str:
    back = plan.kind == Kind.ROLLBACK
    if reached is None:
        return f"no reading of the {'pods that went back' if back else 'emptied nodes'}"
    goal = plan.headline.get("goal")
    if goal:
        return f"{reached:,} of {goal['wanted']:,} {goal['unit']} as asked"
    if back:
        return f"{reached:,} of {plural(plan.headline['moves'], 'pod')} stand where they stood"
    return f"{reached:,} of {plural(plan.headline['emptied'], 'node')} empty"
