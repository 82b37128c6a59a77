"""Which jobs started sooner because of a plan: a scripted world, reading by reading."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.connectors.changes import Arrived
from console.plans import selectors, services
from console.plans.followed import StartedJob
from console.plans.models import Plan
from console.plans.selectors.gains import Gains
from console.plans.services import gaining
from scheduler.cluster.records import PodRecord
from tests.builders.pages import squeezed
from tests.builders.people import operator, viewer
from tests.builders.worlds import World, world
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import Scene, arrives, ends, move, observe, pod_set, ran, scene, started
from tests.console.plans.test_holding import for_gang

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaining, "ASK_EVERY", timedelta(0))


def emptied(made: World | None = None) -> tuple[Scene, Plan]:
    """a and b left n1 and n2 for n3; j waits for a whole node since before the plan."""
    made = made or world().nodes("n1", "n2").pod("a", "n1", 2).pod("b", "n2", 2)
    made.node("n3").pod("z", "n3", 2, locked=True).pod("j", None, 8)
    one = scene(made)
    plan = ran(started(one.plan(move("a", "n1", "n3", 0), move("b", "n2", "n3", 1))))
    services.sweep()
    return one, Plan.objects.get(pk=plan.pk)


def starts(one: Scene, name: str, node: str) -> None:
    one.happen(pod_set(name, node=node, phase="Running"))
    services.sweep()


def found(plan: Plan) -> Gains:
    record = selectors.record(viewer(), Plan.objects.get(pk=plan.pk))
    assert record is not None and record.gains is not None
    return record.gains


def later(**fields: Any) -> None:
    """As if the readings so far were a while ago; j began half an hour before the last of them."""
    past = timezone.now() - timedelta(hours=1)
    StartedJob.objects.update(seen_at=past, checked_at=past, started_at=past - timedelta(minutes=30), **fields)


def test_a_job_that_waited_and_started_on_a_freed_node() -> None:
    one, plan = emptied()
    assert found(plan).jobs == []
    assert "no gang and no pod of the size has started" in squeezed(page_of(viewer(), plan, "?part=record"))
    starts(one, "j", "n1")
    (row,) = found(plan).jobs
    assert (row.job, row.verdict, row.why, row.nodes) == ("jobs/j", "waits", "0 of 1 pods find room", ["n1"])
    assert (row.waited, row.at_least, row.gpu_milli, row.until) == (True, True, 8000, "still no room")
    later()
    one.happen(arrives("x", "n2", 1))  # another reading, and still no room without the plan
    services.sweep()
    (row,) = found(plan).jobs
    assert row.at_least and row.sooner_s is not None and 5400 - 5 <= row.sooner_s <= 5400 + 60
    one.happen(
        ends("z"), ends("a")
    )  # without the plan, a would have ended on n1, and b stands on n2: n1 and n3 are free
    services.sweep()
    gained = found(plan)
    (row,) = gained.jobs
    assert (row.at_least, row.until) == (False, "until there was room elsewhere")
    assert (gained.waits, gained.at_least, round(gained.gpu_hours, 1)) == (1, False, 12.0)
    page = squeezed(page_of(viewer(), plan, "?part=record"))
    assert "1 job, 12.0 GPU-h sooner" in page and "waited before" in page


def test_a_job_that_would_have_fitted_elsewhere_is_no_gain() -> None:
    one, plan = emptied(world().nodes("n1", "n2", "n4").pod("a", "n1", 2).pod("b", "n2", 2))
    starts(one, "j", "n1")
    gained = found(plan)
    assert (gained.waits, gained.elsewhere, gained.gpu_hours, gained.jobs[0].why) == (0, 1, 0.0, "on n4")
    assert gained.jobs[0].sooner_s is None and not StartedJob.objects.get().is_open


def test_a_gang_counts_when_its_least_members_run_and_only_once() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1", 2).pod("b", "n2", 2).gang("g", 2)
    one, plan = emptied(made.pod("g-0", None, 8, gang="g").pod("g-1", None, 8, gang="g"))
    starts(one, "g-0", "n1")
    assert found(plan).jobs == []
    starts(one, "g-1", "n2")
    (row,) = found(plan).jobs
    assert (row.job, row.gang, row.pods, row.gpu_milli, row.nodes) == ("jobs/g", True, 2, 16000, ["n1", "n2"])
    assert (row.verdict, row.why) == ("waits", "0 of 2 pods find room")
    one.happen(ends("g-0"))
    services.sweep()
    assert len(found(plan).jobs) == 1


def test_small_pods_moved_pods_and_second_tenants_of_a_node_are_no_jobs() -> None:
    one, plan = emptied()
    one.happen(arrives("small", "n1", 2))
    services.sweep()
    one.happen(ends("small"))
    services.sweep()
    starts(one, "j", "n1")  # the node was used and left again: the plan has no part in it
    assert found(plan).jobs == []


def test_what_the_plan_itself_had_moved_is_no_job() -> None:
    """Refilled by its own pods: a rollback takes them to where they stood."""
    made = world().nodes("n1", "n2").pod("a", "n1", 8).pod("b", "n2", 2)
    made.node("n3").node("n4").pod("z", "n3", 2, locked=True).pod("y", "n4", 0, locked=True)
    one = scene(made)
    plan = ran(started(one.plan(move("a", "n1", "n4", 0), move("b", "n2", "n3", 1))))
    services.sweep()
    ran(started(services.roll_back(operator(), plan.pk, "r")))
    observe(one.source)
    services.sweep()
    record = selectors.record(viewer(), Plan.objects.get(pk=plan.pk))
    assert record is not None and record.emptied is not None and record.gains is not None
    assert (record.emptied.refilled, record.emptied.by[0].own, record.gains.jobs) == (2, True, [])


def test_a_job_that_ends_leaves_a_bound_and_the_period_an_end() -> None:
    one, plan = emptied()
    starts(one, "j", "n1")
    later()
    one.happen(ends("j"))
    services.sweep()
    (row,) = found(plan).jobs
    assert (row.at_least, row.until) == (True, "it ended before it would have found room")
    assert row.sooner_s == pytest.approx(1800, abs=1)
    StartedJob.objects.update(is_open=True)
    Plan.objects.update(followed_until=timezone.now() - timedelta(seconds=1))
    assert found(plan).jobs[0].until == "still no room at the end of the period"


def test_the_start_is_told_by_the_clock_of_the_cluster() -> None:
    one, plan = emptied()
    Plan.objects.update(ended_at=timezone.now() - timedelta(hours=2))
    k = PodRecord(name="k", namespace="jobs", node="n2", gpus=8, phase="Running", started_s=400)  # it is 1000 there
    one.happen(Arrived(pod=k))
    services.sweep()
    job = StartedJob.objects.get()
    assert timedelta(seconds=595) <= job.seen_at - job.started_at <= timedelta(seconds=660)
    api = APIClient()
    api.force_authenticate(viewer())
    body = api.get(reverse("api:plan-record", args=[plan.pk])).json()["gains"]
    assert (body["waits"], body["jobs"][0]["job"], body["jobs"][0]["verdict"]) == (1, "jobs/k", "waits")


def test_a_gang_for_which_room_was_made_is_the_gain_of_its_plan() -> None:
    one, plan = for_gang()
    services.sweep()
    one.happen(*(pod_set(member, node="n1", phase="Running") for member in ("g-0", "g-1")))
    services.sweep()
    (row,) = found(plan).jobs
    assert (row.job, row.gang, row.verdict, row.why) == ("jobs/g", True, "waits", "1 of 2 pods find room")
    assert row.waited is True
