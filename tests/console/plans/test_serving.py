"""Make before break, as a client of the service sees it."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.connectors.models import SimulatedCluster
from console.connectors.simulated import SimulatedConnector
from console.plans import execution
from console.plans.choices import State
from console.plans.models import Plan
from tests.builders.pages import squeezed
from tests.builders.people import viewer
from tests.builders.serving import Served, served
from tests.builders.worlds import World, world
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import Scene, move, scene, started

pytestmark = pytest.mark.django_db
PER_SECOND = 100


def a_service(replicas: int, mode: str) -> World:
    """Each pod of the service stands alone on a node; all find room on the last one."""
    made = world().node("last").pod("l", "last", 1, locked=True)
    for i in range(replicas):
        made.node(f"n{i}").pod(f"s{i}", f"n{i}", 1, workload="web", move=mode, **{"class": "online"})
    return made


def moved(one: Scene, replicas: int, mode: str, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The plan after its run; copies need 3 to 9 s to come up on a clock that the executor's waits turn."""
    now = [timezone.now()]
    monkeypatch.setattr(SimulatedConnector.__init__, "__defaults__", (lambda: now[0],))
    plan = one.plan(*(move(f"s{i}", f"n{i}", "last", i, mode=mode) for i in range(replicas)))
    started(plan)
    execution.run(plan.pk, wait=lambda seconds: now.__setitem__(0, now[0] + timedelta(seconds=1)))
    plan.refresh_from_db()
    assert plan.state == State.SUCCEEDED, plan.reason
    return plan


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_service_that_may_run_twice_loses_no_request(replicas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = slow_scene(a_service(replicas, "copy"))
    plan = moved(one, replicas, "copy", monkeypatch)
    seen = load_on(one)
    assert seen.failed == 0 and seen.fewest == replicas
    assert seen.asked > 3 * PER_SECOND  # the run took its time
    (told,) = told_of(plan)
    assert (told["mode"], told["moves"], told["lost"], told["expected"]) == ("copy", replicas, 0, 0)
    assert 3 * PER_SECOND <= told["asked"] < seen.asked  # seconds that copies share count once


def test_a_service_that_is_stopped_first_loses_those_of_its_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    one = slow_scene(a_service(1, "restart"))
    plan = moved(one, 1, "restart", monkeypatch)
    seen = load_on(one)
    assert seen.fewest == 0
    assert 3 * PER_SECOND <= seen.failed < seen.asked
    assert told_of(plan) == [
        {"mode": "restart", "moves": 1, "asked": seen.failed, "lost": seen.failed, "expected": None}
    ]
    lost = f"{seen.failed:,} of {seen.failed:,}"
    assert lost in squeezed(page_of(viewer(), plan, "?part=record"))
    plan.steps.update(requests_lost=None)  # as of a cluster that counts none
    assert told_of(plan)[0]["lost"] is None
    page = squeezed(page_of(viewer(), plan, "?part=record"))
    assert lost not in page and 'nothing to go by</td><td class="sl-num sl-strong">no data</td>' in page


def told_of(plan: Plan) -> list[dict[str, Any]]:
    """What the record says of requests, over the API."""
    api = APIClient()
    api.force_authenticate(viewer())
    answer: list[dict[str, Any]] = api.get(reverse("api:plan-record", args=[plan.pk])).json()["requests"]
    return answer


def slow_scene(made: World) -> Scene:
    """Pods need a few seconds to come up."""
    one = scene(made)
    row = SimulatedCluster.objects.get(uid=one.source.config["cluster"])
    row.tide = {**row.tide, "startup_s": [3, 9]}
    row.save(update_fields=["tide"])
    return one


def load_on(one: Scene) -> Served:
    return served(one.source.config["cluster"], "web", PER_SECOND)
