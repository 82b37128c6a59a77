"""The message broker is gone: nothing is started, what was asked is not lost, and people are told."""

from typing import Any

import pytest
from celery import Celery
from django.conf import settings
from django.urls import reverse
from rest_framework.test import APIClient

from console.live import services as live
from console.plans import services
from console.plans.choices import State
from console.plans.models import NodeLock, Plan
from console.plans.services import proposals
from tests.builders.people import approver, operator
from tests.console.plans.scene import approved, move, requested, scene

pytestmark = pytest.mark.django_db(transaction=True)
NOBODY = "redis://127.0.0.1:1/0"
A = move("a", "n1", "n2")


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Whoever sends or announces anything finds nobody at the other end."""
    settings.REDIS_URL = NOBODY
    live.forget_connection()
    lonely = Celery("lonely", broker=NOBODY, set_as_current=False)
    lonely.conf.task_publish_retry = False
    monkeypatch.setattr("console.plans.services.broker.current_app", lonely)
    monkeypatch.setattr("console.dispatch.services.current_app", lonely)


def test_nothing_is_started_and_the_answer_says_why(no_broker: None) -> None:
    plan = scene().plan(A)
    approved(plan)
    client = APIClient()
    client.force_authenticate(operator())
    answer = client.post(reverse("api:plan-start", args=[plan.pk]))
    assert answer.status_code == 409
    assert "message broker does not answer" in answer.json()["errors"][0]["detail"]
    assert Plan.objects.get(pk=plan.pk).state == State.APPROVED
    assert not NodeLock.objects.exists()


def test_nothing_is_resumed(no_broker: None) -> None:
    """The locks of the paused run stay with it, and nobody else gets hold of its nodes meanwhile."""
    plan = scene().plan(A)
    approved(plan)
    with pytest.MonkeyPatch.context() as there:
        there.setattr("console.plans.services.running.require_broker", lambda: None)
        services.start_plan(operator(), plan.pk)
    services.pause_plan(operator(), plan.pk, "lunch")
    with pytest.raises(services.Conflict, match="broker"):
        services.resume_plan(operator(), plan.pk)
    assert Plan.objects.get(pk=plan.pk).state == State.PAUSED
    assert NodeLock.objects.filter(plan=plan).count() == 2


def test_approve_and_start_is_all_or_nothing(no_broker: None) -> None:
    plan = scene().plan(A)
    with pytest.raises(services.Conflict, match="broker"):
        services.approve_plan(approver(), plan.pk, plan.digest, "yes", start=True)
    assert Plan.objects.get(pk=plan.pk).state == State.PROPOSED


def test_a_request_is_kept_and_sent_when_the_broker_is_back(no_broker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = requested(scene().source)
    assert Plan.objects.get(pk=plan.pk).state == State.REQUESTED
    Plan.objects.update(requested_at=plan.requested_at - proposals.LEASE * 2)
    sent: list[str] = []
    monkeypatch.setattr("console.plans.services.sweeping.enqueue", lambda task, plan_id: sent.append(task))
    services.sweep()
    assert sent == ["consolidation.plan"]


def test_with_a_broker_it_starts() -> None:
    assert settings.REDIS_URL != NOBODY
    plan = scene().plan(A)
    approved(plan)
    assert services.start_plan(operator(), plan.pk).state == State.EXECUTING
