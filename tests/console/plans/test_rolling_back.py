"""Taking a run back: a plan of its own through the same gate, executed to its end, linked both ways."""

from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.plans import execution, services
from console.plans.choices import State, StepState
from console.plans.models import NodeLock, Plan
from console.tenancy.services import Denied
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, viewer
from tests.console.plans.browsing import client_of, page_of
from tests.console.plans.scene import Scene, arrives, ends, node_set, pod_set, ran, started, two, where

pytestmark = pytest.mark.django_db


def done() -> tuple[Scene, Plan]:
    """Both moves of ``three_nodes`` have run: a and b stand on n3."""
    one, plan = two()
    started(plan)
    return one, ran(plan)


def test_forward_and_back_through_the_same_gate() -> None:
    one, plan = done()
    back = services.roll_back(operator(), plan.pk, "latency went up")
    assert (back.state, back.kind, back.undoes_id, back.parent_id) == (State.PROPOSED, "rollback", plan.pk, plan.pk)
    assert back.origin == f"takes back 2 of 2 moves of plan {plan.pk}"
    assert back.digest not in ("", plan.digest)
    assert back.expires_at is not None
    with pytest.raises(services.Conflict, match="awaiting approval"):
        services.start_plan(operator(), back.pk)
    with pytest.raises(Denied):
        services.approve_plan(operator(), back.pk, back.digest, "my own")
    started(back)
    assert NodeLock.objects.filter(plan=back).count() == 3
    ended = ran(back)
    assert (ended.state, ended.reason) == (State.SUCCEEDED, "2 of 2 moves done; 2 of 2 pods stand where they stood")
    assert where(one) == {"a": "n1", "b": "n2", "z": "n3"}
    assert Entry.objects.get(action="plan.succeeded", target_id=str(back.pk)).detail["back"] == 2
    asked = Entry.objects.get(action="plan.requested", target_id=str(back.pk))
    assert (asked.reason, asked.detail["parent"]) == ("latency went up", plan.pk)


def test_the_record_links_both_ways() -> None:
    _, plan = done()
    back = services.roll_back(operator(), plan.pk, "latency went up")
    mine, its = squeezed(page_of(viewer(), plan)), squeezed(page_of(viewer(), back))
    assert f'href="{reverse("plans:detail", args=[back.pk])}"' in mine
    assert f"takes back 2 of 2 moves of plan {plan.pk}" in mine
    assert f'href="{reverse("plans:detail", args=[plan.pk])}"' in its
    assert "latency went up" in its
    assert "Everything goes back." in its
    api = APIClient()
    api.force_authenticate(viewer())
    assert api.get(reverse("api:plan", args=[plan.pk])).json()["rollbacks"] == [back.pk]
    assert api.get(reverse("api:plan", args=[back.pk])).json()["undoes"] == plan.pk


def test_what_cannot_go_back_is_said_before_anybody_approves() -> None:
    one, plan = done()
    one.happen(pod_set("a", locked=True))
    back = services.roll_back(operator(), plan.pk, "latency went up")
    assert back.origin == f"takes back 1 of 2 moves of plan {plan.pk}"
    assert (back.headline["moves"], back.headline["stays"]) == (1, 1)
    kept = back.kept.get()
    assert (kept.node, kept.reason, kept.blockers[0]["pod"]) == ("n1", "locked", "jobs/a")
    page = squeezed(page_of(approver(), back))
    assert "What cannot go back" in page
    assert "Approve 1 move" in page
    assert "Marginal gain" not in page
    whole = squeezed(client_of(viewer()).get(reverse("plans:kept", args=[back.pk])).content.decode())
    assert "jobs/a" in whole
    assert "locked pod" in whole
    asked = Entry.objects.get(action="plan.requested", target_id=str(back.pk))
    assert [row["object"] for row in asked.detail["left_out"]] == ["jobs/a"]


def test_where_nothing_can_go_back_no_plan_is_made_and_each_pod_has_its_reason() -> None:
    one, plan = done()
    one.happen(ends("a"), arrives("late", "n2", 8))
    with pytest.raises(services.Conflict, match="Nothing of plan") as refused:
        services.roll_back(operator(), plan.pk, "latency went up")
    assert {(row["object"], row["now"]) for row in refused.value.changes} == {
        ("jobs/a", "Pod has ended (n1)"),
        ("jobs/b", "Node was refilled since (n2)"),
    }
    assert Plan.objects.count() == 1
    answer = client_of(operator()).post(
        reverse("plans:act", args=[plan.pk, "roll-back"]), {"reason": "latency went up"}
    )
    assert answer.status_code == 409
    assert "Node was refilled since" in answer.content.decode()


def test_only_an_ended_run_is_taken_back_and_only_once() -> None:
    _, plan = two()
    with pytest.raises(services.Conflict, match="only a run that ended"):
        services.roll_back(operator(), plan.pk, "r")
    started(plan)
    with pytest.raises(services.Conflict, match="Abort it first"):
        services.roll_back(operator(), plan.pk, "r")
    ran(plan)
    with pytest.raises(services.Conflict, match="needs a reason"):
        services.roll_back(operator(), plan.pk, " ")
    with pytest.raises(Denied):
        services.roll_back(viewer(), plan.pk, "r")
    back = services.roll_back(operator(), plan.pk, "r")
    with pytest.raises(services.Conflict, match=f"Plan {back.pk} takes plan {plan.pk} back"):
        services.roll_back(operator(), plan.pk, "r")
    services.cancel_plan(operator(), back.pk, "no need")
    assert services.roll_back(operator(), plan.pk, "after all").state == State.PROPOSED


def test_an_aborted_run_gives_back_what_it_had_done() -> None:
    one, plan = two()
    started(plan)
    services.pause_plan(operator(), plan.pk, "look")
    plan.steps.filter(index=0).update(state=StepState.SUCCEEDED)
    one.happen(pod_set("a", node="n3"))
    services.abort_plan(operator(), plan.pk, "enough")
    back = services.roll_back(operator(), plan.pk, "undo")
    assert [(step.pod, step.target_node) for step in back.steps.all()] == [("jobs/a", "n1")]


def test_a_rollback_goes_stale_and_can_be_made_shorter_like_any_plan() -> None:
    one, plan = done()
    back = services.roll_back(operator(), plan.pk, "latency went up")
    one.happen(node_set("n1", cordoned=True))
    services.sweep()
    assert Plan.objects.get(pk=back.pk).state == State.STALE
    rest = services.drop_stale_moves(operator(), back.pk)
    assert (rest.kind, rest.undoes_id, rest.parent_id) == ("rollback", plan.pk, back.pk)
    assert [step.pod for step in rest.steps.all()] == ["jobs/b"]
    assert "Roll back" not in page_of(operator(), plan)  # one is on its way


def test_one_failed_move_does_not_cost_the_others_of_its_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    one, plan = done()
    back = services.roll_back(operator(), plan.pk, "latency went up")
    back.steps.update(chain=0)
    started(back)
    real = execution._surprise

    def surprised(connector: Any, cluster: str, step: Any) -> str | None:
        return "lost" if step.pod == "jobs/b" else real(connector, cluster, step)

    monkeypatch.setattr(execution, "_surprise", surprised)
    halted = ran(back)
    assert halted.state == State.HALTED
    services.resume_plan(operator(), back.pk)
    ended = ran(back)
    assert ended.reason == "1 of 2 moves done, 1 failed, 0 not run; 1 of 2 pods stand where they stood"
    assert where(one)["a"] == "n1"


def test_a_rollback_is_no_question_to_a_planner() -> None:
    _, plan = done()
    back = services.roll_back(operator(), plan.pk, "latency went up")
    answer = client_of(operator()).post(reverse("consolidation:again", args=[back.pk]))
    assert answer.status_code == 409
    assert Plan.objects.count() == 2
