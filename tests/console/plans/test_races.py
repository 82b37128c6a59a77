"""C32: two decisions at once.  One wins with 2xx, the other gets 409 with the reason, never 500."""

import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.plans.choices import State
from console.plans.models import Decision, NodeLock, Plan
from tests.builders.people import approver, operator
from tests.console.plans.scene import Scene, approved, move, scene

pytestmark = pytest.mark.django_db(transaction=True)
A = move("a", "n1", "n2")
TIMES = 8
Call = tuple[str, Any, dict[str, Any]]


def _together(*calls: Call) -> list[int]:
    """Status codes of the calls, sent at the same moment from threads of their own."""
    gate = threading.Barrier(len(calls))
    codes: list[int] = [0] * len(calls)

    def send(place: int, path: str, user: Any, body: dict[str, Any]) -> None:
        client = APIClient(raise_request_exception=False)
        client.force_authenticate(user)
        gate.wait()
        try:
            codes[place] = client.post(path, body, "json").status_code
        except Exception:
            traceback.print_exc()
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(place, *call)) for place, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(codes)


def _call(action: str, plan: Plan, user: Any, **body: Any) -> Call:
    return reverse(f"api:plan-{action}", args=[plan.pk]), user, body


def _repeat(check: Callable[[Scene], None]) -> None:
    one = scene()
    for _ in range(TIMES):
        NodeLock.objects.all().delete()
        check(one)


def test_approve_and_reject() -> None:
    def check(one: Scene) -> None:
        plan = one.plan(A)
        said = {"digest": plan.digest, "reason": "because"}
        codes = _together(_call("approve", plan, approver("u1"), **said), _call("reject", plan, approver("u2"), **said))
        assert codes == [200, 409]
        decision = Decision.objects.get(plan=plan)
        assert Plan.objects.get(pk=plan.pk).state == decision.verdict
        made = Entry.objects.filter(target_id=str(plan.pk), action__in=["plan.approved", "plan.rejected"])
        assert [entry.action for entry in made] == [f"plan.{decision.verdict}"]

    _repeat(check)


def test_approve_and_approve() -> None:
    def check(one: Scene) -> None:
        plan = one.plan(A)
        said = {"digest": plan.digest, "reason": "because", "start": True}
        user = approver("u1")
        assert _together(_call("approve", plan, user, **said), _call("approve", plan, user, **said)) == [200, 409]
        assert Plan.objects.get(pk=plan.pk).state == State.EXECUTING
        assert Entry.objects.filter(target_id=str(plan.pk), action="plan.executing").count() == 1

    _repeat(check)


def test_execute_and_execute_of_two_plans_on_the_same_nodes() -> None:
    def check(one: Scene) -> None:
        plans = [one.plan(A), one.plan(A)]
        for plan in plans:
            approved(plan)
        codes = _together(*(_call("start", plan, operator(f"u{k}")) for k, plan in enumerate(plans)))
        assert codes == [200, 409]
        states = Plan.objects.filter(pk__in=[plan.pk for plan in plans]).values_list("state", flat=True)
        assert sorted(states) == [State.APPROVED, State.EXECUTING]

    _repeat(check)


def test_pause_and_abort_and_pause() -> None:
    """Both may win, one after the other; whatever the order, nothing is lost and nobody gets a 500."""

    def check(one: Scene) -> None:
        plan = one.plan(A)
        approved(plan)
        client = APIClient()
        client.force_authenticate(operator())
        assert client.post(reverse("api:plan-start", args=[plan.pk])).status_code == 200
        codes = _together(
            _call("pause", plan, operator("u1")),
            _call("abort", plan, operator("u2"), reason="enough"),
            _call("pause", plan, operator("u3")),
        )
        assert codes in ([200, 200, 409], [200, 409, 409])
        assert Plan.objects.get(pk=plan.pk).state == State.ABORTED

    _repeat(check)
