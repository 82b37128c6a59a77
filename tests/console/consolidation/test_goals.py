"""Plans for a goal: asked by form and API with errors at the field, computed, told on the page, run to the end."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.consolidation import planning, services
from console.consolidation.choices import GOALS
from console.plans import services as plans
from console.plans.choices import State
from console.plans.models import Plan
from console.plans.selectors import broken_steps
from console.plans.services import Conflict
from scheduler.plan.ask import GIVEN
from tests.builders.fleets import read
from tests.builders.pages import squeezed
from tests.builders.people import operator, viewer
from tests.builders.worlds import World, world
from tests.console.plans.scene import CLUSTER, Scene, approved, arrives, observe, ran, scene, started, where

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
    observe(one.source)  # where kernels had to be compiled first, the reading is old by now
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
    with pytest.raises(services.RequestError, match="says nothing for the goal drain"):
        services.request(
            operator(), source_id=plan.source_id, cluster=CLUSTER, models=plan.headline["models"], params=PARAMS,
            seed=0, goal={"kind": "drain", "nodes": ["n1"]},
        )  # fmt: skip


WRONG = [
    ({"kind": "drain"}, "nodes"),
    ({"kind": "drain", "nodes": ["n9"]}, "nodes"),
    ({"kind": "domain", "name": "z"}, "name"),
    ({"kind": "domain", "name": "a", "level": "row"}, "level"),
    ({"kind": "shape", "name": "8 GPUs", "slots": 1}, "name"),
    ({"kind": "gang", "name": "jobs/none"}, "name"),
    ({"kind": "spare", "nodes": ["n1"]}, "nodes"),
    ({"kind": "nodes", "whole": True}, "whole"),
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


def crowded() -> World:
    """Under switch a the gang of two finds room once c has left a2; a1 fails with a gang of its own."""
    made = world().asw("a").node("a1", ready=False).nodes("a2", "a3", "a4").asw("b").nodes("b1")
    made.gang("run", 1).pod("r0", "a1", 8, gang="run").gang("wait", 2, topology={"required": "asw"})
    made.pod("w0", None, 8, gang="wait").pod("w1", None, 8, gang="wait")
    return made.pod("c", "a2", 1).pod("d", "a4", 6, locked=True).pod("e", "b1", 7, locked=True)


def test_a_gang_that_waits_gets_room_and_the_run_counts_its_seats() -> None:
    one = scene(crowded())
    plan = planned(one, {"kind": "gang", "name": "jobs/w1"})
    goal = plan.headline["goal"]
    assert (plan.state, goal["reached"], goal["wanted"], plan.headline["moves"]) == (State.PROPOSED, 2, 2, 1)
    page = page_of(plan)
    assert "2 of 2 members with a seat by 1 move" in page
    assert "chain 1" in page and "no move" in page
    started(plan)
    done = ran(plan)
    assert (done.state, done.reason) == (State.SUCCEEDED, "1 of 1 move done; 2 of 2 members as asked")


def test_a_gang_without_room_reads_what_would_unblock_it() -> None:
    made = crowded().pod("f", "a3", 1, locked=True)
    plan = planned(scene(made), {"kind": "gang", "name": "jobs/wait"})
    assert (plan.state, plan.shown_state) == (State.NOTHING_TO_DO, "not_possible")
    (missing,) = plan.headline["goal"]["unseated"]
    assert (missing["count"], missing["node"], missing["blockers"]) == (2, "a2", [])
    page = page_of(plan)
    assert "All or nothing: 1 of 2 members would be reached" in page
    assert "Would help" in page


def test_a_failing_node_is_replaced_by_a_spare_and_the_gang_stands_there() -> None:
    one = scene(crowded())
    plan = planned(one, {"kind": "spare", "nodes": ["a1"]})
    assert (plan.state, plan.headline["goal"]["name"]) == (State.PROPOSED, "a")
    started(plan)
    assert ran(plan).reason == "1 of 1 move done; 1 of 1 members as asked"
    assert where(one)["r0"] == "a3"


def test_room_for_a_shape_counts_slots() -> None:
    plan = planned(scene(crowded()), {"kind": "shape", "name": "8G64C", "slots": 2})
    goal = plan.headline["goal"]
    assert (goal["reached"], goal["before"], goal["unit"]) == (2, 1, "slots")
    assert [row["who"] for row in goal["seats"]] == ["slot 1", "slot 2"]


LINKS = [
    ("inventory:node", "a1", {"drain", "spare", "domain"}),
    ("inventory:node", "a2", {"drain", "domain"}),
    ("inventory:pod", "jobs/w0", {"gang"}),
    ("inventory:pod", "jobs/c", set()),
]


@pytest.mark.parametrize(("route", "name", "goals"), LINKS)
def test_pages_lead_to_the_goals_that_they_are_about(route: str, name: str, goals: set[str]) -> None:
    one = scene(crowded())
    read(one.source)
    browser = Client()
    browser.force_login(operator())
    shown = browser.get(reverse(route, args=[CLUSTER, name])).content.decode()
    links = [html.unescape(link) for link in re.findall(r'href="(/consolidation/new/\?[^"]*)"', shown)]
    assert {re.search(r"goal=(\w+)", link)[1] for link in links} == goals  # type: ignore[index]
    for link in links:
        form = squeezed(browser.get(link).content.decode())
        assert f'<option value="{one.source.pk}|{CLUSTER}" selected>' in form
        assert name in form or 'value="a"' in form
    browser.force_login(viewer())
    assert "consolidation/new" not in browser.get(reverse(route, args=[CLUSTER, name])).content.decode()


def test_c27_a_drain_that_would_no_longer_clear_its_node_is_not_approved_and_says_what_came() -> None:
    one = scene(drained())
    plan = planned(one, {"kind": "drain", "nodes": ["n1"]})
    one.happen(arrives("late", "n1", 1))
    with pytest.raises(Conflict) as refused:
        approved(plan)
    assert [(row["object"], row["field"]) for row in refused.value.changes] == [("n1", "goal")]
    assert Plan.objects.get(pk=plan.pk).state == State.STALE


def test_all_or_nothing_is_not_cut() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("b", "n2", 3)
    one = scene(made)
    part = planned(one, {"kind": "drain", "nodes": ["n1", "n2"]})
    assert plans.cut_plan(operator(), part.pk, 1).headline["goal"]["reached"] == 1
    whole = planned(one, {"kind": "drain", "nodes": ["n1", "n2"], "whole": True})
    with pytest.raises(Conflict, match="all or nothing is asked for, and 1 of 2 nodes are reached"):
        plans.cut_plan(operator(), whole.pk, 1)


def test_of_all_or_nothing_a_failed_move_leaves_nothing_to_go_on_with() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("b", "n2", 3)
    plan = planned(scene(made), {"kind": "drain", "nodes": ["n1", "n2"], "whole": True})
    assert broken_steps(plan, [0]) == [0, 1]
    part = planned(scene(made, "other"), {"kind": "drain", "nodes": ["n1", "n2"]})
    assert broken_steps(part, [0]) == [0]
