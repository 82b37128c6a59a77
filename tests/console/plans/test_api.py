"""The API's ways of saying no, and its ways of naming what is approved."""

from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.plans.choices import State
from console.plans.models import Plan
from tests.builders.fleets import observed
from tests.builders.people import approver, operator
from tests.builders.worlds import GPU_MODEL, world
from tests.console.plans.scene import arrives, move, scene

pytestmark = pytest.mark.django_db
A = move("a", "n1", "n2")
YES = {"reason": "because"}


def _client(user: Any) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.force_authenticate(user)
    return client


def _approve(plan: Plan, body: dict[str, Any], **headers: str) -> Any:
    return _client(approver()).post(reverse("api:plan-approve", args=[plan.pk]), body, "json", headers=headers)


def test_the_digest_comes_in_the_header_or_in_the_field() -> None:
    one = scene()
    first, second = one.plan(A), one.plan(A)
    assert _approve(first, YES, **{"If-Match": f'"{first.digest}"'}).status_code == 200
    assert _approve(second, {**YES, "digest": second.digest}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [(YES, 428), ({**YES, "digest": "0" * 64}, 409), ({**YES, "digest": "short"}, 400), ({"digest": "0" * 64}, 400)],
)
def test_no_digest_another_digest_no_digest_at_all_and_no_reason(body: dict[str, Any], status: int) -> None:
    plan = scene().plan(A)
    answer = _approve(plan, body)
    assert answer.status_code == status
    assert answer.json()["errors"][0]["detail"]
    assert Plan.objects.get(pk=plan.pk).state == State.PROPOSED


def test_a_conflict_has_the_reason_and_the_list() -> None:
    one = scene()
    plan = one.plan(A)
    one.happen(arrives("c", "n1", 4), arrives("d", "n2", 2))
    answer = _approve(plan, {**YES, "digest": plan.digest})
    assert answer.status_code == 409
    body = answer.json()
    assert "1 of 1 move no longer holds." in body["errors"][0]["detail"]
    assert {"moves", "kind", "object", "field", "was", "now"} == set(body["changes"][0])


def test_ones_own_proposal_is_forbidden_not_in_conflict() -> None:
    plan = scene().plan(A, user=approver())
    answer = _approve(plan, {**YES, "digest": plan.digest})
    assert answer.status_code == 403
    assert "somebody else" in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize("action", ["approve", "start", "pause", "cut", "again", "stop"])
def test_a_plan_that_is_not_there(action: str) -> None:
    body = {**YES, "digest": "0" * 64, "moves": 1}
    assert _client(approver()).post(reverse(f"api:plan-{action}", args=[77]), body, "json").status_code == 404


def test_the_plan_has_its_digest_as_etag() -> None:
    plan = scene().plan(A)
    client = _client(operator())
    answer = client.get(reverse("api:plan", args=[plan.pk]))
    assert answer.headers["ETag"] == f'"{plan.digest}"'
    assert answer.json()["headline"]["net_emptied"] == 1
    document = client.get(reverse("api:plan-document", args=[plan.pk]))
    assert [one["pod"] for one in document.json()["moves"]] == ["jobs/a"]


def test_freezes_come_and_go() -> None:
    observed(world().node("n1"))
    client = _client(operator())
    body = {"scope": "pool", "cluster": "default", "gpu_model": GPU_MODEL, "reason": "works"}
    body["expires_at"] = "2199-01-01T00:00Z"
    made = client.post(reverse("api:freezes"), body, "json")
    assert made.status_code == 201
    lift = reverse("api:freeze-lift", args=[made.json()["id"]])
    for silent in ({}, {"reason": " "}):
        refused = client.post(lift, silent, "json")
        assert (refused.status_code, refused.json()["errors"][0]["attr"]) == (400, "reason")
    assert client.post(lift, {"reason": "done"}, "json").status_code == 200
    assert client.post(lift, {"reason": "done"}, "json").status_code == 409
    assert Entry.objects.get(action="freeze.lifted").reason == "done"
    past = client.post(reverse("api:freezes"), {**body, "expires_at": "2001-01-01T00:00Z"}, "json")
    assert past.status_code == 400
    assert past.json()["errors"][0]["attr"] == "expires_at"
