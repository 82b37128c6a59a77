"""Above a size two different people must say yes to one digest."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.plans import selectors, services
from console.plans.models import Decision, Plan
from console.policies.choices import Place
from console.policies.services import set_value
from console.tenancy.services import Denied
from tests.builders.people import approver, operator
from tests.console.plans.scene import TWO, scene, three_nodes, two

pytestmark = pytest.mark.django_db


def decide(name: str, value: int | None, version: int = 0) -> None:
    set_value(approver("decider"), name, Place(), value, reason="carefully", version=version)


def large() -> Plan:
    """Two moves of four GPUs, where more than one move needs two approvers."""
    decide("two_approvers_above_moves", 1)
    return two()[1]


def say_yes(plan: Plan, name: str, **more: Any) -> Plan:
    return services.approve_plan(approver(name), plan.pk, plan.digest, f"{name} agrees", **more)


def test_the_first_yes_is_kept_and_the_second_approves() -> None:
    plan = large()
    first = say_yes(plan, "one", start=True)
    assert (first.state, first.approver, selectors.approvals_of(first).words) == ("proposed", None, "1 of 2 approvals")
    second = say_yes(plan, "two", start=True)
    assert (second.state, second.approver.username) == ("executing", "two")
    assert list(Decision.objects.values_list("user__username", "verdict", "digest")) == [
        ("one", "approved", plan.digest),
        ("two", "approved", plan.digest),
    ]
    given = Entry.objects.get(action="plan.approval_given")
    assert (given.actor, given.digest, given.detail["approvals"], given.detail["needed"]) == ("one", plan.digest, 1, 2)


@pytest.mark.parametrize(
    ("name", "limit", "needed"),
    [("two_approvers_above_moves", 1, 2), ("two_approvers_above_moves", 2, 1),
     ("two_approvers_above_gpus", 3, 2), ("two_approvers_above_gpus", 4, 1)],
)  # fmt: skip
def test_the_size_is_of_moves_or_of_gpus(name: str, limit: int, needed: int) -> None:
    decide(name, limit)
    plan = two()[1]
    assert (plan.approvals_needed, selectors.approvals_of(plan).needed) == (needed, needed)


def test_nobody_says_yes_twice_and_never_the_proposer() -> None:
    plan = large()
    say_yes(plan, "one")
    with pytest.raises(services.Conflict, match="somebody else's"):
        say_yes(plan, "one")
    Plan.objects.filter(pk=plan.pk).update(proposer=approver("asker"))
    with pytest.raises(Denied):
        say_yes(plan, "asker")
    assert Plan.objects.get(pk=plan.pk).state == "proposed"


def test_who_said_yes_may_still_say_no() -> None:
    plan = large()
    say_yes(plan, "one")
    assert services.reject_plan(approver("one"), plan.pk, plan.digest, "on second thoughts").state == "rejected"
    assert Decision.objects.count() == 2


def test_lifting_the_limit_helps_later_plans_only_and_lowering_it_counts_at_once() -> None:
    plan = large()
    decide("two_approvers_above_moves", 500, version=1)
    assert say_yes(plan, "one").state == "proposed"
    small = two_more()
    decide("two_approvers_above_moves", 1, version=2)
    assert say_yes(small, "one").state == "proposed"
    client = APIClient()
    client.force_authenticate(operator())
    assert client.get(reverse("api:plan", args=[small.pk])).json()["approvals_needed"] == 2
    assert [one["approvals_needed"] for one in client.get(reverse("api:plans")).json()["results"]] == [2, 2]
    assert say_yes(small, "two").state == "approved"


def two_more() -> Plan:
    return scene(three_nodes(), "other").plan(*TWO)


def test_the_validity_is_the_policys() -> None:
    decide("valid_minutes", 90)
    plan = two()[1]
    assert plan.expires_at is not None
    assert plan.expires_at - plan.proposed_at == timedelta(minutes=90)
    done = services.approve_plan(approver(), plan.pk, plan.digest, "yes")
    assert done.expires_at - done.approved_at == timedelta(minutes=90)


def test_page_and_api_say_one_of_two(client: Any) -> None:
    plan = large()
    say_yes(plan, "one")
    client.force_login(approver("one"))
    text = client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
    assert "1 of 2 approvals" in text
    assert "somebody else" in text
    assert "Approve 2 moves" not in text
    client.force_login(approver("two"))
    assert "Approve 2 moves" in client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
    api = APIClient()
    api.force_authenticate(operator())
    said = api.get(reverse("api:plans")).json()["results"][0]
    assert said["approvals_needed"] == 2
    assert [(one["user"], one["verdict"]) for one in said["decisions"]] == [("one", "approved")]
