"""Earning the level, losing it by itself, and giving it back: never automatic after a failed check without a word."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from console.audit.models import Entry
from console.automation import selectors, services
from console.automation.models import PoolRun, PoolTurn
from console.inventory import archive
from console.inventory.models import Blob, Source
from console.plans import services as plans
from console.plans.models import EmptiedNode, Plan, PlanMap, Step, Stop
from console.rest.errors import Conflict
from console.routines import services as routines
from console.tenancy.services import Denied
from tests.builders.people import approver, operator, viewer
from tests.builders.worlds import world
from tests.console.automation.earning import MODEL, again, allow, earned, opened, past, pool_of, set_to
from tests.console.plans.scene import CLUSTER, TWO, ends, move, ran, scene, started, three_nodes, two

pytestmark = pytest.mark.django_db


def turns() -> list[str]:
    return list(PoolTurn.objects.order_by("pk").values_list("turn", flat=True))


def standing(source: Source) -> str:
    return str(selectors.card_of(pool_of(source)).standing)


def expect(plan: Plan, seconds: float) -> None:
    Step.objects.filter(plan=plan).update(expected_s=seconds)


def test_a_run_by_people_counts_where_all_of_it_is_known() -> None:
    one, plan = two()
    expect(plan, 60.0)
    ran(started(plan))
    Step.objects.filter(plan=plan).update(requests_served=900, requests_lost=0)
    assert services.settle()
    run = PoolRun.objects.get()
    assert (run.whole, run.short_of, run.moves, run.as_predicted, run.promised, run.kept) == (True, "", 2, 2, 2, 2)
    assert (run.gpu_model, sorted(run.nodes), run.expected_s) == (MODEL, ["n1", "n2"], 120.0)
    assert run.doubled_gpu_s is not None and run.by_policy is False
    services.settle()
    assert PoolRun.objects.count() == 1 and turns() == []
    allow(automatic_plans=1)
    card = selectors.card_of(pool_of(one.source))
    assert (card.standing, card.automatic, card.figures.per_mille, card.figures.kept_per_cent) == (
        "earned", True, 1000, 100,
    )  # fmt: skip
    past(one.source, 1)  # of which nobody knows
    figures = selectors.card_of(pool_of(one.source)).figures
    assert (figures.requests_asked, figures.requests_lost, figures.requests_unknown) == (1800, 0, 1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"whole": False}, "earned 0 of 2 plans"),
        ({"by_policy": True}, "earned 0 of 2 plans"),
        ({"unknown": 10, "as_predicted": 0}, "no move with an expectation yet"),
        ({"late": 5, "as_predicted": 5}, "500 of 1,000 moves as predicted, 980 needed"),
        ({"kept": None}, "no promise was looked at yet"),
        ({"ended_at": timezone.now() - timedelta(days=31)}, "earned 0 of 2 plans"),
        ({"gpu_model": "L4"}, "earned 0 of 2 plans"),
    ],
)
def test_what_is_missing_is_said_and_unknown_is_never_good(fields: dict[str, Any], words: str) -> None:
    source = scene(three_nodes()).source
    allow()
    past(source, **fields)
    card = selectors.card_of(pool_of(source))
    assert card.standing == "earning"
    assert card.words.startswith("automatic is allowed; earned") and card.words.endswith("until then: approve")
    assert words in card.words


def _moves_fail(plan: Plan) -> None:
    Step.objects.filter(plan=plan, index=1).update(
        state="failed", detail="not sent: the pod is gone", ended_at=timezone.now()
    )


def _requests_get_lost(plan: Plan) -> None:
    Step.objects.filter(plan=plan, index=1).update(requests_served=988, requests_lost=12, ended_at=timezone.now())


def _halts(plan: Plan) -> None:
    Stop.objects.create(plan=plan, state="halted", reason="What is left no longer holds before wave 2", waiting=1)


def _aborted(plan: Plan) -> None:
    plans.abort_plan(operator(), plan.pk, "it looked wrong")


def _promise_broken(plan: Plan) -> None:
    ran(plan)
    Entry.objects.create(
        actor="executor", action="plan.succeeded", target_kind="plan", target_id=str(plan.pk), detail={"emptied": 1}
    )


def _taken_back(plan: Plan) -> None:
    ran(plan)
    back = plans.roll_back(operator("other"), plan.pk, "gangs were late")
    plans.approve_plan(approver(), back.pk, back.digest, "yes", start=True)


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (_moves_fail, "move 2 (jobs/b) failed: not sent: the pod is gone"),
        (_requests_get_lost, "the service of jobs/b lost 12 of 1,000 requests while it was copied"),
        (_halts, "the run halted: What is left no longer holds"),
        (_aborted, "the run was aborted by operator: it looked wrong"),
        (_promise_broken, "1 of 2 were as promised at the end of the run"),
        (_taken_back, "was taken back: gangs were late"),
    ],
)
def test_what_goes_wrong_loses_it_until_somebody_else_gives_it_back(happens: Any, words: str) -> None:
    one, plan = earned()
    assert routines.decide_open() == 1
    happens(again(plan))
    assert services.settle()
    lost = PoolTurn.objects.filter(turn="lost").latest("pk")
    assert words in lost.reason and standing(one.source) == "lost"
    assert Entry.objects.get(action="automation.lost", detail__turn=lost.pk).actor == "system"
    services.settle()
    assert PoolTurn.objects.filter(turn="lost").count() == 1  # each fault counts once
    card = selectors.card_of(pool_of(one.source))
    assert words in card.words and card.words.endswith("until an approver gives it back: approve")

    give = {"lost": lost.pk, "reason": "a tired switch, replaced"}
    for user in (viewer(), operator("another")):
        with pytest.raises(Denied):
            services.give_back(user, one.source.pk, CLUSTER, MODEL, **give)
    with pytest.raises(Conflict, match="needs a reason"):
        services.give_back(approver(), one.source.pk, CLUSTER, MODEL, lost=lost.pk, reason=" ")
    services.give_back(approver(), one.source.pk, CLUSTER, MODEL, **give)
    assert standing(one.source) == "earning"  # what came before does not count any more
    with pytest.raises(Conflict, match="nothing to give back"):
        services.give_back(approver(), one.source.pk, CLUSTER, MODEL, **give)
    past(one.source, ended_at=timezone.now() + timedelta(seconds=1))
    assert standing(one.source) == "earned"
    set_to("automatic_clean_days", 3)
    assert standing(one.source) == "earning"


def test_who_asked_for_the_plan_does_not_give_it_back_and_a_newer_loss_has_to_be_read() -> None:
    one = scene(three_nodes())
    plan = started(one.plan(*TWO, user=operator("asker")))
    Plan.objects.filter(pk=plan.pk).update(proposer=approver("both"))
    _halts(plan)
    services.settle()
    lost = PoolTurn.objects.get()
    with pytest.raises(Denied, match="You asked for plan"):
        services.give_back(approver("both"), one.source.pk, CLUSTER, MODEL, lost=lost.pk, reason="fine")
    _moves_fail(plan)
    with pytest.raises(Conflict, match="was lost again meanwhile"):
        services.give_back(approver(), one.source.pk, CLUSTER, MODEL, lost=lost.pk, reason="fine")
    newest = PoolTurn.objects.latest("pk")
    services.give_back(approver(), one.source.pk, CLUSTER, MODEL, lost=newest.pk, reason="fine")
    assert turns() == ["lost", "lost", "given_back"]
    back = Plan.objects.create(
        kind="rollback", title="back", source=one.source, cluster=CLUSTER, proposer=operator(), undoes=plan, parent=plan
    )
    lost = PoolTurn.objects.create(
        source=one.source, cluster=CLUSTER, gpu_model=MODEL, turn="lost", plan=back, reason="was taken back"
    )
    with pytest.raises(Denied, match=f"You asked for plan {plan.pk}"):
        services.give_back(approver("both"), one.source.pk, CLUSTER, MODEL, lost=lost.pk, reason="fine")


def test_after_a_surprise_the_next_plan_of_the_routine_is_left_to_people() -> None:
    one, plan = earned()
    assert routines.decide_open() == 1
    one.happen(ends("a"))
    assert ran(again(plan)).state in ("halted", "failed", "succeeded")
    Plan.objects.filter(pk=plan.pk, state="halted").update(state="aborted", ended_at=timezone.now())
    later = scene(three_nodes(), "sim2")
    past(later.source)
    other = opened(later)
    assert routines.decide_open() == 1 and again(other).state == "executing"  # another source has its own record
    services.settle()
    assert standing(one.source) == "lost" and "lost" in turns()


def test_a_record_that_falls_loses_what_was_earned() -> None:
    one, plan = earned()
    expect(plan, 60.0)
    assert routines.decide_open() == 1
    past(one.source, 3, late=10, as_predicted=0)
    ran(again(plan))
    services.settle()
    assert turns() == ["earned", "lost"]
    assert "the record has fallen: 423 of 1,000 moves as predicted" in PoolTurn.objects.latest("pk").reason


def test_what_was_earned_stays_when_runs_grow_old_and_ends_where_more_is_asked() -> None:
    one = earned()[0]
    assert routines.decide_open() == 1 and turns() == ["earned"]
    PoolRun.objects.update(ended_at=timezone.now() - timedelta(days=40))
    card = selectors.card_of(pool_of(one.source))
    assert (card.standing, card.figures.whole) == ("earned", 0)
    set_to("automatic_plans", 3)
    assert standing(one.source) == "earning"
    past(one.source, 3)
    assert standing(one.source) == "earned"


def test_while_a_run_cannot_be_read_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = earned()[1]

    def fails(*_given: Any) -> None:
        raise ValueError("a row that nobody understands")

    other = scene(three_nodes(), "other").plan(*TWO)
    _halts(started(other))
    monkeypatch.setattr(selectors, "faults_of", fails)
    assert routines.decide_open() == 0
    assert again(plan).left_to_people == "waits: not all runs are written down yet"
    monkeypatch.undo()
    assert routines.decide_open() == 1


def test_nodes_outside_the_scope_are_pools_too() -> None:
    """What receives need not be of the models that were asked for: each pool that is touched has to have earned it."""
    made = world().nodes("n1", "n2").pod("a", "n1", 2).node("n3", gpu_model="L4").pod("z", "n3", 2, locked=True)
    one = scene(made)
    plan = one.plan(move("a", "n1", "n3"), models=[MODEL])
    models = selectors.node_models(plan)
    assert models == {"n1": MODEL, "n3": "L4"}
    PlanMap.objects.filter(plan=plan).update(layout=[{"model": MODEL, "asw": None, "count": 2}], names="n1\nn2")
    assert selectors.node_models(plan) == models
    ran(started(plan))
    services.settle()
    assert set(PoolRun.objects.values_list("gpu_model", "promised", "kept")) == {(MODEL, 1, 1), ("L4", 0, 0)}
    Blob.objects.all().delete()
    archive.forget()
    assert selectors.touched_models(plan, selectors.node_models(plan)) == {MODEL, ""}


def test_emptied_nodes_of_which_the_day_after_is_known() -> None:
    one, plan = two()
    ran(started(plan))
    services.settle()
    plan = again(plan)
    now = timezone.now()
    Plan.objects.filter(pk=plan.pk).update(followed_until=now - timedelta(minutes=1))
    for node, refilled in (("n1", None), ("n2", now)):
        EmptiedNode.objects.create(plan=plan, node=node, gpus=8, emptied_at=now, refilled_at=refilled)
    figures = selectors.card_of(pool_of(one.source)).figures
    assert (figures.followed, figures.still_empty, figures.unknown, figures.per_mille) == (2, 1, 2, None)


OUTCOMES = st.lists(
    st.sampled_from(["good", "good", "good", "fails", "halts", "aborts", "broken", "give back", "time", "decide"]),
    max_size=9,
)


@settings(max_examples=10, deadline=None)
@given(OUTCOMES)
def test_it_is_never_automatic_after_a_failed_check_without_a_giving_back(outcomes: list[str]) -> None:
    """Any order of ended runs, faults and words of people, against the simplest account of what may be."""
    PoolTurn.objects.all().delete()
    PoolRun.objects.all().delete()
    Stop.objects.all().delete()
    Step.objects.all().delete()
    source = Source.objects.filter(name="sim").first() or scene(three_nodes()).source
    if not selectors.card_of(pool_of(source)).allowed:
        allow()
    spoiled, good = False, 0
    for number, outcome in enumerate(outcomes):
        match outcome:
            case "good":
                past(source, 1, ended_at=timezone.now())
                good += 1
            case "fails" | "halts" | "aborts" | "broken":
                _fault(source, outcome, number)
                spoiled, good = True, 0
            case "give back":
                losses = PoolTurn.objects.filter(turn="lost")
                services.settle()
                if spoiled:
                    services.give_back(
                        approver(), source.pk, CLUSTER, MODEL, lost=losses.latest("pk").pk, reason="seen"
                    )
                    spoiled, good = False, 0
            case "time":
                PoolTurn.objects.update(happened_at=timezone.now() - timedelta(days=90))
        assert services.settle()
        card = selectors.card_of(pool_of(source))
        assert card.automatic == (not spoiled and good >= 2)


def _fault(source: Source, outcome: str, number: int) -> None:
    """A run that goes wrong, and that may still be on its way."""
    state = {"fails": "executing", "halts": "halted", "aborts": "aborted", "broken": "succeeded"}[outcome]
    now = timezone.now()
    plan = Plan.objects.create(
        kind="consolidation", state=state, title=outcome, source=source, cluster=CLUSTER, proposer=operator(),
        approver=approver(), digest="d", approved_digest="d", approved_at=now, started_at=now,
        ended_at=now if state in ("aborted", "succeeded") else None, headline={"emptied": 2, "models": [MODEL]},
    )  # fmt: skip
    _drawn(plan)
    Step.objects.create(
        plan=plan, index=0, wave=0, run_wave=0, chain=0, depth=0, drains="n1", pod=f"jobs/{number}", source_node="n1",
        target_node="n2", mode="copy", gpus=1, gpu_milli=1000, tier="HP",
        state="failed" if outcome == "fails" else "succeeded", ended_at=now,
    )  # fmt: skip
    if outcome in ("halts", "aborts"):
        Stop.objects.create(plan=plan, state=state, reason="r", waiting=0)
    if outcome == "broken":
        Entry.objects.create(
            actor="executor", action="plan.succeeded", target_kind="plan", target_id=str(plan.pk),
            detail={"emptied": 0},
        )  # fmt: skip


def _drawn(plan: Plan) -> None:
    PlanMap.objects.create(
        plan=plan, layout=[{"model": MODEL, "asw": None, "count": 2}], names="n1\nn2", before=b"00", after=b"00",
        marks=bytes([1, 0]), gpus=bytes([8, 8]),
    )  # fmt: skip
