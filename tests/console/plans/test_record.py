"""After a run: emptied nodes are followed, refills named, moves held against what was expected of them."""

import csv
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from console.connectors.holding import holds
from console.connectors.models import SimulatedCluster
from console.connectors.simulated import SimulatedConnector
from console.plans import selectors, services
from console.plans.choices import StepState
from console.plans.models import EmptiedNode, Plan, Step
from console.plans.services import following
from console.plans.survival import Span, half_life, shares
from tests.builders.pages import squeezed
from tests.builders.people import operator, viewer
from tests.builders.worlds import world
from tests.console.plans.browsing import client_of, page_of
from tests.console.plans.scene import Scene, arrives, ends, move, node_set, observe, ran, scene, started, two

pytestmark = pytest.mark.django_db


def done() -> tuple[Scene, Plan]:
    """n1 and n2 were emptied."""
    one, plan = two()
    started(plan)
    ran(plan)
    services.sweep()
    return one, Plan.objects.get(pk=plan.pk)


def _api(plan: Plan) -> dict[str, Any]:
    api = APIClient()
    api.force_authenticate(viewer())
    answer: dict[str, Any] = api.get(reverse("api:plan-record", args=[plan.pk])).json()
    return answer


def _emptied(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = _api(Plan.objects.get(pk=plan.pk))["emptied"]
    return found


def test_emptied_nodes_are_followed_and_refills_are_named() -> None:
    one, plan = done()
    assert (_emptied(plan)["nodes"], _emptied(plan)["still"], _emptied(plan)["half_life_s"]) == (2, 2, None)
    assert plan.followed_until is not None and plan.ended_at is not None
    assert plan.followed_until - plan.ended_at == following.FOLLOW_FOR
    one.happen(arrives("late", "n1", 4))
    services.sweep()
    found = _emptied(plan)
    assert (found["still"], found["refilled"], found["gone"], found["gpus_still"]) == (1, 1, 0, 8)
    assert found["by"] == [{"tenant": "t1", "nodes": 1, "pods": 1, "own": False, "names": ["jobs/late"]}]
    assert found["half_life_seen"] is True
    page = squeezed(page_of(viewer(), plan, "?part=record"))
    assert "emptied 2, still empty 1, refilled 1" in page
    assert "refilled 1 by" in page
    assert "held for<bdi>pods that take a whole node</bdi>until" in page
    assert "jobs/late" in page
    assert 'class="sl-s-accent"' in page


def test_a_node_is_refilled_once_and_goes_when_it_leaves_service() -> None:
    one, plan = done()
    one.happen(arrives("late", "n1", 4))
    services.sweep()
    first = EmptiedNode.objects.get(node="n1").refilled_at
    one.happen(ends("late"), arrives("later", "n1", 2), node_set("n2", ready=False))
    services.sweep()
    assert EmptiedNode.objects.get(node="n1").refilled_at == first
    assert EmptiedNode.objects.get(node="n2").gone_at is None  # not ready for a while
    one.happen(node_set("n2", cordoned=True))
    services.sweep()
    assert (_emptied(plan)["still"], _emptied(plan)["gone"]) == (0, 1)


def test_agents_refill_nothing_and_a_reading_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, plan = done()
    looked: list[int] = []
    real = following.look
    monkeypatch.setattr(following, "look", lambda plan: (looked.append(plan.pk), real(plan)))
    services.sweep()
    assert looked == []
    one.happen(arrives("late", "n3", 1))
    services.sweep()
    services.sweep()
    assert looked == [plan.pk]
    assert _emptied(plan)["still"] == 2


def test_after_a_day_nobody_looks_any_more() -> None:
    one, plan = done()
    Plan.objects.update(followed_until=timezone.now() - timedelta(seconds=1))
    one.happen(arrives("late", "n1", 4))
    services.sweep()
    assert (_emptied(plan)["still"], _emptied(plan)["over"]) == (2, True)


def test_pods_that_are_taken_back_are_told_from_others() -> None:
    one, plan = done()
    back = services.roll_back(operator(), plan.pk, "r")
    started(back)
    one.happen(arrives("a-copy-7", "n1", 2))
    services.sweep()
    assert _emptied(plan)["still"] == 2  # while a run works on the node, nobody knows whose that is
    one.happen(ends("a-copy-7"))
    ran(back)
    observe(one.source)
    services.sweep()
    (row,) = _emptied(plan)["by"]
    assert (row["own"], row["nodes"]) == (True, 2)
    assert "pods that were taken back" in page_of(viewer(), plan)
    assert Plan.objects.get(pk=back.pk).followed_until is None  # it empties nothing


def _holds(one: Scene) -> dict[tuple[str, str], int]:
    row = SimulatedCluster.objects.get(uid=one.source.config["cluster"])
    return {node: held.least_gpus for node, held in holds(row).items()}


def test_emptied_nodes_are_held_for_whole_nodes_until_they_are_taken_back() -> None:
    one, plan = done()
    assert _holds(one) == {("default", "n1"): 8, ("default", "n2"): 8}
    assert plan.held_until is not None and plan.ended_at is not None
    assert abs(plan.held_until - plan.ended_at - timedelta(hours=24)) < timedelta(seconds=5)
    back = services.roll_back(operator(), plan.pk, "r")
    started(back)
    ran(back)
    assert _holds(one) == {}
    assert f"taken back by plan {back.pk}" in page_of(viewer(), Plan.objects.get(pk=plan.pk), "?part=record")
    assert Plan.objects.get(pk=back.pk).held_until is None


def test_a_wire_that_holds_nothing_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedConnector, "holds", False)
    one, plan = done()
    assert (_holds(one), plan.held_until) == ({}, None)
    assert "This source cannot keep work away" in page_of(viewer(), plan)


def test_only_chains_that_ran_whole_have_emptied_a_node() -> None:
    one, plan = two()
    started(plan)
    services.pause_plan(operator(), plan.pk, "r")
    plan.steps.filter(index=0).update(state=StepState.SUCCEEDED, ended_at=timezone.now())
    services.abort_plan(operator(), plan.pk, "enough")
    services.sweep()
    assert list(EmptiedNode.objects.values_list("node", flat=True)) == ["n1"]
    assert one.source.pk == plan.source_id


def test_what_was_expected_and_what_came() -> None:
    one, plan = done()
    first = selectors.record(viewer(), plan)
    assert first is not None
    assert (first.done, first.failed, first.expected_s, first.expected_gpu_s) == (2, 0, None, None)
    assert "nothing to go by" in page_of(viewer(), plan)
    now = timezone.now()
    Step.objects.filter(plan=plan).update(issued_at=now - timedelta(seconds=3), ended_at=now)
    made = (
        world().nodes("m1", "m2", "m3").pod("p", "m1", 2).pod("q", "m2", 4, tenant="t2").pod("y", "m3", 2, locked=True)
    )
    other = scene(made, "other").plan(move("p", "m1", "m3", 0), move("q", "m2", "m3", 1))
    assert set(other.steps.values_list("expected_s", flat=True)) == {None}  # of another source nothing is concluded
    back = services.roll_back(operator(), plan.pk, "r")
    assert set(back.steps.values_list("expected_s", flat=True)) == {None}  # two moves are too few
    Step.objects.filter(plan=other).update(
        state=StepState.SUCCEEDED, issued_at=now - timedelta(seconds=9), ended_at=now
    )
    Plan.objects.filter(pk=other.pk).update(source=one.source)
    services.cancel_plan(operator(), back.pk)
    back = services.roll_back(operator(), plan.pk, "r")
    assert set(back.steps.values_list("expected_s", flat=True)) == {6.0}
    Step.objects.filter(plan=back, index=0).update(
        state=StepState.SUCCEEDED, issued_at=now - timedelta(seconds=8), ended_at=now
    )
    Step.objects.filter(plan=back, index=1).update(
        state=StepState.FAILED, issued_at=now - timedelta(seconds=1), ended_at=now, detail="it exited"
    )
    Plan.objects.filter(pk=back.pk).update(started_at=now)
    found = selectors.record(viewer(), Plan.objects.get(pk=back.pk))
    assert found is not None
    assert (found.done, found.failed, found.expected_s, found.took_s) == (1, 1, 6.0, 8.0)
    assert (found.expected_gpu_s, found.doubled_gpu_s) == (24.0, 18.0)
    assert [(row.state, row.off_s) for row in found.farthest] == [("failed", -5.0), ("succeeded", 2.0)]
    (tenant,) = found.tenants
    assert (tenant.tenant, tenant.planned, tenant.done, tenant.failed, tenant.gpu_milli) == ("t1", 2, 1, 1, 2000)


def test_each_move_has_both_in_the_csv_and_the_api() -> None:
    _, plan = done()
    Step.objects.filter(plan=plan).update(expected_s=1.5)
    answer = client_of(viewer()).get(reverse("plans:moves-csv", args=[plan.pk]))
    line = next(csv.DictReader(answer.getvalue().decode().splitlines()))
    api = APIClient()
    api.force_authenticate(viewer())
    row = api.get(reverse("api:plan-moves", args=[plan.pk])).json()["results"][0]
    assert float(line["expected_seconds"]) == row["expected_s"] == 1.5
    assert float(line["took_seconds"]) == row["took_s"]


def test_the_list_says_what_came_of_each() -> None:
    one, plan = done()
    one.happen(arrives("late", "n1", 4))
    services.sweep()
    page = squeezed(client_of(viewer()).get(reverse("plans:list")).content.decode())
    assert "1 of 2</td>" in page
    assert selectors.with_record(selectors.plans(viewer())).get(pk=plan.pk).moves_done == 2  # type: ignore[attr-defined]


def test_a_plan_that_never_ran_has_no_record() -> None:
    _, plan = two()
    api = APIClient()
    api.force_authenticate(viewer())
    assert api.get(reverse("api:plan-record", args=[plan.pk])).status_code == 404
    assert "record-title" not in page_of(viewer(), plan)


# --- how long nodes stay empty ---------------------------------------------------------------------------------------
SPANS = st.lists(st.builds(Span, st.floats(1, 1e6), st.booleans()), min_size=1, max_size=20)


@given(SPANS)
def test_shares_only_fall_and_without_censoring_they_are_counts(spans: list[Span]) -> None:
    points = shares(spans)
    assert [share for _at, share in points] == sorted((share for _at, share in points), reverse=True)
    assert [at for at, _share in points] == sorted(at for at, _share in points)
    if all(span.refilled for span in spans):
        for at, share in points[1:]:
            assert share == pytest.approx(sum(span.seconds > at for span in spans) / len(spans))


def test_half_lives() -> None:
    assert half_life([Span(10, True), Span(20, True), Span(30, True), Span(40, True)]) == (20, True)
    assert half_life([Span(100, False)] * 3) == (None, False)
    seconds, seen = half_life([Span(100, True), *[Span(100, False)] * 9])
    assert (round(seconds or 0), seen) == (693, False)  # ln 2 of 1,000 node-seconds by one refill
