"""A lock that its owner releases for a while: plans count it as none in that time, and as one before and after."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.consolidation import planning
from console.inventory import planning as readings
from console.inventory import services as inventory
from console.inventory.models import LockRelease, OwnerLock
from console.plans.models import Plan
from console.plans.services.transition import Conflict
from tests.builders.people import operator, tenant
from tests.builders.worlds import world
from tests.console.plans.scene import Scene, approved, ran, requested, scene, started, where

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def owned() -> Scene:
    """Two pods of one locked workload could leave n1 and n2 for n3, on which a third one stays."""
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2, locked=True, workload="w")
    made.pod("b", "n2", 2, locked=True, workload="w").pod("z", "n3", 2, locked=True, workload="other")
    one = scene(made)
    observation, _ = inventory.newest(one.source) or (None, None)
    assert observation is not None
    readings.measure(observation.pk)
    return one


def granted() -> LockRelease:
    now = timezone.now()
    lock = OwnerLock.objects.get(workload="w")
    row = inventory.ask_release(operator(), lock, now - HOUR, now + HOUR, "empty two nodes")
    return inventory.answer_release(tenant("t1"), row.pk, True, "ok")


def computed(one: Scene) -> Plan:
    plan = requested(one.source, params={"exact_up_to": 0})
    planning.compute(plan.pk)
    return Plan.objects.get(pk=plan.pk)


def test_the_planner_moves_what_is_released_and_nothing_else_that_is_locked() -> None:
    one = owned()
    assert computed(one).state == "nothing_to_do"
    granted()
    plan = computed(one)
    assert plan.state == "proposed", plan.reason
    assert set(plan.steps.values_list("pod", flat=True)) == {"jobs/a", "jobs/b"}
    assert any("released by their owners" in note and "jobs/a, jobs/b" in note for note in plan.notes)
    assert b"released by their owners" in bytes(plan.document or b"")


def test_a_run_moves_the_locked_pods_and_leaves_them_locked() -> None:
    one = owned()
    granted()
    plan = ran(started(computed(one)))
    assert plan.state == "succeeded", plan.reason
    assert where(one) == {"a": "n3", "b": "n3", "z": "n3"}
    _, snapshot = inventory.newest(one.source) or (None, None)
    assert snapshot is not None and snapshot.pod_locked.all()


def test_a_release_that_is_over_or_taken_back_makes_the_plan_stale() -> None:
    one = owned()
    release = granted()
    plan = computed(one)
    inventory.take_back_release(tenant("t1"), release.pk, "a deadline")
    with pytest.raises(Conflict) as refused:
        approved(plan)
    assert {(row["object"], row["field"]) for row in refused.value.changes} == {
        ("jobs/a", "locked"),
        ("jobs/b", "locked"),
    }
    assert Plan.objects.get(pk=plan.pk).state == "stale"


def test_a_run_halts_before_the_next_move_once_its_time_is_over() -> None:
    one = owned()
    release = granted()
    started(computed(one))
    LockRelease.objects.filter(pk=release.pk).update(ends_at=timezone.now() - timedelta(seconds=1))
    halted = ran(Plan.objects.get(state="executing"))
    assert halted.state == "halted" and "no longer holds" in halted.reason
    assert where(one)["a"] == "n1"
