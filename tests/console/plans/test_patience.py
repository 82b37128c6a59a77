"""A move that waits for a checkpoint: the executor waits until one is read, or until the time is over."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.connectors.models import SimulatedCluster
from console.plans import execution, services
from console.plans.models import NodeLock, Plan, Step
from console.plans.services import checking, patience, pricing, stepping
from console.policies.choices import Place, Scope
from scheduler.plan.operations import AfterCheckpoint
from tests.builders.pages import squeezed
from tests.builders.people import operator, viewer
from tests.builders.worlds import GPU_MODEL, world
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import Scene, core_plan, move, named, pod_set, requested, scene, started, where
from tests.console.policies.test_settings import FLEET, decide

pytestmark = pytest.mark.django_db
INTERVAL = 1800


def proposed(otherwise: str = "leave", limit_s: int = 1800) -> tuple[Scene, Plan]:
    """t on n1 wrote 900 s ago and is stopped to move; c on n2 is copied; both go to n3."""
    made = world(5000).nodes("n1", "n2", "n3").pod("z", "n3", 2, locked=True).pod("c", "n2", 2)
    made.pod("t", "n1", 2, move="restart", checkpoint_s=4100, checkpoint_interval_s=INTERVAL)
    one = scene(made)
    plan = requested(one.source)
    services.begin_planning(plan.pk, "tests")
    snapshot = checking.newest_of(plan).snapshot
    age = snapshot.now_s - 4100
    wait = AfterCheckpoint(lost_s=age, lost_after_s=15, wait_s=INTERVAL - age, limit_s=limit_s, otherwise=otherwise)
    moves = named(snapshot, (move("c", "n2", "n3", 0), move("t", "n1", "n3", 1, mode="restart", after_checkpoint=wait)))
    return one, one.answered(plan.pk, core_plan(snapshot, moves))


def woken(plan: Plan) -> list[int]:
    """What a sweep sends out after the next look was due."""
    now = timezone.now()
    Plan.objects.filter(pk=plan.pk).update(looks_at=now, heartbeat_at=now - timedelta(seconds=5))
    return swept()


def swept() -> list[int]:
    sent: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("console.plans.services.sweeping.enqueue", lambda _task, plan_id: sent.append(plan_id))
        services.sweep()
    return sent


def ran_with(plan: Plan, *then: Callable[[], object]) -> Plan:
    """Carried on to its end; whenever it rests the next of these things happens, and it is woken."""
    execution.run(plan.pk, wait=lambda _seconds: None)
    for happen in then:
        now = Plan.objects.get(pk=plan.pk)
        assert (now.worker, now.rests_until is not None) == ("", True), now.reason
        happen()
        if Plan.objects.get(pk=plan.pk).rests_until is not None:
            assert woken(plan) == [plan.pk]
            execution.run(plan.pk, wait=lambda _seconds: None)
    return Plan.objects.get(pk=plan.pk)


def test_it_waits_until_a_newer_checkpoint_is_read_and_holds_up_nobody() -> None:
    one, plan = proposed()
    asked = squeezed(page_of(viewer(), plan))
    assert "after its next checkpoint (then in 15 min): loses 15 s of work, not 15 min; after 30 min left out" in asked

    def look() -> None:
        step = Step.objects.get(plan=plan, pod="jobs/t")
        assert (step.state, step.due_checkpoint_s, where(one)["t"], where(one)["c"]) == ("waiting", 4100, "n1", "n3")
        assert step.due_at is not None and step.checkpoint_at is not None
        assert abs((step.checkpoint_at - step.due_at).total_seconds() - 900) < 30
        page = squeezed(page_of(viewer(), Plan.objects.get(pk=plan.pk)))
        assert "waits for its checkpoint" in page and "expected in" in page

    def write() -> None:
        assert where(one)["t"] == "n1"
        one.happen(pod_set("t", checkpoint_s=5000))

    done = ran_with(started(plan), look, write)
    assert (done.state, where(one)["t"]) == ("succeeded", "n3")


@pytest.mark.parametrize(("otherwise", "place", "dropped"), [("leave", "n1", 1), ("move", "n3", 0)])
def test_when_the_time_is_over_it_does_what_the_plan_says(otherwise: str, place: str, dropped: int) -> None:
    one, plan = proposed(otherwise)
    long_ago = timezone.now() - timedelta(seconds=1801)
    done = ran_with(started(plan), lambda: Step.objects.filter(due_at__isnull=False).update(due_at=long_ago))
    assert (done.state, where(one)["t"], where(one)["c"]) == ("succeeded", place, "n3")
    assert Step.objects.filter(plan=plan, state="dropped").count() == dropped
    missed = Entry.objects.get(action="step.checkpoint_missed")
    assert missed.reason.startswith("no checkpoint of jobs/t within 30 min")


def test_one_that_has_just_been_written_is_as_good_as_the_next() -> None:
    one, plan = proposed()
    started(plan)
    now = checking.newest_of(plan).snapshot.now_s
    one.happen(pod_set("t", checkpoint_s=now - 5))
    assert ran_with(plan).state == "succeeded"


def test_a_reading_that_kept_its_instant_makes_no_checkpoint_newer() -> None:
    one, plan = proposed()
    started(plan)
    now = checking.newest_of(plan).snapshot
    one.happen(pod_set("t", checkpoint_s=now.now_s - 5))
    snapshot = checking.newest_of(plan).snapshot
    (step,) = Step.objects.filter(pod="jobs/t")
    long_ago = (timezone.now() - timedelta(hours=1)).isoformat()
    assert patience.ready(plan, [step], replace(snapshot, taken_at=long_ago)) == []
    Step.objects.filter(pk=step.pk).update(due_at=None)
    (step,) = Step.objects.filter(pod="jobs/t")
    assert patience.ready(plan, [step], snapshot) == [step]


def test_the_others_of_its_wave_go_first_and_its_time_begins_after_them() -> None:
    _one, plan = proposed()
    started(plan)
    Step.objects.filter(plan=plan).update(run_wave=0)
    copied, waits = Step.objects.filter(plan=plan).order_by("index")
    snapshot = checking.newest_of(plan).snapshot
    assert patience.ready(plan, [copied, waits], snapshot) == [copied]
    assert Step.objects.get(pk=waits.pk).due_at is None
    Step.objects.filter(plan=plan).update(due_at=timezone.now())
    patience.begin_anew(plan, [copied])
    assert [step.due_at is None for step in Step.objects.filter(plan=plan).order_by("index")] == [False, True]


def test_a_move_that_failed_halts_the_run_and_waits_for_no_checkpoint() -> None:
    _one, plan = proposed()
    started(plan)
    Step.objects.filter(plan=plan).update(run_wave=0)
    failed = {"state": "failed", "detail": "r", "ended_at": timezone.now()}
    done = ran_with(plan, lambda: Step.objects.filter(pod="jobs/c").update(**failed))
    assert (done.state, Step.objects.get(pod="jobs/t").state) == ("halted", "waiting")
    assert "1 move failed in wave 1" in done.reason


def test_a_resting_run_keeps_its_locks_and_is_sent_out_once_until_a_lease_is_over() -> None:
    _one, plan = proposed()
    resting = ran_with(started(plan))
    page = squeezed(page_of(viewer(), resting))
    assert "Waits for 1 checkpoint until" in page and "no worker is kept busy" in page
    assert swept() == []
    execution.run(plan.pk)  # a message too many: it is not due
    assert Plan.objects.get(pk=plan.pk).looks_at == resting.looks_at
    NodeLock.objects.update(expires_at=timezone.now() + timedelta(minutes=5))
    assert (woken(plan), swept()) == ([plan.pk], [])
    assert NodeLock.objects.filter(expires_at__lt=timezone.now() + timedelta(minutes=29)).count() == 0
    Plan.objects.filter(pk=plan.pk).update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    assert swept() == [plan.pk]  # the message was lost
    assert stepping.take_run(plan.pk, "dead") is not None
    assert (stepping.take_run(plan.pk, "second"), swept()) == (None, [])
    Plan.objects.filter(pk=plan.pk).update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    assert swept() == [plan.pk]  # the worker was lost


def test_a_checkpoint_that_came_while_nobody_looked_is_an_old_one_and_the_blind_time_is_not_waited() -> None:
    one, plan = proposed()
    ran_with(started(plan))
    due_at, long_ago = Step.objects.get(pod="jobs/t").due_at, timezone.now() - timedelta(seconds=2000)
    assert due_at is not None
    now = checking.newest_of(plan).snapshot.now_s
    one.happen(pod_set("t", checkpoint_s=now - 300))
    Plan.objects.filter(pk=plan.pk).update(looks_at=long_ago, heartbeat_at=long_ago)
    execution.run(plan.pk)
    step = Step.objects.get(pod="jobs/t")
    assert step.state == "waiting" and step.due_at is not None and (step.due_at - due_at).total_seconds() > 1999
    done = ran_with(plan, lambda: one.happen(pod_set("t", checkpoint_s=now)))
    assert (done.state, where(one)["t"]) == ("succeeded", "n3")


def test_a_pause_begins_the_wait_anew_and_an_abort_ends_it() -> None:
    _one, plan = proposed()
    ran_with(started(plan), lambda: services.pause_plan(operator(), plan.pk, "lunch"))
    assert Step.objects.get(pod="jobs/t").due_at is not None
    services.resume_plan(operator(), plan.pk, "back")
    assert Step.objects.get(pod="jobs/t").due_at is None
    ran_with(plan, lambda: services.abort_plan(operator(), plan.pk, "enough"))
    assert (Step.objects.get(pod="jobs/t").state, NodeLock.objects.count()) == ("dropped", 0)


def test_whether_moves_wait_is_decided_for_a_place_and_the_price_says_so() -> None:
    _one, plan = proposed()
    snapshot = checking.newest_of(plan).snapshot
    plain = msgspec.structs.replace(core_plan(snapshot, named(snapshot, (move("t", "n1", "n3", mode="restart"),))))
    assert pricing.with_waits(plain, snapshot) is plain
    decide("checkpoint_wait_minutes", Place(Scope.POOL, "default", GPU_MODEL), 30)
    decide("checkpoint_missed", FLEET, 1)
    waiting = pricing.with_waits(plain, snapshot)
    (wait,) = [one.checkpoint for one in waiting.moves]
    assert wait is not None and (wait.limit_s, wait.otherwise) == (1800, "move")
    before, after = pricing.price(plain, snapshot), pricing.price(waiting, snapshot)
    assert (before["lost"], after["lost"], after["waiting"]) == (2 * wait.lost_s, 2 * 15, 1)
    origins = {row["name"]: row["origin"] for row in after["settings"]}
    assert origins["checkpoint_wait_minutes"] == f"pool {GPU_MODEL} in default"


def test_jobs_of_the_simulated_cluster_keep_to_their_interval() -> None:
    one, _plan = proposed()
    row = SimulatedCluster.objects.get()
    SimulatedCluster.objects.update(began_at=row.began_at - timedelta(seconds=950), clock_s=row.clock_s + 900)
    found = execution.connect(one.source.kind, one.source.config).observe()
    assert {pod.name: pod.checkpoint_s for pod in found.pods if pod.checkpoint_s} == {"t": 5900}
