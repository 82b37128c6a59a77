"""Plans for a goal: asked by form and API with errors at the field, computed, told on the page, run to the end."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.consolidation import planning, services
from console.consolidation.choices import GOALS
from console.plans.choices import State
from console.plans.models import Plan
from scheduler.plan.ask import GIVEN
from tests.builders.pages import squeezed
from tests.builders.people import operator
from tests.builders.worlds import World, world
from tests.console.plans.scene import CLUSTER, Scene, ran, scene, started, where

pytestmark = pytest.mark.django_db(transaction=True)
PARAMS = {"depth": 3, "max_moves": None}


def drained() -> World:
    """Both pods of n1 have room elsewhere; the one on n2 is locked."""
    made = world().asw("a").nodes("n1", "n2").asw("b").nodes("n3")
    return made.pod("a", "n1", 2).pod("b", "n1", 3).pod("held", "n2", 4, locked=True).pod("c", "n3", 1)


def planned(one: Scene, goal: dict[str, Any]) -> Plan:
    asked = services.request(
        operator(), source_id=one.source.pk, cluster=CLUSTER, models=[], params=PARAMS, seed=0, goal=goal
    )
    planning.compute(asked.pk)
    return Plan.objects.get(pk=asked.pk)


def page_of(plan: Plan) -> str:
    browser = Client()
    browser.force_login(operator())
    return squeezed(browser.get(reverse("plans:detail", args=[plan.pk])).content.decode())


def test_the_goals_of_the_form_are_those_of_the_core() -> None:
    """Web processes ask in fields of their own; they must not part from what each goal is asked with."""
    for kind, choice in GOALS.items():
        assert set(GIVEN[kind]) == set(choice.fields) - {"models", "whole"}, kind


def test_a_drain_is_planned_told_and_run_until_the_node_is_clear() -> None:
    one = scene(drained())
    plan = planned(one, {"kind": "drain", "nodes": ["n1"]})
    assert plan.state == State.PROPOSED, plan.reason
    assert plan.title == f"drain n1 in {CLUSTER}"
    goal = plan.headline["goal"]
    assert (goal["reached"], goal["wanted"], goal["nodes"], plan.headline["gap"]) == (1, 1, ["n1"], 0)
    assert "1 of 1 nodes cleared by 2 moves" in page_of(plan)
    started(plan)
    done = ran(plan)
    assert (done.state, done.reason) == (State.SUCCEEDED, "2 of 2 moves done; 1 of 1 nodes as asked")
    assert "n1" not in where(one).values()


def test_a_drain_that_is_not_possible_says_what_holds_the_node() -> None:
    plan = planned(scene(drained()), {"kind": "drain", "nodes": ["n2"]})
    assert (plan.state, plan.reason) == (State.NOTHING_TO_DO, "Not possible: 0 of 1 nodes. The list says why.")
    assert [(row.node, row.reason) for row in plan.kept.all()] == [("n2", "locked")]
    assert "0 of 1 nodes cleared, without a move" in page_of(plan)


def test_a_switch_is_emptied_whole_or_not_at_all() -> None:
    one = scene(drained())
    plan = planned(one, {"kind": "domain", "name": "b"})
    assert (plan.state, plan.headline["goal"]["nodes"]) == (State.PROPOSED, ["n3"])
    assert planned(one, {"kind": "domain", "name": "a"}).reason.startswith("All or nothing: 1 of 2 nodes")


def test_asked_again_it_asks_for_the_same_goal() -> None:
    plan = planned(scene(drained()), {"kind": "drain", "nodes": ["n1"]})
    again = services.request_again(operator(), plan.pk)
    assert (again.params, again.title) == (plan.params, plan.title)


WRONG = [
    ({"kind": "drain"}, "nodes"),
    ({"kind": "drain", "nodes": ["n9"]}, "nodes"),
    ({"kind": "domain", "name": "z"}, "name"),
    ({"kind": "domain", "name": "a", "level": "row"}, "level"),
]


@pytest.mark.parametrize(("goal", "field"), WRONG)
def test_the_api_names_the_field_of_a_goal_that_it_refuses(goal: dict[str, Any], field: str) -> None:
    one = scene(drained())
    client = APIClient()
    client.force_authenticate(operator())
    body = {"source": one.source.pk, "cluster": CLUSTER, "goal": goal}
    answer = client.post("/api/v1/plans/consolidation/", body, format="json")
    assert answer.status_code == 400
    assert [error["attr"] for error in answer.json()["errors"]] == [f"goal.{field}"]
    assert Plan.objects.count() == 0


def test_the_form_shows_only_the_fields_of_its_goal_prefilled_and_names_what_is_wrong() -> None:
    one = scene(drained())
    browser = Client()
    browser.force_login(operator())
    url, key = reverse("consolidation:new"), f"{one.source.pk}|{CLUSTER}"
    shown = squeezed(browser.get(url, {"goal": "drain", "nodes": "n1", "scope": key}).content.decode())
    assert ">n1</textarea>" in shown
    assert 'name="rounds"' not in shown and 'name="models"' not in shown
    sent = {"goal": "drain", "scope": key, "nodes": "n1, n9", "depth": 3, "seed": 0, "max_moves": ""}
    refused = browser.post(url, sent)
    assert refused.status_code == 400
    assert "n9: no such node" in squeezed(refused.content.decode())
    assert browser.post(url, {**sent, "nodes": "n1\nn3"}).status_code == 302
    assert Plan.objects.get().params["goal"] == {"kind": "drain", "nodes": ["n1", "n3"], "whole": False}
