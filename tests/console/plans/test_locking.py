"""Locks as people see them: whose, until when, who waits, and how they are taken away without harm."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.plans import selectors, services
from console.plans.choices import State, StepState
from console.plans.models import NodeLock, Plan
from console.tenancy.services import Denied
from tests.builders.fleets import read
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, tenant, viewer
from tests.console.plans.browsing import client_of, page_of
from tests.console.plans.scene import TWO, Scene, approved, started, two

pytestmark = pytest.mark.django_db


def held() -> tuple[Scene, Plan, Plan]:
    """A run on n1, n2 and n3, and another plan that waits for two of them."""
    one, plan = two()
    other = one.plan(TWO[0])
    started(plan)
    return one, plan, other


def test_who_holds_what_and_who_waits() -> None:
    _, plan, other = held()
    (group,) = selectors.lock_groups(viewer())
    assert (group.plan.pk, group.nodes, group.owner, group.waiting) == (plan.pk, 3, "operator", [other.pk])
    assert group.expires_at - group.since > timedelta(minutes=29)
    assert "is running" in group.why_not
    api = APIClient()
    api.force_authenticate(viewer())
    rows = api.get(reverse("api:locks")).json()["results"]
    assert [(row["node"], row["plan"], row["wanted_by"]) for row in rows] == [
        ("n1", plan.pk, [other.pk]), ("n2", plan.pk, []), ("n3", plan.pk, [other.pk]),
    ]  # fmt: skip
    assert [row["node"] for row in api.get(reverse("api:locks") + "?node=2").json()["results"]] == ["n2"]


def test_the_page_its_links_and_the_note_on_the_node() -> None:
    one, plan, other = held()
    read(one.source)
    page = squeezed(client_of(approver()).get(reverse("plans:locks")).content.decode())
    assert f"Plan {plan.pk} is running: its locks are what keeps others off these nodes." in page
    assert f'<a href="{reverse("plans:detail", args=[other.pk])}">{other.pk}</a>' in page
    assert f"{reverse('plans:locks')}?plan={plan.pk}" in page_of(viewer(), plan)
    node = reverse("inventory:node", args=["default", "n1"])
    assert f"Locked by plan {plan.pk} of operator" in client_of(viewer()).get(node).content.decode()
    assert "Locked by plan" not in client_of(tenant("t1")).get(node).content.decode()
    services.pause_plan(operator(), plan.pk, "lunch")
    assert "Release</button>" in squeezed(client_of(approver()).get(reverse("plans:locks")).content.decode())
    assert "Approvers release locks." in client_of(operator()).get(reverse("plans:locks")).content.decode()
    Plan.objects.filter(pk=plan.pk).update(state=State.EXECUTING)
    NodeLock.objects.all().delete()
    assert "No node is locked." in client_of(viewer()).get(reverse("plans:locks")).content.decode()


def test_a_release_lets_others_start_and_a_resume_must_take_them_again() -> None:
    _, plan, other = held()
    services.pause_plan(operator(), plan.pk, "lunch")
    assert services.release_locks(approver(), plan.pk, "plan 2 is urgent") == 3
    assert not NodeLock.objects.exists()
    entry = Entry.objects.get(action="plan.locks_released", target_id=str(plan.pk))
    assert (entry.actor, entry.reason, entry.digest) == ("approver", "plan 2 is urgent", plan.digest)
    assert entry.detail == {"nodes": ["n1", "n2", "n3"], "count": 3, "state": "paused"}
    approved(other)
    assert services.start_plan(operator(), other.pk).state == State.EXECUTING
    with pytest.raises(services.Conflict, match=f"locked by plan {other.pk}"):
        services.resume_plan(operator(), plan.pk)
    assert Plan.objects.get(pk=plan.pk).state == State.PAUSED


def test_not_while_it_runs_nor_with_moves_in_flight_nor_without_a_reason_or_the_right() -> None:
    _, plan, _other = held()
    with pytest.raises(services.Conflict, match="is running"):
        services.release_locks(approver(), plan.pk, "r")
    services.pause_plan(operator(), plan.pk, "lunch")
    with pytest.raises(Denied):
        services.release_locks(operator(), plan.pk, "r")
    with pytest.raises(services.Conflict, match="needs a reason"):
        services.release_locks(approver(), plan.pk, " ")
    plan.steps.filter(index=0).update(state=StepState.ISSUED, issued_at=timezone.now())
    with pytest.raises(services.Conflict, match="1 move in flight"):
        services.release_locks(approver(), plan.pk, "r")
    assert NodeLock.objects.count() == 3
    plan.steps.update(state=StepState.DROPPED)
    services.release_locks(approver(), plan.pk, "r")
    with pytest.raises(services.Conflict, match="holds no locks"):
        services.release_locks(approver(), plan.pk, "r")


def test_what_ran_out_is_said() -> None:
    _, plan, _other = held()
    NodeLock.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert ", ran out" in client_of(viewer()).get(reverse("plans:locks")).content.decode()
    assert NodeLock.objects.filter(plan=plan).exists()
