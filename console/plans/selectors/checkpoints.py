"""Moves that go right after a checkpoint: what each waits for, until when, and what it loses."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.plans.choices import StepState
from console.plans.models import Plan, Step
from console.tenancy.services import require
from console.ui.figures import clock, duration

LEAVE = "leave"  # of the signed move: scheduler.plan.operations


@dataclass(frozen=True, slots=True)
class WaitRow:
    """A move that nothing but its checkpoint holds up."""

    number: int  # from 1
    pod: str
    words: str
    until: datetime  # then it goes anyway or is left out


def waiting_for_checkpoints(viewer: Any, plan: Plan) -> list[WaitRow]:
    require(viewer, "plans.view_plan")
    if not plan.is_running:
        return []
    rows = Step.objects.filter(plan=plan, state=StepState.WAITING, due_at__isnull=False).order_by("index")
    return [WaitRow(step.index + 1, step.pod, expected_words(step), until) for step in rows if (until := _until(step))]


def _until(step: Step) -> datetime | None:
    limit_s = (step.checkpoint or {}).get("limit_s", 0)
    return None if step.due_at is None else step.due_at + timedelta(seconds=limit_s)


def expected_words(step: Step) -> str:
    """Of a move that is due: when its checkpoint is expected, and what follows if it does not come."""
    wait = step.checkpoint or {}
    left = None if step.checkpoint_at is None else (step.checkpoint_at - timezone.now()).total_seconds()
    when = "" if left is None else f"expected in {duration(left)}" if left > 0 else "expected by now"
    until = _until(step)
    end = "" if until is None else clock(until)
    return "; ".join(part for part in (when, f"{_otherwise(wait)} if not there by {end}" if end else "") if part)


def promised_words(step: Step) -> str:
    """Of a move that has not begun: what it waits for, as signed."""
    wait = step.checkpoint or {}
    return (
        f"after its next checkpoint (then in {duration(wait['wait_s'])}): loses {duration(wait['lost_after_s'])} "
        f"of work, not {duration(wait['lost_s'])}; after {duration(wait['limit_s'])} {_otherwise(wait)}"
    )


def _otherwise(wait: dict[str, Any]) -> str:
    return "left out with its chain" if wait.get("otherwise") == LEAVE else "moved anyway"
