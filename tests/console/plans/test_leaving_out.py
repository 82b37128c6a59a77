"""A stopped run goes on without the chains that changed: fewer of the signed moves, judged again, never another."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.plans import services
from console.plans.choices import State, StepState
from console.plans.models import Plan
from console.plans.services import checking, dropping
from console.tenancy.services import Denied
from scheduler.plan.verify import verify
from tests.builders.people import operator, viewer
from tests.builders.worlds import world
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import Scene, arrives, move, pod_set, ran, scene, started, where

pytestmark = pytest.mark.django_db
THREE = (move("a", "n1", "m1", 0), move("b", "n2", "m2", 1), move("c", "n3", "m3", 2))


def _stopped(*moves: Any, waves: tuple[int, ...] = ()) -> tuple[Scene, Plan]:
    """Three pairs of nodes, a chain on each; paused before the first move."""
    made = world().nodes("n1", "m1", "n2", "m2", "n3", "m3").pod("a", "n1", 2).pod("b", "n2", 2).pod("c", "n3", 2)
    for place in ("m1", "m2", "m3"):
        made = made.pod(f"z{place}", place, 2, locked=True)
    one = scene(made)
    plan = started(one.plan(*(moves or THREE), waves=waves))
    return one, services.pause_plan(operator(), plan.pk, "lunch")


def _states(plan: Plan) -> list[str]:
    return list(plan.steps.order_by("index").values_list("state", flat=True))


def test_the_changed_chain_goes_the_rest_is_judged_and_runs() -> None:
    one, plan = _stopped()
    one.happen(arrives("late", "m2", 6))
    with pytest.raises(services.Conflict, match="Leave out what changed") as refused:
        services.resume_plan(operator(), plan.pk)
    assert {index for change in refused.value.changes for index in change["moves"]} == {1}
    cut = services.leave_out_changed(operator(), plan.pk, "m2 is taken", plan.digest)
    assert (cut.state, _states(plan)) == (State.PAUSED, ["waiting", "dropped", "waiting"])
    assert (cut.changes, cut.digest, cut.approved_digest) == ([], plan.digest, plan.digest)
    assert cut.reason.startswith("1 move left out")
    services.resume_plan(operator(), plan.pk)
    done = ran(plan)
    assert (done.state, done.reason) == (
        State.SUCCEEDED,
        "2 of 3 moves done, 1 not run; 2 of 3 nodes empty",
    )
    assert where(one)["b"] == "n2"


def test_what_is_left_is_a_part_of_what_was_signed_and_the_judge_says_yes() -> None:
    one, plan = _stopped()
    one.happen(pod_set("a", locked=True))
    services.leave_out_changed(operator(), plan.pk, "locked")
    rest = checking.rest_of(plan)
    signed = {(m.pod, m.source, m.target) for m in checking.signed(plan).moves}
    assert {(m.pod, m.source, m.target) for m in rest.moves} < signed
    kinds = {violation.kind for violation in verify(rest, checking.newest_of(plan).snapshot).violations}
    assert kinds == {"counts"}  # the promise of the whole plan is no longer all kept; every move is legal
    assert checking.differences(plan, checking.newest_of(plan), rest) == []


def test_the_book_has_who_why_what_and_the_digest() -> None:
    one, plan = _stopped()
    one.happen(arrives("late", "m2", 6))
    services.leave_out_changed(operator(), plan.pk, "m2 is taken")
    entry = Entry.objects.get(action="plan.chains_left_out", target_id=str(plan.pk))
    assert (entry.reason, entry.digest, entry.actor) == ("m2 is taken", plan.digest, operator().username)
    assert (entry.detail["steps"], entry.detail["left"]) == ([1], 2)
    assert entry.detail["changes"]


def test_chains_that_wait_for_a_changed_one_go_too() -> None:
    moves = (move("a", "n1", "m1", 0), move("b", "n2", "n1", 1, after=(0,)), move("c", "n3", "m3", 2))
    one, plan = _stopped(*moves[::2])
    plan.steps.filter(index=1).update(after=[0])
    assert dropping.without_changed(plan, checking.newest_of(plan)) == ([], [])
    one.happen(pod_set("a", locked=True))
    with pytest.raises(services.Conflict, match="No chain is left"):
        services.leave_out_changed(operator(), plan.pk, "locked")
    assert _states(plan) == ["waiting", "waiting"]


@pytest.mark.parametrize(
    ("reason", "digest", "words"), [(" ", "", "needs a reason"), ("because", "0" * 64, "You read digest")]
)
def test_a_reason_and_the_digest_that_was_signed(reason: str, digest: str, words: str) -> None:
    one, plan = _stopped()
    one.happen(arrives("late", "m2", 6))
    with pytest.raises(services.Conflict, match=words):
        services.leave_out_changed(operator(), plan.pk, reason, digest)
    assert _states(plan) == ["waiting"] * 3


def test_nothing_is_left_out_while_all_holds_or_moves_are_in_flight() -> None:
    one, plan = _stopped()
    with pytest.raises(services.Conflict, match="All that is left of the plan holds"):
        services.leave_out_changed(operator(), plan.pk, "why not")
    one.happen(arrives("late", "m2", 6))
    plan.steps.filter(index=0).update(state=StepState.ISSUED, issued_at=timezone.now())
    with pytest.raises(services.Conflict, match="1 move in flight"):
        services.leave_out_changed(operator(), plan.pk, "m2 is taken")
    assert _states(plan) == ["issued", "waiting", "waiting"]


def test_not_from_a_run_that_runs_nor_under_a_freeze_nor_by_viewers() -> None:
    one, plan = _stopped()
    one.happen(arrives("late", "m2", 6))
    with pytest.raises(Denied):
        services.leave_out_changed(viewer(), plan.pk, "because")
    until = timezone.now() + timedelta(hours=1)
    services.set_freeze(operator(), scope="fleet", reason="power works", expires_at=until)
    with pytest.raises(services.Conflict, match="power works"):
        services.leave_out_changed(operator(), plan.pk, "because")
    Plan.objects.filter(pk=plan.pk).update(state=State.EXECUTING)
    with pytest.raises(services.Conflict, match="nothing to resume"):
        services.leave_out_changed(operator(), plan.pk, "because")


def test_whoever_comes_second_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run was aborted between the judge's answer and the writing of it."""
    one, plan = _stopped()
    one.happen(arrives("late", "m2", 6))
    real = dropping.without_changed

    def late(*args: Any) -> Any:
        answer = real(*args)
        services.abort_plan(operator(), plan.pk, "enough")
        return answer

    monkeypatch.setattr(dropping, "without_changed", late)
    with pytest.raises(services.Conflict, match="aborted"):
        services.leave_out_changed(operator(), plan.pk, "m2 is taken")
    assert not Entry.objects.filter(action="plan.chains_left_out").exists()


def test_the_page_of_a_stopped_run_says_what_changed_and_offers_the_way_out() -> None:
    one, plan = _stopped()
    assert "Leave out" not in page_of(operator(), plan)
    one.happen(arrives("late", "m2", 6))
    services.sweep()
    page = " ".join(page_of(operator(), plan).split())
    assert "1 of 3 moves no longer hold." in page
    assert "Leave out 1 and check again" in page
    assert f"The approval of digest {plan.digest[:8]} covers them" in page
    assert "> Resume <" not in page
    services.leave_out_changed(operator(), plan.pk, "m2 is taken")
    page = " ".join(page_of(operator(), plan).split())
    assert "no longer hold" not in page
    assert "> Resume <" in page


def test_a_change_that_went_away_again_is_forgotten() -> None:
    one, plan = _stopped()
    one.happen(pod_set("a", locked=True))
    services.sweep()
    assert Plan.objects.get(pk=plan.pk).changes
    one.happen(pod_set("a", locked=False))
    services.sweep()
    assert Plan.objects.get(pk=plan.pk).changes == []
    assert services.resume_plan(operator(), plan.pk).state == State.EXECUTING


def test_what_failed_and_what_changed_are_told_apart() -> None:
    moves = (move("a", "n1", "m1", 0), move("b", "n2", "m2", 0), move("c", "n3", "m3", 1))
    made = world().nodes("n1", "m1", "n2", "m2", "n3", "m3", "n4", "m4").pod("a", "n1", 2).pod("b", "n2", 2)
    for place in ("m1", "m2", "m3", "m4"):
        made = made.pod(f"z{place}", place, 2, locked=True)
    one = scene(made.pod("c", "n3", 2).pod("d", "n4", 2))
    plan = started(one.plan(*moves, move("d", "n4", "m4", 2)))
    services.pause_plan(operator(), plan.pk, "lunch")
    plan.steps.filter(index=0).update(state=StepState.FAILED)
    one.happen(pod_set("c", locked=True))
    services.leave_out_changed(operator(), plan.pk, "locked")
    said = list(plan.steps.order_by("index").values_list("state", "detail"))
    assert said[1:] == [("dropped", dropping.LOST), ("dropped", dropping.WHY), ("waiting", "")]
