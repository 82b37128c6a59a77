"""Execution: each move once, wave by wave, checked again before each; every surprise halts."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.connectors import simulated
from console.connectors.models import SimulatedOperation
from console.connectors.protocol import ConnectorError, Outcome
from console.inventory.models import Source
from console.plans import execution, services
from console.plans.choices import State
from console.plans.frozen import Freeze
from console.plans.models import NodeLock, Plan
from console.plans.services import stepping
from tests.builders.people import operator
from tests.builders.worlds import world
from tests.console.plans.scene import (
    TWO,
    Scene,
    approved,
    arrives,
    move,
    node_set,
    pod_set,
    ran,
    scene,
    started,
    two,
    where,
)

pytestmark = pytest.mark.django_db


def _steps(plan: Plan) -> list[str]:
    return list(plan.steps.order_by("index").values_list("state", flat=True))


def test_a_plan_runs_to_its_end_once() -> None:
    """C28: two moves, two audit rows, one life; later deliveries do nothing."""
    one, plan = two()
    started(plan)
    done = ran(plan)
    assert done.state == State.SUCCEEDED
    assert done.reason == "2 of 2 moves done; 2 of 2 nodes empty"
    assert where(one) == {"a": "n3", "b": "n3", "z": "n3"}
    ran(plan)
    ran(plan)
    assert Entry.objects.filter(action="step.succeeded", target_id=str(plan.pk)).count() == 2
    assert SimulatedOperation.objects.filter(operation__type="migrate").count() == 2
    life = Entry.objects.filter(target_id=str(plan.pk), action__startswith="plan.").order_by("pk")
    assert list(life.values_list("action", flat=True)) == [
        "plan.requested", "plan.planning", "plan.proposed", "plan.approved", "plan.executing", "plan.succeeded",
    ]  # fmt: skip
    assert not NodeLock.objects.exists()


def test_a_second_plan_on_the_same_node_waits() -> None:
    one, plan = two()
    other = one.plan(*TWO)
    started(plan)
    approved(other)
    with pytest.raises(services.Conflict, match=f"locked by plan {plan.pk}"):
        services.start_plan(operator(), other.pk)


def test_a_lost_lock_runs_out() -> None:
    one, plan = two()
    other = one.plan(*TWO)
    started(plan)
    approved(other)
    NodeLock.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert services.start_plan(operator(), other.pk).state == State.EXECUTING


def test_what_is_left_is_judged_before_every_wave() -> None:
    one, plan = two()
    started(plan)
    _after_first_move(one, plan, lambda: one.happen(arrives("fat", "n3", 4)))
    halted = ran(plan)
    assert halted.state == State.HALTED
    assert "no longer holds before wave 2" in halted.reason
    assert halted.changes
    assert _steps(plan) == ["succeeded", "waiting"]
    with pytest.raises(services.Conflict) as refused:
        services.resume_plan(operator(), plan.pk)
    assert refused.value.changes
    assert NodeLock.objects.filter(plan=plan).exists()
    aborted = services.abort_plan(operator(), plan.pk, "the rest is void")
    assert (aborted.state, _steps(plan)) == (State.ABORTED, ["succeeded", "dropped"])
    assert not NodeLock.objects.exists()
    with pytest.raises(services.Conflict, match="aborted"):
        services.resume_plan(operator(), plan.pk)


def _after_first_move(one: Scene, plan: Plan, act: Any) -> None:
    """Run ``act`` between the first wave and the second."""
    done = []
    real = stepping.record_outcome

    def recorded(*args: Any) -> bool:
        answer = real(*args)
        if not done:
            done.append(1)
            act()
        return answer

    stepping.record_outcome = recorded  # type: ignore[assignment]
    one_turn = _turns(plan)
    try:
        while not done:
            assert next(one_turn)
    finally:
        stepping.record_outcome = real
        Plan.objects.filter(pk=plan.pk).update(worker="")


def _turns(plan: Plan) -> Any:
    taken = stepping.take_run(plan.pk, "first")
    assert taken is not None
    held = execution.Run(plan.pk, "first", execution.connect(taken.source.kind, taken.source.config), lambda _s: None)
    while True:
        yield execution._turn(held)


def test_pause_stops_between_moves_and_resume_goes_on() -> None:
    one, plan = two()
    started(plan)
    _after_first_move(one, plan, lambda: services.pause_plan(operator(), plan.pk, "lunch"))
    paused = ran(plan)
    assert (paused.state, paused.reason, _steps(plan)) == (State.PAUSED, "lunch", ["succeeded", "waiting"])
    assert services.resume_plan(operator(), plan.pk).state == State.EXECUTING
    assert ran(plan).state == State.SUCCEEDED


def test_a_freeze_stops_a_run_at_once() -> None:
    one, plan = two()
    started(plan)
    until = timezone.now() + timedelta(hours=1)

    def freeze() -> None:
        services.set_freeze(operator(), scope="fleet", reason="power works", expires_at=until)

    _after_first_move(one, plan, freeze)
    frozen = ran(plan)
    assert (frozen.state, _steps(plan)) == (State.PAUSED, ["succeeded", "waiting"])
    assert "power works" in frozen.reason
    with pytest.raises(services.Conflict, match="power works"):
        services.resume_plan(operator(), plan.pk)
    services.lift_freeze(operator(), Freeze.objects.get().pk, "power is back")
    services.resume_plan(operator(), plan.pk)
    assert ran(plan).state == State.SUCCEEDED


def test_a_freeze_that_came_between_check_and_start_stops_the_first_move() -> None:
    _, plan = two()
    started(plan)
    services.set_freeze(operator(), scope="fleet", reason="late", expires_at=timezone.now() + timedelta(hours=1))
    Plan.objects.update(state=State.EXECUTING)
    assert ran(plan).state == State.PAUSED
    assert _steps(plan) == ["waiting", "waiting"]


class _Flaky:
    """A wire on which one pod's move fails."""

    acts = True

    def __init__(self, real: Any, fails: str) -> None:
        self.real, self.fails = real, fails

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def execute(self, operation: Any, key: str) -> Outcome:
        if getattr(operation, "pod", None) == self.fails:
            return Outcome("failed", "the copy never got ready")
        return self.real.execute(operation, key)


def _fail(monkeypatch: pytest.MonkeyPatch, pod: str) -> None:
    real = execution.connect
    monkeypatch.setattr(execution, "connect", lambda kind, config: _Flaky(real(kind, config), pod))


def test_a_failed_move_halts_and_resume_leaves_its_chain_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made = world().nodes("n1", "n2", "n3").pod("z", "n3", 2, locked=True).pod("b", "n2", 1)
    one = scene(made.pod("a", "n1", 1).pod("c", "n1", 1))
    plan = one.plan(move("a", "n1", "n3", 0), move("c", "n1", "n3", 0), move("b", "n2", "n3", 1))
    _fail(monkeypatch, "jobs/a")
    started(plan)
    halted = ran(plan)
    assert halted.state == State.HALTED
    assert "1 move failed in wave 1: jobs/a: the copy never got ready" in halted.reason
    assert _steps(plan) == ["failed", "waiting", "waiting"]
    services.resume_plan(operator(), plan.pk)
    done = ran(plan)
    assert _steps(plan) == ["failed", "dropped", "succeeded"]
    assert (done.state, done.reason) == (
        State.SUCCEEDED,
        "1 of 3 moves done, 1 failed, 1 not run; 1 of 2 nodes empty",
    )


def test_a_run_that_loses_moves_and_empties_nothing_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = world().nodes("n1", "n2").pod("z", "n2", 2, locked=True).pod("a", "n1", 1).pod("c", "n1", 1)
    plan = scene(made).plan(move("a", "n1", "n2", 0), move("c", "n1", "n2", 1))
    _fail(monkeypatch, "jobs/c")
    started(plan)
    ended = ran(plan)  # nothing is left that a halt could hold back
    assert (ended.state, ended.reason) == (State.FAILED, "1 of 2 moves done, 1 failed, 0 not run; 0 of 1 node empty")


def test_when_every_move_fails_the_run_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = scene()
    plan = one.plan(move("a", "n1", "n2"))
    _fail(monkeypatch, "jobs/a")
    started(plan)
    assert ran(plan).state == State.FAILED
    assert not NodeLock.objects.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (pod_set("a", locked=True), "the pod is locked"),
        (pod_set("a", terminating=True), "the pod is ending"),
        (node_set("n3", cordoned=True), "n3 is cordoned"),
        (node_set("n3", ready=False), "n3 is not ready"),
        (pod_set("a", node="n2"), "the pod is on n2, not on n1"),
        (pod_set("a", uid="someone-else"), "another pod has this name now"),
    ],
)
def test_pod_and_nodes_are_read_again_before_each_move(
    change: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change comes after the wave was judged: only the last look can see it."""
    one, plan = two()
    started(plan)
    real = execution._move

    def late(held: Any, current: Any, step: Any) -> None:
        one.happen(change)
        real(held, current, step)

    monkeypatch.setattr(execution, "_move", late)
    assert ran(plan).state == State.HALTED
    first = plan.steps.order_by("index").first()
    assert first is not None
    assert (first.state, first.detail) == ("failed", f"not sent: {words}")
    assert not SimulatedOperation.objects.exists()


def test_a_cluster_out_of_reach_halts_before_anything_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    _, plan = two()
    started(plan)

    def broken(self: Any) -> Any:
        raise ConnectorError("connection refused")

    monkeypatch.setattr(simulated.SimulatedConnector, "version", broken)
    halted = ran(plan)
    assert halted.state == State.HALTED
    assert "Nothing is moved on old data" in halted.reason
    assert _steps(plan) == ["waiting", "waiting"]
    assert Plan.objects.get(pk=plan.pk).worker == ""


def test_only_one_worker_at_a_time() -> None:
    _, plan = two()
    started(plan)
    assert stepping.take_run(plan.pk, "first") is not None
    assert stepping.take_run(plan.pk, "second") is None
    assert ran(plan).state == State.EXECUTING
    assert not SimulatedOperation.objects.exists()
    Plan.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    assert stepping.take_run(plan.pk, "second") is not None
    assert stepping.beat(plan.pk, "first") is None


def test_a_worker_that_lost_its_lease_claims_nothing() -> None:
    _, plan = two()
    started(plan)
    assert stepping.take_run(plan.pk, "first") is not None
    Plan.objects.update(worker="second")
    step = plan.steps.order_by("index").first()
    assert step is not None
    assert not stepping.claim(step, "first")
    assert stepping.claim(step, "second")
    assert not stepping.claim(step, "second")


def test_abort_sees_moves_in_flight_to_their_end() -> None:
    one, plan = two()
    started(plan)
    assert stepping.take_run(plan.pk, "dead") is not None
    step = plan.steps.order_by("index").first()
    assert step is not None
    assert stepping.claim(step, "dead")
    aborted = services.abort_plan(operator(), plan.pk, "enough")
    assert Entry.objects.get(action="plan.aborted").detail == {"in_flight": 1, "steps_in_flight": [0]}
    assert NodeLock.objects.filter(plan=aborted).exists()
    Plan.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    ran(plan)
    assert _steps(plan) == ["succeeded", "dropped"]
    assert where(one)["a"] == "n3"
    assert not NodeLock.objects.exists()


def test_the_sweep_sends_lost_runs_out_again(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    _, plan = two()
    started(plan)
    assert stepping.take_run(plan.pk, "dead") is not None
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr("console.plans.services.sweeping.enqueue", lambda task, plan_id: sent.append((task, plan_id)))
    services.sweep()
    assert sent == []
    Plan.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    services.sweep()
    assert sent == [("plans.execute", plan.pk)]


def test_old_sources_are_no_grounds_for_a_resume() -> None:
    one, plan = two()
    started(plan)
    services.pause_plan(operator(), plan.pk, "")
    Source.objects.update(last_observed_at=timezone.now() - timedelta(minutes=5))
    with pytest.raises(services.Conflict, match="old data"):
        services.resume_plan(operator(), plan.pk)
    assert one.source.pk == plan.source_id


def test_a_fault_of_the_executor_halts_and_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    _, plan = two()
    started(plan)

    def broken(*_arguments: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(execution, "_move", broken)
    with pytest.raises(RuntimeError):
        ran(plan)
    halted = Plan.objects.get(pk=plan.pk)
    assert (halted.state, halted.worker) == (State.HALTED, "")
    assert "RuntimeError: a bug" in halted.reason
