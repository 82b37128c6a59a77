"""What a stop means is said before, and is what comes of it, wherever the worker stood."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.plans import execution, milestones, selectors, services
from console.plans.choices import State, StepState
from console.plans.milestones import Milestone
from console.plans.models import Plan
from console.plans.services.transition import why_not
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, viewer
from tests.builders.worlds import world
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import move, ran, scene, started, where

pytestmark = pytest.mark.django_db
BETWEEN = (
    Milestone.OBJECTS_READ, Milestone.STEP_CLAIMED, Milestone.OPERATION_SENT, Milestone.OUTCOME_KNOWN,
    Milestone.STEP_RECORDED,
)  # fmt: skip


class Killed(BaseException):
    """The worker is no more; nothing of ours catches it."""


@pytest.fixture
def killer(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Milestone]]:
    """The worker dies the first time that it reaches the one milestone in the list."""
    at: list[Milestone] = []

    def watch(milestone: Milestone) -> None:
        if milestone in at:
            at.clear()
            raise Killed

    monkeypatch.setattr(milestones, "_watchers", [watch])
    yield at


def _plan() -> tuple[Any, Plan]:
    """n1 is emptied by two moves, n2 by one."""
    made = world().nodes("n1", "n2", "n3").pod("z", "n3", 2, locked=True).pod("b", "n2", 1)
    one = scene(made.pod("a", "n1", 1).pod("c", "n1", 1))
    return one, one.plan(move("a", "n1", "n3", 0), move("c", "n1", "n3", 0), move("b", "n2", "n3", 1))


def _api(plan: Plan) -> dict[str, Any]:
    api = APIClient()
    api.force_authenticate(viewer())
    answer: dict[str, Any] = api.get(reverse("api:plan-abort-preview", args=[plan.pk])).json()
    return answer


@pytest.mark.parametrize("at", BETWEEN, ids=lambda milestone: milestone.name.lower())
def test_what_was_said_before_the_abort_is_what_comes_of_it(at: Milestone, killer: list[Milestone]) -> None:
    one, plan = _plan()
    started(plan)
    killer.append(at)
    with pytest.raises(Killed):
        execution.run(plan.pk, wait=lambda _seconds: None)
    before = _api(plan)
    flying = at in (Milestone.STEP_CLAIMED, Milestone.OPERATION_SENT, Milestone.OUTCOME_KNOWN)
    assert len(before["in_flight"]) == flying
    assert before["waiting"] + len(before["in_flight"]) + (at is Milestone.STEP_RECORDED) == 3
    services.abort_plan(operator(), plan.pk, "enough")
    Plan.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    ran(plan)
    after = _api(plan)
    assert [(after[key], after["half"]) for key in ("whole", "untouched", "returnable")] == [
        (before[key], [{**row, "done": row["done"] + row["in_flight"], "in_flight": 0} for row in before["half"]])
        for key in ("whole", "untouched", "returnable")
    ]
    (stop,) = selectors.stops(viewer(), plan)
    assert (stop.state, stop.actor, stop.reason, stop.waiting) == ("aborted", "operator", "enough", before["waiting"])
    assert [row.number for row in stop.in_flight] == [row["number"] for row in before["in_flight"]]
    assert all(row.state == StepState.SUCCEEDED for row in stop.in_flight)
    assert sum(node == "n3" for pod, node in where(one).items() if pod != "z") == before["returnable"]


def test_the_page_says_it_before_and_after(killer: list[Milestone]) -> None:
    _, plan = _plan()
    started(plan)
    killer.append(Milestone.OPERATION_SENT)
    with pytest.raises(Killed):
        execution.run(plan.pk, wait=lambda _seconds: None)
    page = squeezed(page_of(operator(), plan))
    assert "2 moves that have not begun are never run." in page
    assert "1 move in flight runs to its end" in page
    assert "stands on n1 and n3 until its copy is up, then the old one ends" in page
    assert "1 node drained in part (moves done of all): n1 (1 of 2)." in page
    assert "Once those in flight have ended well: 0 nodes are empty, 1 not begun." in page
    assert "roll back 1 move by a plan of its own" in page
    assert "If you pause now" in page
    services.pause_plan(operator(), plan.pk, "look closer")
    page = squeezed(page_of(operator(), plan))
    assert "If you pause now" not in page
    assert re.search("operator paused [0-9:]{8}: “look closer”", page)
    assert "2 moves not begun, 1 in flight: 0 ended well, 0 failed, 1 still in flight" in page_of(viewer(), plan)
    Plan.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    ran(plan)
    record = squeezed(page_of(viewer(), plan, "?part=record"))
    assert "2 moves not begun, 1 in flight: 1 ended well, 0 failed" in record
    assert "ended well: it runs on n3" in record
    assert "If you abort now" not in page_of(viewer(), plan)  # viewers steer nothing


def test_a_move_that_fails_after_the_stop_is_told_as_failed(killer: list[Milestone]) -> None:
    _, plan = _plan()
    started(plan)
    killer.append(Milestone.STEP_CLAIMED)
    with pytest.raises(Killed):
        execution.run(plan.pk, wait=lambda _seconds: None)
    services.pause_plan(operator(), plan.pk, "look closer")
    plan.steps.filter(index=0).update(pod="jobs/nobody")
    Plan.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    ran(plan)
    (stop,) = selectors.stops(viewer(), plan)
    assert stop.words == "2 moves not begun, 1 in flight: 0 ended well, 1 failed"
    assert stop.in_flight[0].words.startswith("failed, so it is where it was: there is no pod")
    assert Plan.objects.get(pk=plan.pk).state == State.PAUSED


def test_who_comes_second_is_told_who_was_first_when_and_in_which_words() -> None:
    plan = scene().plan(move("a", "n1", "n2"))

    def told(target: State) -> str:
        return re.sub("[0-9:]{8}", "T", why_not(plan.pk, target)).removeprefix(f"Plan {plan.pk} is ")

    services.approve_plan(approver("u1"), plan.pk, plan.digest, "a")
    assert told(State.APPROVED) == "approved already (u1 approved T: “a”)."
    services.start_plan(operator(), plan.pk)
    assert told(State.EXECUTING) == "running already (operator started T)."
    services.pause_plan(operator(), plan.pk, "hold on")
    assert told(State.APPROVED) == "paused (operator paused T: “hold on”): it cannot be approved."
    services.abort_plan(operator("u2"), plan.pk, "enough")
    assert told(State.EXECUTING) == "aborted (u2 aborted T: “enough”): it cannot be started or resumed."
    assert re.search("u2 aborted [0-9:]{8}: “enough”", page_of(viewer(), plan))
