"""What people and programs read of the level, and what a plan's page says about who decided."""

from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.automation import services
from console.automation.models import PoolTurn
from console.plans import services as plans
from console.policies.choices import OBSERVE
from console.routines import services as routines
from console.routines.models import Routine
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, viewer
from tests.console.automation.earning import MODEL, again, allow, earned, opened, past, set_to
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import CLUSTER, TWO, scene, started, three_nodes

pytestmark = pytest.mark.django_db


def read(client: Any, name: str, query: str = "", args: tuple[Any, ...] = ()) -> str:
    answer = client.get(reverse(name, args=args) + query)
    assert answer.status_code == 200
    return squeezed(answer.content.decode())


def api() -> APIClient:
    client = APIClient()
    client.force_authenticate(approver())
    return client


def test_who_decided_and_why_not(client: Any) -> None:
    plan = earned()[1]
    page = page_of(viewer(), opened(scene(three_nodes(), "other")))
    assert "Not started automatically" not in page
    set_to("automatic_moves", 1)
    routines.decide_open()
    page = squeezed(page_of(viewer(), plan))
    assert "Not started automatically" in page
    assert "left to people: 2 moves, more than 1 (the whole fleet)</bdi>." in page
    set_to("automatic_moves", 9)
    routines.decide_open()
    page = squeezed(page_of(viewer(), plan))
    assert "Automatic, by policy" in page and "automatic, version 1 of the whole fleet, allowed by" in page
    assert "Not started automatically" not in page
    client.force_login(viewer())
    assert "policy, by" in read(client, "plans:list")
    told = api().get(reverse("api:plan", args=[plan.pk])).json()
    assert told["decisions"][0]["policy"] == "automatic, version 1 of the whole fleet" and told["left_to_people"] == ""
    routine = read(client, "routines:detail", args=(Routine.objects.earliest("pk").pk,))
    assert f"{MODEL}</bdi></a>" in routine and "started by the policy, allowed by owner: up to 9 moves" in routine


def test_scorecards_are_read_and_given_back(client: Any) -> None:
    one = scene(three_nodes())
    allow()
    past(one.source, 1)
    client.force_login(viewer())
    assert "automatic is allowed; earned 1 of 2 plans; until then: approve" in read(client, "automation:list")
    (told,) = api().get(reverse("api:scorecards"), {"cluster": CLUSTER}).json()
    assert (told["standing"], told["automatic"], told["figures"]["requests_lost"]) == ("earning", False, None)
    query = f"?source={one.source.pk}&cluster={CLUSTER}&gpu_model={MODEL}"
    assert "no data: the cluster’s connector did not count requests" in read(client, "automation:card", query)
    past(one.source, 1, requests_asked=5000, requests_lost=12, whole=False)
    assert "12 of 5,000, 1 run not known" in read(client, "automation:card", query)
    assert told["criteria"][0] == {
        "name": "automatic_plans", "have": 1, "need": 2, "holds": False, "words": "1 of 2 plans",
    }  # fmt: skip

    plan = started(one.plan(*TWO, user=operator("asker")))
    plans.abort_plan(operator(), plan.pk, "a fan was loud")
    services.settle()
    where = {"source": one.source.pk, "cluster": CLUSTER, "gpu_model": MODEL}
    client.force_login(viewer())
    assert "a fan was loud" in read(client, "overview:fleet").split("Needs a decision")[1]
    page = read(client, "automation:card", query)
    assert "a fan was loud" in page and "Give it back" not in page
    client.force_login(approver())
    assert "Give it back" in read(client, "automation:card", query)
    body = {**where, "lost": PoolTurn.objects.get().pk, "reason": "a fan, replaced"}
    answer = client.post(reverse("automation:give-back"), body)
    assert answer.status_code == 302 and "given back" in read(client, "automation:card", query).lower()
    refused = api().post(reverse("api:automation-give-back"), body, format="json")
    assert refused.status_code == 409
    assert [one["turn"] for one in api().get(reverse("api:automation-turns")).json()["results"]] == [
        "given_back", "lost",
    ]  # fmt: skip


def test_where_the_level_is_observe_plans_are_reports_everywhere(client: Any) -> None:
    plan = scene(three_nodes()).plan(*TWO)
    set_to("autonomy", OBSERVE)
    client.force_login(viewer())
    page = squeezed(page_of(viewer(), plan))
    assert "Report" in page and "Awaiting approval" not in page.split("<main")[1].split("All plans")[0]
    assert not again(plan).report
    plans.sweep()
    assert again(plan).report and again(plan).shown_state == "report"
    listed = read(client, "plans:list").split('id="plan-table"')[1]
    assert "Report" in listed and "Awaiting approval" not in listed
    assert api().get(reverse("api:plan", args=[plan.pk])).json()["report"] is True
    other = scene(three_nodes(), "other").plan(*TWO)
    assert other.report
    set_to("autonomy", 2)
    plans.sweep()
    assert not again(plan).report and "Awaiting approval" in read(client, "plans:list").split('id="plan-table"')[1]
