"""What of a plan no longer holds: own fields of what it touches, and room that others took; nothing else."""

from typing import Any

import pytest

from scheduler.plan.staleness import Change, changes
from tests.builders.worlds import World, world
from tests.scheduler.plan.plans import plan


def base(a: dict[str, Any] | None = None, n2: dict[str, Any] | None = None, now_s: int = 1000) -> World:
    made = world(now_s).asw("x").node("n1").node("n2", **(n2 or {})).node("n3")
    made.pod("a", "n1", **{"gpus": 2, "uid": "u1", **(a or {})}).pod("b", "n2", 4)
    return made.pod("c", "n3", 4)


def found(newest: World) -> tuple[Change, ...]:
    before = base().snapshot()
    return changes(plan(before, [("a", "n2", 0)]), before, newest.snapshot())


UNTOUCHED = {
    "nothing": base(),
    "the clock": base(now_s=2000),
    "a pod elsewhere": base().pod("new", "n3", 2),
    "a pod beside it with room left": base().pod("new", "n2", 2),
    "a node elsewhere": base().node("n4", cordoned=True),
    "progress and use": base({"checkpoint_s": 999, "priority": 7}, {"power_watts": 900}),
}


@pytest.mark.parametrize("newest", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_what_does_not_matter(newest: World) -> None:
    assert found(newest) == ()


FIELDS = [
    ({"uid": "u2"}, {}, ("pod", "jobs/a", "uid", "u1", "u2")),
    ({"cpu_milli": 5}, {}, ("pod", "jobs/a", "cpu_milli", 0, 5)),
    ({"locked": True}, {}, ("pod", "jobs/a", "locked", 0, 1)),
    ({"terminating": True}, {}, ("pod", "jobs/a", "terminating", 0, 1)),
    ({"labels": {"app": "x"}}, {}, ("pod", "jobs/a", "labels", None, "app=x")),
    ({"phase": "Failed"}, {}, ("pod", "jobs/a", "phase", "Running", "Failed")),
    ({"move": "never"}, {}, ("pod", "jobs/a", "move", "copy", "never")),
    ({}, {"cordoned": True}, ("node", "n2", "cordoned", 0, 1)),
    ({}, {"ready": False}, ("node", "n2", "ready", 1, 0)),
    ({}, {"allocatable_gpus": 7}, ("node", "n2", "allocatable_gpus", 8, 7)),
    ({}, {"max_pods": 9}, ("node", "n2", "max_pods", None, 9)),
    ({}, {"labels": {"a": "b"}}, ("node", "n2", "labels", None, "a=b")),
    ({}, {"asw": "y"}, ("node", "n2", "domain", "asw:x", "asw:y")),
]


@pytest.mark.parametrize(("a", "n2", "change"), FIELDS)
def test_own_fields_of_what_the_plan_touches(
    a: dict[str, Any], n2: dict[str, Any], change: tuple[str, str, str, Any, Any]
) -> None:
    kind, name, field, was, now = change
    assert found(base(a, n2)) == (Change(moves=(0,), object_kind=kind, object=name, field=field, was=was, now=now),)


def test_what_is_gone() -> None:
    gone = base().without("jobs/a")
    assert [(c.object_kind, c.object, c.was, c.now) for c in found(gone)] == [("pod", "jobs/a", "present", None)]
    moved = base().without("jobs/a").pod("a", "n3", 2, uid="u1")
    assert [(c.field, c.was, c.now) for c in found(moved)] == [("node", "n1", "n3")]


def test_room_that_others_took() -> None:
    change = found(base().pod("new", "n2", 3))
    assert [(c.moves, c.object_kind, c.object, c.field, c.now) for c in change] == [((0,), "node", "n2", "gpus", 1)]


def test_a_new_pod_on_a_node_that_was_to_be_emptied() -> None:
    change = found(base().pod("new", "n1", 1))
    assert [(c.moves, c.object, c.field) for c in change] == [((0,), "n1", "emptied_nodes")]


def test_a_target_that_emptied_by_itself() -> None:
    change = found(base().without("jobs/b"))
    assert [(c.object, c.field, c.was, c.now) for c in change] == [("n2", "pods", 1, 0)]


def test_a_budget_that_is_used_up() -> None:
    before = base({"labels": {"app": "x"}}).budget("app=x", max_unavailable=1)
    now = base({"labels": {"app": "x"}}).budget("app=x", max_unavailable=0)
    old = before.snapshot()
    change = changes(plan(old, [("a", "n2", 0)]), old, now.snapshot())
    assert {(c.field, c.object) for c in change} == {("budget", "jobs/a"), ("budget", "jobs app=x")}


def test_the_rest_of_a_plan_holds_between_its_waves() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 6).pod("b", "n2", 4).pod("e", "n3", 4, locked=True)
    before = made.snapshot()
    between = made.without("jobs/b").pod("b", "n3", 4).snapshot()
    rest = plan(before, [("a", "n2", 0)], emptied_nodes=("n1",))
    assert changes(rest, before, between) == ()


def test_a_cluster_that_is_gone() -> None:
    before = base().snapshot()
    other = world().node("n1", cluster="c2").snapshot()
    change = changes(plan(before, [("a", "n2", 0)]), before, other)
    assert [(c.object_kind, c.object, c.now) for c in change] == [("cluster", "default", None)]
