"""Moves that go right after a checkpoint: which may go now, which wait on, and which have waited long enough."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from console.audit import services as audit
from console.plans import selectors
from console.plans.choices import StepState
from console.plans.models import Plan, Step
from console.plans.services import dropping
from console.plans.services.transition import announce
from console.ui.figures import duration
from scheduler.cluster.snapshot import ABSENT, Snapshot
from scheduler.plan.checkpoints import told
from scheduler.plan.operations import LEAVE

LATE = timedelta(seconds=30)  # so long after its time a look is no longer one of a row


def take_up(plan: Plan) -> bool:
    """A worker looks again; whether nobody did for so long that a checkpoint may have grown old meanwhile.

    Time in which nobody looked is not time that was waited, so that a full queue leaves no move out.
    """
    if plan.looks_at is None:
        begin_anew(plan)  # it never rested, or its worker was lost before it did
        return False
    late = timezone.now() - plan.looks_at
    if late <= LATE:
        return False
    _due(plan).update(due_at=F("due_at") + late)
    return True


def ready(plan: Plan, steps: list[Step], snapshot: Snapshot, *, late: bool = False) -> list[Step]:
    """Of the steps of a wave those that go now; those that nobody waits for any longer are left out with their chains.

    Those that wait for nothing go first, and while any move is in flight nobody looks for checkpoints: the time of
    those that wait begins when nothing else holds them up.  ``snapshot`` is the reading on which the wave was judged;
    ``late``: nobody looked for a while before (``take_up``).
    """
    plain = [step for step in steps if step.checkpoint is None]
    if plain or not steps:
        return plain
    waiting = {step.pod for step in steps}
    rows = {key: pod for pod in range(len(snapshot.pod_name)) if (key := snapshot.pod_key(pod)) in waiting}
    found = [step for step in steps if _goes(plan, step, snapshot, rows.get(step.pod), late)]
    left = Step.objects.filter(plan=plan, run_wave=steps[0].run_wave, state=StepState.WAITING)
    if left.count() < len(steps):
        return []  # chains were left out: what remains is judged again before any of it goes
    if found:
        begin_anew(plan, found)
    return found


def nothing_else(plan: Plan, wave: int) -> bool:
    """All that is left of a run wave waits for checkpoints: a move that failed in it is a surprise now, not then."""
    left = Step.objects.filter(plan=plan, run_wave=wave, state=StepState.WAITING).only("checkpoint")
    return all(step.checkpoint is not None for step in left)


def begin_anew(plan: Plan, going: Sequence[Step] = ()) -> None:
    """The moves that wait have their whole time again, and a checkpoint that came while nobody looked is an old one."""
    _due(plan).exclude(pk__in=[step.pk for step in going]).update(due_at=None)


def _due(plan: Plan) -> QuerySet[Step]:
    return Step.objects.filter(plan=plan, due_at__isnull=False, state=StepState.WAITING)


def _goes(plan: Plan, step: Step, snapshot: Snapshot, pod: int | None, late: bool) -> bool:
    wait: dict[str, Any] = step.checkpoint or {}
    if pod is None:
        return True  # what is wrong with it is said when it is about to be sent
    last = int(snapshot.pod_checkpoint_s[pod])
    recent = last != ABSENT and snapshot.now_s - last + _behind_s(snapshot) <= wait["lost_after_s"]
    if step.due_at is None:
        _note_due(plan, step, snapshot, pod, timezone.now())
        return recent
    if last != ABSENT and (step.due_checkpoint_s is None or last > step.due_checkpoint_s):
        if recent or not late:
            return True
        _note_due(plan, step, snapshot, pod, step.due_at)
    limit = timedelta(seconds=wait["limit_s"])
    if timezone.now() < step.due_at + limit:
        return False
    if wait["otherwise"] == LEAVE:
        _leave_out(plan, step)
        return False
    _note_missed(plan, step, "moves anyway")
    return True


def _note_due(plan: Plan, step: Step, snapshot: Snapshot, pod: int, since: datetime) -> None:
    now, found, last = timezone.now(), told(snapshot, pod), int(snapshot.pod_checkpoint_s[pod])
    step.due_at, step.due_checkpoint_s = since, None if last == ABSENT else last
    step.checkpoint_at = None if found is None else now + timedelta(seconds=found[1] - _behind_s(snapshot))
    step.save(update_fields=["due_at", "due_checkpoint_s", "checkpoint_at"])
    announce(plan, "step.due", step=step.index)


def _behind_s(snapshot: Snapshot) -> float:
    """Seconds since the reading: while nothing changes, a quiet cluster's reading keeps its instant."""
    taken_at = datetime.fromisoformat(snapshot.taken_at)
    return max(0.0, (timezone.now() - taken_at).total_seconds())


def _note_missed(plan: Plan, step: Step, what: str) -> str:
    wait: dict[str, Any] = step.checkpoint or {}
    words = f"no checkpoint of {step.pod} within {duration(wait['limit_s'])}: {what}"
    detail = {"step": step.index, "pod": step.pod, **wait}
    audit.record(
        actor="executor", action="step.checkpoint_missed", target_kind="plan", target_id=plan.pk, reason=words,
        detail=detail,
    )  # fmt: skip
    return words


def _leave_out(plan: Plan, step: Step) -> None:
    """With its chain and what waits for that; what is left goes on, and is judged before it does."""
    with transaction.atomic():
        words = _note_missed(plan, step, "left out with its chain")
        dropping.drop(plan, selectors.broken_steps(plan, {step.index}), words)
        announce(plan, "plan.chains_left_out")
