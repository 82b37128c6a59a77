"""Long work keeps its lease; a lease that somebody else has is left alone."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from console.plans import keeping, services
from console.plans.models import Plan
from tests.console.plans.scene import requested, scene

pytestmark = pytest.mark.django_db(transaction=True)


def _wait_for(plan: Plan, old: object) -> bool:
    """Has the heartbeat moved within ten seconds?"""
    for _ in range(200):
        if Plan.objects.get(pk=plan.pk).heartbeat_at != old:
            return True
        threading.Event().wait(0.05)
    return False


def test_the_lease_is_renewed_as_long_as_the_work_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = requested(scene().source)
    assert services.begin_planning(plan.pk, "me") is not None
    old = timezone.now() - timedelta(seconds=29)
    Plan.objects.update(heartbeat_at=old)
    monkeypatch.setattr(keeping, "EVERY_S", 0.05)
    with keeping.kept_alive(plan.pk, "me"):
        assert _wait_for(plan, old)
        assert services.begin_planning(plan.pk, "another") is None
    assert not [thread for thread in threading.enumerate() if thread.name == f"lease of plan {plan.pk}"]


def test_a_lost_lease_is_not_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = requested(scene().source)
    assert services.begin_planning(plan.pk, "me") is not None
    old = timezone.now() - timedelta(seconds=60)
    Plan.objects.update(heartbeat_at=old, worker="another")
    monkeypatch.setattr(keeping, "EVERY_S", 0.01)
    with keeping.kept_alive(plan.pk, "me"):
        name = f"lease of plan {plan.pk}"
        thread = next((one for one in threading.enumerate() if one.name == name), None)
        if thread is not None:
            thread.join(timeout=10)
    assert Plan.objects.get(pk=plan.pk).heartbeat_at == old
