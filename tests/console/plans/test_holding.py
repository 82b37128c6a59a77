"""Nodes on which a run made room are kept for what it was made for, until a time that people can change."""

from datetime import timedelta

import msgspec
import pytest
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.connectors.changes import Arrived
from console.connectors.holding import holds
from console.connectors.models import SimulatedCluster, SimulatedOperation
from console.connectors.protocol import Outcome
from console.connectors.simulated import SimulatedConnector
from console.connectors.tide import Held
from console.plans import execution, selectors, services
from console.plans.models import Plan, RoomNode
from console.plans.services import checking
from console.policies.choices import Place
from console.policies.services import set_value
from scheduler.cluster.records import PodRecord
from scheduler.plan import plan as core
from scheduler.plan.goal import Goal, Seat
from scheduler.plan.operations import Bind, Operation
from tests.builders.people import approver, operator, viewer
from tests.builders.worlds import world
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import (
    Scene,
    arrives,
    core_plan,
    ends,
    move,
    named,
    observe,
    pod_set,
    ran,
    requested,
    scene,
    started,
    two,
)

pytestmark = pytest.mark.django_db


def fresh(plan: Plan) -> Plan:
    return Plan.objects.get(pk=plan.pk)


def emptied() -> tuple[Scene, Plan]:
    """n1 and n2, held for pods that take a whole node."""
    one, plan = two()
    return one, ran(started(plan))


def for_goal(kind: str, name: str, who: tuple[str, ...], unit: str) -> tuple[Scene, Plan]:
    """a makes way on n1 for two members of a gang, or for two slots, of four GPUs each."""
    made = world().nodes("n1", "n2").pod("a", "n1", 2).pod("r", "n1", 0).pod("z", "n2", 5, locked=True).gang("g", 2)
    for member in ("g-0", "g-1"):
        made.pod(member, None, 4, gang="g", cpu_milli=32_000)
    one = scene(made)
    plan = requested(one.source)
    services.begin_planning(plan.pk, "tests")
    snapshot = checking.newest_of(plan).snapshot
    moves = named(snapshot, (move("a", "n1", "n2", drains="n1", depth=1),))
    seats = tuple(Seat(who=one, node="n1", chain=0) for one in who)
    goal = Goal(kind=kind, name=name, whole=True, wanted=2, reached=2, before=0, unit=unit, seats=seats)
    bound = core.Bound(net_upper=2, gap=0.0, proven=True)
    answer = msgspec.structs.replace(core_plan(snapshot, moves), goal=goal, bound=bound, kept=())
    plan = one.answered(plan.pk, answer)
    assert plan.state == "proposed", plan.reason
    return one, ran(started(plan))


def for_gang() -> tuple[Scene, Plan]:
    return for_goal("gang", "jobs/g", ("jobs/g-0", "jobs/g-1"), "members")


def kept(one: Scene) -> dict[str, Held]:
    row = SimulatedCluster.objects.get(uid=one.source.config["cluster"])
    return {node: held for (_cluster, node), held in holds(row).items()}


def looked_at(one: Scene, plan: Plan) -> Plan:
    services.sweep()
    execution.tell_holds(plan.pk)
    return fresh(plan)


def test_a_gang_finds_its_seats_and_others_do_not() -> None:
    one, plan = for_gang()
    assert {node: held.gang for node, held in kept(one).items()} == {"n1": "jobs/g"}
    wire = SimulatedConnector(one.source.config["cluster"])
    one.happen(Arrived(pod=PodRecord(name="s", namespace="jobs", gpus=1, phase="Pending")))
    other = wire.execute(Bind(cluster="default", pod="jobs/s", uid="", target="n1"), "other")
    assert (other.state, other.detail) == ("failed", "n1 is held for jobs/g")
    for member in ("g-0", "g-1"):
        bound = wire.execute(Bind(cluster="default", pod=f"jobs/{member}", uid="", target="n1"), member)
        assert bound.state == "succeeded"
    observe(one.source)
    plan = looked_at(one, plan)
    assert plan.hold_note == "met: gang jobs/g is seated, 2 members run"
    assert kept(one) == {}
    found = selectors.held(viewer(), plan)
    assert found is not None and not found.active
    assert (found.taken, found.takers) == (1, ["jobs/g-0", "jobs/g-1"])
    assert Entry.objects.filter(action="plan.hold_ended", reason=plan.hold_note).count() == 1


def test_a_gang_that_went_away_is_waited_for_no_longer() -> None:
    one, plan = for_gang()
    one.happen(ends("g-0"), ends("g-1"))
    assert looked_at(one, plan).hold_note == "gang jobs/g is no longer there"
    assert kept(one) == {}


def test_slots_are_held_for_their_shape_or_more_until_so_many_have_come() -> None:
    one, plan = for_goal("shape", "4G32C", ("slot 1", "slot 2"), "slots")
    assert {node: (held.least_gpus, held.least_cpu_milli) for node, held in kept(one).items()} == {"n1": (4, 32_000)}
    assert RoomNode.objects.get(plan=plan).residents == ["jobs/r"]
    one.happen(arrives("small", "n1", 1), pod_set("g-0", node="n1", phase="Running"))
    plan = looked_at(one, plan)
    assert (selectors.is_held(plan), RoomNode.objects.get(plan=plan).takers) == (True, ["jobs/g-0"])
    one.happen(ends("small"), pod_set("g-1", node="n1", phase="Running"))
    assert looked_at(one, plan).hold_note == "met: 2 pods of 4G32C or larger started there"


def test_whole_nodes_are_held_until_all_are_taken() -> None:
    one, plan = emptied()
    one.happen(arrives("w1", "n1", 8))
    plan = looked_at(one, plan)
    assert selectors.is_held(plan) and set(kept(one)) == {"n1", "n2"}
    one.happen(arrives("w2", "n2", 8))
    assert looked_at(one, plan).hold_note == "met: all 2 nodes are taken by pods that take a whole node"


@pytest.mark.parametrize(("hours", "note"), [(0, "hold: 0 hours (the whole fleet)"), (3, "")])
def test_how_long_is_a_policy_and_none_is_said(hours: int, note: str) -> None:
    set_value(approver(), "hold_hours", Place(), hours, reason="r", version=0)
    one, plan = emptied()
    assert (plan.hold_note, bool(kept(one))) == (note, hours > 0)
    if hours:
        assert plan.held_until is not None and plan.ended_at is not None
        assert abs(plan.held_until - plan.ended_at - timedelta(hours=hours)) < timedelta(seconds=5)
    else:
        assert plan.held_until is None
        assert "Not held" in page_of(viewer(), plan) and "0 hours" in page_of(viewer(), plan)


def test_people_extend_and_release_it_with_a_reason() -> None:
    one, plan = emptied()
    before = {node: held.until_s for node, held in kept(one).items()}
    with pytest.raises(services.Conflict, match="for a reason"):
        services.extend_hold(operator(), plan.pk, 48, " ")
    with pytest.raises(services.Conflict, match="1 to 168"):
        services.extend_hold(operator(), plan.pk, 169, "r")
    services.extend_hold(operator(), plan.pk, 48, "the gang is late")
    page = page_of(operator(), plan)
    assert "the gang is late" in page and "2 nodes: the cluster has not heard the last word" in page
    execution.tell_holds(plan.pk)
    assert all(abs(held.until_s - before[node] - 24 * 3600) < 10 for node, held in kept(one).items())
    api = APIClient()
    api.force_authenticate(operator())
    answer = api.post(reverse("api:plan-release-hold", args=[plan.pk]), {"reason": "needed elsewhere"}, format="json")
    assert answer.status_code == 200
    execution.tell_holds(plan.pk)
    assert kept(one) == {}
    record = api.get(reverse("api:plan-record", args=[plan.pk])).json()["held"]
    assert (record["active"], record["note"]) == (False, "released by operator: needed elsewhere")
    with pytest.raises(services.Conflict, match="holds no nodes now"):
        services.release_hold(operator(), plan.pk, "again")
    found = Entry.objects.filter(action__startswith="plan.hold_").order_by("pk").values_list("action", "reason")
    assert list(found) == [("plan.hold_extended", "the gang is late"), ("plan.hold_released", "needed elsewhere")]


def test_a_word_that_was_lost_is_told_again_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, plan = emptied()
    services.release_hold(operator(), plan.pk, "r")
    sent: list[str] = []
    monkeypatch.setattr("console.plans.services.holding.enqueue", lambda task, **kwargs: sent.append(task))
    services.sweep()
    assert sent == ["plans.hold"]
    execution.tell_holds(plan.pk)
    count = SimulatedOperation.objects.count()
    execution.tell_holds(plan.pk)
    services.sweep()
    assert (sent, SimulatedOperation.objects.count(), kept(one)) == (["plans.hold"], count, {})


def test_a_word_that_was_overtaken_while_it_was_told_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one, plan = emptied()
    services.extend_hold(operator(), plan.pk, 48, "the gang is late")
    real = SimulatedConnector.execute

    def slow(self: SimulatedConnector, operation: Operation, key: str, **given: bool) -> Outcome:
        monkeypatch.setattr(SimulatedConnector, "execute", real)
        services.release_hold(operator(), plan.pk, "it is gone")
        execution.tell_holds(plan.pk)  # another worker, who is faster
        return real(self, operation, key, **given)

    monkeypatch.setattr(SimulatedConnector, "execute", slow)
    execution.tell_holds(plan.pk)
    assert kept(one)
    execution.tell_holds(plan.pk)
    assert kept(one) == {}


def test_a_newer_hold_of_another_plan_stands_and_its_targets_are_said() -> None:
    one, plan = emptied()
    other = Plan.objects.create(
        kind="consolidation", title="later", source=one.source, cluster=plan.cluster, proposer=operator(),
        held_until=timezone.now() + timedelta(hours=1), held_for={"kind": "gang", "name": "jobs/x", "unit": "members"},
        hold_version=1,
    )  # fmt: skip
    RoomNode.objects.create(plan=other, node="n1", gpus=8)
    execution.tell_holds(other.pk)
    services.release_hold(operator(), plan.pk, "r")
    execution.tell_holds(plan.pk)
    assert {node: held.gang for node, held in kept(one).items()} == {"n1": "jobs/x"}
    plan.steps.update(target_node="n1", state="waiting")
    assert selectors.held_words(selectors.held_targets(plan)) == f"n1 is held for gang jobs/x by plan {other.pk}"
