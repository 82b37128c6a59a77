"""kill -9 at every named step of planning and of a move: nothing is lost, nothing is done twice.

The steps are listed in console/plans/milestones.py; each is tried here, in a process of its own.
"""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from console.audit.models import Entry
from console.connectors.models import SimulatedOperation
from console.consolidation import planning
from console.plans import execution, services
from console.plans.choices import State
from console.plans.milestones import MOVING, PLANNING, Milestone
from console.plans.models import NodeLock, Plan, Step
from scheduler.consolidation.params import Params
from scheduler.consolidation.planner import consolidate
from tests.console.plans.scene import move, ran, requested, scene, started, three_nodes, where

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(seconds=31)


def _die(task: str, plan: Plan, step: Milestone) -> int:
    """Run the task in another process that kills itself at ``step``; its exit code."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.faults.process_settings",
        "SLACKLINE_TEST_DATABASE": str(connection.settings_dict["NAME"]),
        "REDIS_URL": settings.REDIS_URL,
    }
    connection.close()
    command = [sys.executable, "-m", "tests.faults.worker", task, str(plan.pk), step.value]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    return done.returncode


def _time_passes() -> None:
    """So long that the dead worker's lease has run out."""
    Plan.objects.exclude(worker="").update(heartbeat_at=timezone.now() - LONG_AGO)
    Plan.objects.filter(worker="").update(requested_at=timezone.now() - LONG_AGO)


def _found_again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    for room in ("sweeping", "holding"):
        monkeypatch.setattr(f"console.plans.services.{room}.enqueue", lambda task, plan_id: sent.append(task))
    services.sweep()
    return sent


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    """Compile once, so that the processes find the planner's kernels on disk."""
    consolidate(three_nodes().snapshot(), Params())


@pytest.mark.parametrize("step", PLANNING, ids=lambda step: step.name.lower())
def test_a_planner_killed(step: Milestone, monkeypatch: pytest.MonkeyPatch) -> None:
    one = scene(three_nodes())
    plan = requested(one.source)
    _die("plan", plan, step)
    found = Plan.objects.get(pk=plan.pk)
    if step is Milestone.PROPOSAL_COMMITTED:
        assert (found.state, found.steps.count()) == (State.PROPOSED, 2)
    else:
        assert (found.state, found.digest, found.steps.count()) == (State.PLANNING, "", 0)
    _time_passes()
    again = _found_again(monkeypatch)
    assert again == ([] if step is Milestone.PROPOSAL_COMMITTED else ["consolidation.plan"])
    planning.compute(plan.pk)
    done = Plan.objects.get(pk=plan.pk)
    assert (done.state, done.steps.count()) == (State.PROPOSED, 2)
    assert Entry.objects.filter(action="plan.proposed", target_id=str(plan.pk)).count() == 1


@pytest.mark.parametrize("step", MOVING, ids=lambda step: step.name.lower())
def test_an_executor_killed(step: Milestone, monkeypatch: pytest.MonkeyPatch) -> None:
    """C28: whatever the moment, two creates and two deletes in all, two audit rows, one end."""
    one = scene(three_nodes())
    plan = one.plan(move("a", "n1", "n3", 0), move("b", "n2", "n3", 1))
    started(plan)
    _die("execute", plan, step)
    _time_passes()
    over = step is Milestone.RUN_COMMITTED
    assert _found_again(monkeypatch) == (["plans.hold"] if over else ["plans.execute"])
    done = ran(plan)
    execution.tell_holds(plan.pk)  # what was sent; where the run told it already, nothing is said twice
    assert done.state == State.SUCCEEDED, done.reason
    assert where(one) == {"a": "n3", "b": "n3", "z": "n3"}
    kinds = sorted(SimulatedOperation.objects.values_list("operation__type", flat=True))
    assert kinds == ["hold", "hold", "migrate", "migrate"]
    assert Entry.objects.filter(action="step.succeeded", target_id=str(plan.pk)).count() == 2
    assert Entry.objects.filter(action="plan.succeeded", target_id=str(plan.pk)).count() == 1
    assert not Step.objects.filter(plan=plan).exclude(state="succeeded").exists()
    assert not NodeLock.objects.exists()


def test_every_step_is_tried() -> None:
    assert set(PLANNING) | set(MOVING) == set(Milestone)
