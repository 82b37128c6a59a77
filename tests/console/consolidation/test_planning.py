"""Computing: under a lease, with progress, cancelled or stopped half-way, found again when its worker is lost."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.consolidation import planning
from console.plans import services
from console.plans.choices import State
from console.plans.models import KeptNode, Plan
from console.plans.services import proposals
from scheduler.consolidation.params import Progress
from tests.builders.people import operator
from tests.builders.worlds import world
from tests.console.plans.scene import (
    Scene,
    core_plan,
    move,
    named,
    ran,
    requested,
    scene,
    started,
    three_nodes,
    two_nodes,
)

pytestmark = pytest.mark.django_db(transaction=True)
AT = Progress(round=1, rounds=2, partition=1, partitions=3, emptied=4, moves=9)


def _computed(plan: Plan) -> Plan:
    planning.compute(plan.pk)
    return Plan.objects.get(pk=plan.pk)


def test_the_planner_empties_a_node_and_the_rows_say_how() -> None:
    one = scene(two_nodes())
    plan = _computed(requested(one.source))
    assert plan.state == State.PROPOSED, plan.reason
    assert plan.headline["net_emptied"] == 1
    assert [(s.pod, s.source_node, s.target_node) for s in plan.steps.all()] == [("jobs/a", "n1", "n2")]
    assert plan.map.names.split("\n") == ["n1", "n2"]
    assert (list(bytes(plan.map.before)), list(bytes(plan.map.after))) == ([75, 37], [100, 12])
    assert list(bytes(plan.map.marks)) == [1 | 4, 2]
    assert plan.curve == [[0, 0], [1, 1]]


def test_nothing_to_do_says_why_and_keeps_the_reasons() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1", 6, locked=True).pod("b", "n2", 5, locked=True)
    plan = _computed(requested(scene(made).source))
    assert plan.state == State.NOTHING_TO_DO
    assert "2 nodes stay" in plan.reason
    assert KeptNode.objects.filter(plan=plan, reason="locked").count() == 2


def test_what_was_stopped_too_early_claims_to_know_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = planning.consolidate
    monkeypatch.setattr(planning, "consolidate", lambda *a, **k: real(*a, **{**k, "progress": lambda _: False}))
    plan = _computed(requested(scene(two_nodes()).source))
    assert plan.state == State.NOTHING_TO_DO
    assert plan.reason.startswith("Stopped before a move was found: cancelled in round 1")
    assert "not known" in plan.reason


def test_after_a_run_the_next_plans_have_nothing_to_do() -> None:
    """C35: one slot, two wishes; then stand still."""
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("b", "n2", 4).pod("c", "n3", 4, locked=True)
    one = scene(made)
    plan = _computed(requested(one.source))
    assert (plan.steps.count(), plan.headline["emptied"]) == (1, 1)
    started(plan)
    assert ran(plan).state == State.SUCCEEDED
    for _ in range(2):
        again = _computed(requested(one.source))
        assert (again.state, again.steps.count()) == (State.NOTHING_TO_DO, 0)


def test_delivered_twice_it_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = requested(scene().source)
    calls = []
    real = planning.consolidate

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        planning.compute(plan.pk)  # the second delivery, while the first is busy
        return real(*args, **kwargs)

    monkeypatch.setattr(planning, "consolidate", counted)
    assert _computed(plan).state == State.PROPOSED
    assert _computed(plan).state == State.PROPOSED
    assert len(calls) == 1


def _interrupted(monkeypatch: pytest.MonkeyPatch, one: Scene, act: Any) -> list[bool]:
    """A planner that asks twice whether to go on, with ``act`` between the two."""
    heard: list[bool] = []

    def planner(snapshot: Any, params: Any, *, seed: int, progress: Any) -> Any:
        heard.append(progress(AT))
        act()
        progress.last = float("-inf")
        heard.append(progress(AT))
        moves = (move("a", "n1", "n3", 0),)
        return core_plan(snapshot, named(snapshot, moves))

    monkeypatch.setattr(planning, "consolidate", planner)
    return heard


def test_progress_is_stored_and_a_cancelled_plan_gets_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    one = scene(three_nodes())
    plan = requested(one.source)
    seen: list[dict[str, Any]] = []

    def cancel() -> None:
        seen.append(Plan.objects.get(pk=plan.pk).progress)
        services.cancel_plan(operator(), plan.pk)

    heard = _interrupted(monkeypatch, one, cancel)
    done = _computed(plan)
    assert heard == [True, False]
    assert seen[0]["emptied"] == 4
    assert (seen[0]["done"], seen[0]["total"]) == (1, 6)
    assert (done.state, done.digest, done.steps.count()) == (State.CANCELLED, "", 0)


def test_a_stopped_planner_proposes_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    one = scene(three_nodes())
    plan = requested(one.source)
    heard = _interrupted(monkeypatch, one, lambda: services.stop_planning(operator(), plan.pk))
    done = _computed(plan)
    assert heard == [True, False]
    assert (done.state, done.steps.count()) == (State.PROPOSED, 1)


def test_progress_is_passed_on_at_most_twice_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = requested(scene().source)
    services.begin_planning(plan.pk, "me")
    told: list[int] = []
    monkeypatch.setattr(planning.plans, "report_progress", lambda *args: told.append(1) or True)
    now = iter(k / 10 for k in range(100))
    monkeypatch.setattr(planning.time, "monotonic", lambda: next(now))
    reporter = planning._Reporter(plan.pk, "me")
    assert all(reporter(AT) for _ in range(21))
    assert len(told) == 5  # 2.0 s of work, every 0.5 s


def test_an_illegal_answer_is_refused_by_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    one = scene(three_nodes())

    def liar(snapshot: Any, params: Any, **_more: Any) -> Any:
        return core_plan(snapshot, named(snapshot, (move("z", "n3", "n1", 0),)))

    monkeypatch.setattr(planning, "consolidate", liar)
    done = _computed(requested(one.source))
    assert done.state == State.FAILED
    assert "The judge refuses" in done.reason


def test_bad_parameters_that_slipped_through_fail_the_plan() -> None:
    done = _computed(requested(scene().source, params={"depth": 99}))
    assert done.state == State.FAILED
    assert "depth" in done.reason


def test_a_lost_planner_is_found_and_given_up_after_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = requested(scene().source)
    sent: list[int] = []
    monkeypatch.setattr("console.plans.services.sweeping.enqueue", lambda task, plan_id: sent.append(plan_id))
    for attempt in range(proposals.MAX_ATTEMPTS):
        assert services.begin_planning(plan.pk, f"worker {attempt}") is not None
        assert services.begin_planning(plan.pk, "another") is None
        Plan.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=31))
        services.sweep()
    assert sent == [plan.pk] * proposals.MAX_ATTEMPTS
    assert services.begin_planning(plan.pk, "the last") is None
    assert Plan.objects.get(pk=plan.pk).state == State.FAILED


def test_what_fits_now_and_then() -> None:
    snapshot = two_nodes().snapshot()
    answer = core_plan(snapshot, (move("a", "n1", "n2"),))
    rows = {(row["gpus"], row["level"]): (row["now"], row["then"]) for row in planning.what_fits(snapshot, answer)}
    assert rows[8, "host"] == (0, 1)
    assert rows[2, "host"] == (4, 4)
