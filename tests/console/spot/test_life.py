"""A lease from its ask to its end on a simulated cluster, and what may come between."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.connectors import simulated
from console.connectors.changes import NodeSet
from console.prices.models import Price
from console.rest.errors import Conflict
from console.spot import execution, services
from console.spot.models import LeaseChange, Reclaim, Run
from console.spot.planning import seating
from tests.builders.fleets import observed
from tests.builders.people import tenant
from tests.builders.worlds import GPU_MODEL, world
from tests.console.plans.scene import arrives
from tests.console.spot.scene import CLUSTER, Scene, priced, room, run_of, scene, seats_of, state_of

pytestmark = pytest.mark.django_db
HOUR = 3600


def test_a_lease_is_asked_started_and_ends_after_its_hours() -> None:
    one = scene()
    row = one.asked(pods=2, run_s=HOUR)
    assert (row.state, row.reason) == ("waiting", "not_evaluated")
    one.turn(3)
    assert (state_of(row), row.reason) == ("running", "runs"), row.numbers
    pods = one.pods()
    assert len(pods) == 2 and {pod.tier for pod in pods.values()} == {"LP"}
    assert all(pod.labels["slackline.io/lease"] == str(row.uid) for pod in pods.values())
    assert {(pod.gpus, pod.tenant, pod.min_runtime_s or 0) for pod in pods.values()} == {(8, "team-a", 0)}
    one.wait(HOUR)
    one.turn()
    assert (state_of(row), row.numbers["to"]) == ("ending", "ended")
    one.until(row, "ended")
    assert not one.pods()
    run = Run.objects.get(lease=row)
    # 16 GPUs for an hour and the seconds of the hooks, at 1.18 USD: whole cents, rounded up.
    assert 16 * 118 <= run.charge_cents <= 16 * 118 * 1.03 and row.charge_cents == run.charge_cents
    assert (row.kept_s, row.credit_cents, row.lost_gpu_s) == (HOUR, 0, 0)
    said = list(LeaseChange.objects.filter(lease=row).values_list("state", "reason"))
    assert said == [
        ("draft", "not_asked"), ("waiting", "not_evaluated"), ("starting", "launching"), ("running", "runs"),
        ("ending", "hours_over"), ("ended", "hours_over"),
    ]  # fmt: skip
    actions = Entry.objects.filter(target_kind="lease", target_id=str(row.pk)).values_list("action", flat=True)
    assert {"lease.waiting", "lease.starting", "lease.running", "lease.ended"} <= set(actions)


def test_what_has_no_room_waits_with_its_numbers_and_starts_when_there_is_some() -> None:
    one = scene(room().pod("hp", "n1", 8).pod("hq", "n2", 6))
    row = one.asked(pods=2)
    one.turn()
    assert (state_of(row), row.reason) == ("waiting", "capacity")
    assert row.numbers["needs_gpus"] == 16 and row.numbers["free_gpus"] == 10
    turn = row.turn
    one.turn(2)
    row.refresh_from_db()
    assert row.turn == turn  # another look is no change that would make an edit fail
    first = one.started(pods=1)
    assert seats_of(first)[0].node == "n3"
    one.turn()
    assert state_of(row) == "waiting" and row.numbers["free_gpus"] == 2


def test_a_lease_that_is_given_back_leaves_its_nodes_and_is_paid_until_then() -> None:
    one = scene()
    row = one.started()
    one.wait(600)
    services.give_back(tenant("team-a"), row.pk, None)
    one.until(row, "given_back")
    assert not one.pods() and 0 < row.charge_cents <= 8 * 118
    assert row.reason == "by_tenant" and 600 <= row.kept_s <= 700
    with pytest.raises(Conflict, match="is given back"):
        services.give_back(tenant("team-a"), row.pk, None)


def test_the_loser_of_two_acts_is_told() -> None:
    one = scene()
    row = one.asked()
    old = row.turn
    services.withdraw(tenant("team-a"), row.pk, old)
    with pytest.raises(Conflict, match="changed since you read it: it is withdrawn"):
        services.withdraw(tenant("team-a"), row.pk, old)
    other = one.asked()
    stale = other.__class__.objects.get(pk=other.pk)
    one.turn()
    assert state_of(other) == "starting"
    assert services.start(stale, GPU_MODEL, [services.Given("n1")], reading=None, cents=1) is None  # type: ignore[arg-type]
    assert Run.objects.filter(lease=other).count() == 1
    with pytest.raises(Conflict, match="give it back instead"):
        services.withdraw(tenant("team-a"), other.pk, None)


def test_what_is_given_back_while_it_starts_leaves_no_pod_behind() -> None:
    one = scene()
    row = one.asked(pods=2)
    one.turn(0)
    assert state_of(row) == "starting" and not one.pods()
    services.give_back(tenant("team-a"), row.pk, None)
    one.until(row, "given_back")
    assert not one.pods() and row.charge_cents == 0
    other = one.asked(pods=2)
    one.turn(1)  # sent, perhaps not up yet
    state_of(other)
    if other.state == "starting":
        services.give_back(tenant("team-a"), other.pk, None)
        one.until(other, "given_back")
        assert not one.pods()


def test_a_gang_that_loses_a_node_is_taken_back_whole_and_goes_on_first_in_line() -> None:
    one = scene()
    row = one.started(pods=2, checkpoint_interval_s=600)
    one.wait(1500)
    node = seats_of(row)[0].node
    one.happen(NodeSet(node=(CLUSTER, node), fields={"ready": False}))
    one.turn()
    assert state_of(row) == "running"  # it may come back in a moment
    one.wait(40)
    one.turn()
    assert (state_of(row), row.reason) == ("reclaiming", "notice")
    reclaim = Reclaim.objects.get(lease=row)
    assert (reclaim.cause, reclaim.gpus, reclaim.whole, reclaim.own) == ("hardware", 16, True, False)
    one.until(row, "requeued")
    reclaim.refresh_from_db()
    # Two checkpoints of ten minutes are kept of 25 minutes; what came after is lost, of all of the gang.
    assert row.kept_s == 1200 and row.lost_gpu_s >= 16 * 300
    assert reclaim.realised_loss_gpu_s == row.lost_gpu_s and reclaim.ended_at is not None
    assert len([pod for pod in one.pods() if f"lease-{row.pk}-" in pod]) == 0
    one.happen(NodeSet(node=(CLUSTER, node), fields={"ready": True}))
    one.until(row, "running")
    assert run_of(row).from_s == 1200 and run_of(row).requeued


def test_one_pod_of_several_that_need_not_each_other_leaves_alone() -> None:
    one = scene()
    row = one.started(pods=3, min_members=1)
    node = seats_of(row)[0].node
    one.happen(NodeSet(node=(CLUSTER, node), fields={"ready": False}))
    one.turn()
    one.wait(40)
    one.turn()
    one.wait(60)
    one.turn(2)
    assert state_of(row) == "running"
    reclaim = Reclaim.objects.get(lease=row)
    assert (reclaim.whole, reclaim.gpus) == (False, 8)
    assert (row.numbers["pods"], row.numbers["of_pods"]) == (2, 3)
    assert len(one.pods()) == 2


def test_a_price_above_its_limit_ends_a_run_with_notice_and_never_silently() -> None:
    one = scene()
    row = one.started(limit_cents=120, hook_name="save.sh", hook_s=20)
    one.wait(300)
    Price.objects.create(gpu_model=GPU_MODEL, cents=150, since=timezone.now() - timedelta(seconds=1), why="queue +18 %")
    one.turn()
    assert (state_of(row), row.numbers["cause"]) == ("reclaiming", "price")
    reclaim = Reclaim.objects.get(lease=row)
    assert reclaim.own and reclaim.detail == {"cents": 150, "limit_cents": 120} and reclaim.hook_due_s == 20
    one.until(row, "requeued")
    one.turn()
    assert (state_of(row), row.reason) == ("requeued", "over_limit")
    assert row.credit_cents == 0 and row.kept_s >= 300  # its hook wrote a checkpoint
    priced(100, timezone.now())
    one.until(row, "running")


def test_without_a_quote_nothing_starts() -> None:
    one = scene(cents=None)
    row = one.asked()
    one.turn()
    assert (state_of(row), row.reason) == ("waiting", "no_quote")


def test_a_source_that_does_not_act_is_only_observed() -> None:
    priced()
    source = observed(room()).source
    row, _ = services.make_lease(
        tenant("team-a"), source_id=source.pk, cluster=CLUSTER, tenant="", asked={"gpu_models": [GPU_MODEL]}
    )
    seating.look()
    assert (state_of(row), row.reason) == ("waiting", "observed_only")
    assert execution.look() == 0


def test_a_launch_that_the_cluster_refuses_is_taken_back_and_costs_nothing() -> None:
    one = scene(world().nodes("n1", "n2"))
    row = one.asked(pods=2)
    one.turn(0)
    assert state_of(row) == "starting"
    # Somebody else comes between the reading and the launch.
    _between(one, arrives("early", "n1", 4))
    execution.look()
    assert (state_of(row), row.reason) == ("waiting", "taken_back")
    assert not one.pods()  # all of the gang or none
    assert row.charge_cents == 0 and Run.objects.get(lease=row).ended_at is not None
    one.turn()
    assert row.pk and (state_of(row), row.reason) == ("waiting", "capacity")


def _between(one: Scene, change: object) -> None:
    connector = simulated.SimulatedConnector(one.source.config["cluster"])
    with connector._held() as (row, state):
        state.apply([change])  # type: ignore[list-item]
        simulated._write(row, state, row.clock_s, "tests", [change])  # type: ignore[list-item]
