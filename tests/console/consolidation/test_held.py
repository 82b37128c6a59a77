"""Nodes that are kept for somebody else take nobody in a plan."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.consolidation import planning
from console.plans.models import Plan, RoomNode
from tests.builders.people import operator
from tests.builders.worlds import world
from tests.console.plans.scene import Scene, requested, scene

pytestmark = pytest.mark.django_db


def held(one: Scene, **purpose: Any) -> None:
    """n3 by an earlier plan, for an hour."""
    earlier = Plan.objects.create(
        kind="consolidation", title="earlier", source=one.source, cluster="default", proposer=operator(),
        held_until=timezone.now() + timedelta(hours=1), held_for=purpose, hold_version=1,
    )  # fmt: skip
    RoomNode.objects.create(plan=earlier, node="n3", gpus=8)


def computed(one: Scene, **params: Any) -> Plan:
    plan = requested(one.source, params=params)
    planning.compute(plan.pk)
    return Plan.objects.get(pk=plan.pk)


def one_way() -> Scene:
    """a and b can leave n1 and n2 only for n3, which is empty."""
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 3).pod("b", "n2", 3).pod("y", "n1", 3).pod("z", "n2", 3)
    return scene(made)


def test_a_plan_for_whole_nodes_leaves_them_alone_and_says_so() -> None:
    one = scene(world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("z", "n2", 2, locked=True).pod("y", "n3", 4))
    free = computed(one)
    assert {step.target_node for step in free.steps.all()} <= {"n1", "n2", "n3"} and free.headline["emptied"] == 2
    held(one, kind="whole")
    plan = computed(one)
    assert plan.state == "proposed", plan.reason
    assert [(step.pod, step.target_node) for step in plan.steps.all()] == [("jobs/a", "n2")]
    assert any(note.startswith("held: 1 node kept for others") for note in plan.notes)


def test_who_they_are_kept_for_may_use_them_and_a_drain_finds_others() -> None:
    one = one_way()
    drain = {"kind": "drain", "nodes": ["n1"]}
    assert computed(one, goal=drain).headline["goal"]["reached"] == 1
    held(one, kind="gang", name="jobs/g", unit="members")
    other = computed(one, goal=drain)
    assert (other.shown_state, other.headline["goal"]["reached"]) == ("not_possible", 0)
    shape = {"kind": "shape", "name": "8G32C", "slots": 1}
    assert computed(one, goal=shape).headline["goal"]["reached"] == 0
    RoomNode.objects.get().plan.__class__.objects.update(held_for={"kind": "shape", "name": "8G32C"})
    assert computed(one, goal=shape).headline["goal"]["reached"] == 1
