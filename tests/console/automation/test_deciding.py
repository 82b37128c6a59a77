"""The policy starts plans of routines where all that they touch has earned it, and says why not everywhere else."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.automation.models import PoolTurn
from console.plans import services as plans
from console.plans.models import Decision, NodeLock, Override, Plan
from console.policies import windowing
from console.policies.choices import APPROVE, AUTOMATIC, Place, Scope
from console.policies.models import Setting
from console.routines import services as routines
from console.routines.models import Opening
from tests.builders.people import approver, operator
from tests.console.automation.earning import MODEL, again, allow, earned, opened, past, set_to
from tests.console.plans.scene import TWO, arrives, ran, scene, three_nodes

pytestmark = pytest.mark.django_db
POOL = Place(Scope.POOL, "default", MODEL)


def test_a_plan_of_a_routine_is_approved_and_started_by_the_policy() -> None:
    one, plan = earned()
    assert routines.decide_open() == 1
    plan = again(plan)
    assert (plan.state, plan.approver, plan.left_to_people) == ("executing", approver("owner"), "")
    decision = Decision.objects.get(plan=plan)
    assert decision.policy == "automatic, version 1 of the whole fleet"
    entry = Entry.objects.get(action="plan.approved", target_id=str(plan.pk))
    assert (entry.actor, entry.actor_uid, entry.digest) == ("policy", None, plan.digest)
    assert entry.detail["allowed_by"] == "owner"
    assert entry.detail["settings"] == [{"name": "autonomy", "place": "the whole fleet", "version": 1, "by": "owner"}]
    assert entry.detail["scorecards"][0]["figures"]["whole"] == 2
    assert Entry.objects.get(action="plan.executing", target_id=str(plan.pk)).actor == "policy"
    plans.leave_to_people(plan, "left to people: it is running")  # what a second worker was refused for
    assert again(plan).left_to_people == ""
    assert ran(plan).state == "succeeded"
    assert routines.decide_open() == 0
    run = plan.pool_runs.get()
    # Nothing was expected of its moves, so that it counts for nothing; nothing went wrong, so that nothing is lost.
    assert (run.by_policy, run.whole, run.unknown, run.kept) == (True, False, 2, 2)
    assert list(PoolTurn.objects.values_list("turn", flat=True)) == ["earned"]
    assert one.source.pk == run.source_id


def test_a_plan_that_a_person_asked_for_is_never_started_by_it() -> None:
    one = scene(three_nodes())
    allow()
    past(one.source)
    plan = one.plan(*TWO)
    assert routines.decide_open() == 0
    assert (again(plan).state, again(plan).left_to_people) == ("proposed", "")


def _not_allowed(plan: Plan) -> None:
    set_to("autonomy", APPROVE)


def _a_pool_is_lower(plan: Plan) -> None:
    set_to("autonomy", APPROVE, POOL)


def _allowed_by_the_owner_alone(plan: Plan) -> None:
    Setting.objects.filter(name="autonomy").update(by=plan.proposer)
    type(plan.proposer).objects.filter(pk=plan.proposer_id).update(role="approver")


def _allowed_by_who_may_not_any_more(plan: Plan) -> None:
    type(plan.proposer).objects.filter(username="owner").update(role="viewer")


def _too_many_moves(plan: Plan) -> None:
    set_to("automatic_moves", 1)


def _two_people(plan: Plan) -> None:
    set_to("two_approvers_above_moves", 1)


def _two_people_when_proposed(plan: Plan) -> None:
    Plan.objects.filter(pk=plan.pk).update(approvals_needed=2)


def _more_is_asked(plan: Plan) -> None:
    set_to("automatic_plans", 6)


def _glass(plan: Plan) -> None:
    plans.break_glass(approver(), plan.pk, "it burns")


def _glass_that_is_whole_again(plan: Plan) -> None:
    plans.break_glass(approver(), plan.pk, "it burns")
    long_ago = timezone.now() - timedelta(hours=1)
    Override.objects.update(since=long_ago, expires_at=long_ago + timedelta(minutes=15))


def _made_easy_by_the_owner(plan: Plan) -> None:
    Setting.objects.filter(name="automatic_plans").update(by=plan.proposer)


def _paused(plan: Plan) -> None:
    routines.pause_routine(operator(), Opening.objects.get(plan=plan).routine_id, "holidays")


def _frozen(plan: Plan) -> None:
    plans.set_freeze(operator(), scope="fleet", reason="r", expires_at=timezone.now() + timedelta(hours=1))


def _blackout(plan: Plan) -> None:
    minute = (timezone.now() - timedelta(minutes=1)).strftime("%M %H * * *")
    windowing.add_window(approver(), Place(), kind="blackout", cron=minute, minutes=30, zone="UTC", reason="month end")


def _old(plan: Plan) -> None:
    type(plan.source).objects.filter(pk=plan.source_id).update(last_observed_at=timezone.now() - timedelta(hours=1))


def _locked(plan: Plan) -> None:
    other = Plan.objects.create(
        kind="consolidation", state="executing", title="other", source=plan.source, cluster="default",
        proposer=operator(), approver=approver(), approved_digest="d", digest="d", approved_at=timezone.now(),
    )  # fmt: skip
    until = timezone.now() + timedelta(hours=1)
    NodeLock.objects.create(
        source=plan.source, cluster="default", node="n3", plan=other, owner=operator(), expires_at=until
    )


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (_not_allowed, "left to people: the level is approve (the whole fleet)"),
        (_a_pool_is_lower, f"left to people: the level is approve (pool {MODEL} in default)"),
        (_allowed_by_the_owner_alone, "left to people: automatic was allowed by operator, who asks for this plan"),
        (_allowed_by_who_may_not_any_more, "left to people: automatic was allowed by operator, who asks"),
        (_too_many_moves, "left to people: 2 moves, more than 1 (the whole fleet)"),
        (_two_people, "left to people: two people must approve it: 2 moves, more than 1 move (the whole fleet)"),
        (_two_people_when_proposed, "left to people: two people must approve it: the policy asked for them when"),
        (_more_is_asked, f"left to people: {MODEL} in default: automatic is allowed; earned 2 of 6 plans; until"),
        (_glass, "left to people: approver broke the glass for it"),
        (_glass_that_is_whole_again, "left to people: approver broke the glass for it"),
        (_made_easy_by_the_owner, "left to people: operator, who asks for this plan, set “to earn: plans” to 2 plans"),
        (_paused, "is paused"),
        (_frozen, "waits: Frozen: the whole fleet, by operator"),
        (_blackout, "waits: closed: blackout of the whole fleet, by approver: month end"),
        (_old, "waits: sim was last seen"),
        (_locked, "waits: node n3 is locked by plan"),
    ],
)
def test_why_a_plan_is_left_to_people_or_waits(happens: Any, words: str) -> None:
    plan = earned()[1]
    happens(plan)
    assert routines.decide_open() == 0
    assert words in again(plan).left_to_people
    assert again(plan).state == "proposed"


def test_a_plan_that_changed_goes_stale_as_for_people() -> None:
    one, plan = earned()
    one.happen(arrives("late", "n3", 4))
    assert routines.decide_open() == 0
    assert again(plan).state == "stale"
    assert "of 2 moves no longer hold" in again(plan).left_to_people


def test_what_one_pool_allows_counts_for_no_other_and_for_no_pods_of_nobody() -> None:
    """Where a plan touches a place for which nobody decided anything, the built-in level counts."""
    one = scene(three_nodes())
    past(one.source)
    plan = opened(one)
    for place in (Place(Scope.POOL, "default", "L4"), Place(Scope.TENANT, tenant="other")):
        allow(place)
    assert routines.decide_open() == 0
    assert again(plan).left_to_people == "left to people: the level is approve (built in)"
    set_to("autonomy", AUTOMATIC, POOL)
    assert routines.decide_open() == 1


def test_a_plan_with_pods_of_nobody_is_not_covered_by_a_tenant() -> None:
    one = scene(three_nodes())
    past(one.source)
    plan = opened(one)
    rows = [{**row, "tenant": name} for row in plan.impact for name in (row["tenant"], "")]
    Plan.objects.filter(pk=plan.pk).update(impact=rows)
    allow(Place(Scope.TENANT, tenant=rows[0]["tenant"]))
    assert routines.decide_open() == 0
    Plan.objects.filter(pk=plan.pk).update(impact=rows[:1])
    assert routines.decide_open() == 1


def test_the_owner_of_a_routine_may_not_be_the_one_who_allowed_it_but_another_may() -> None:
    one = scene(three_nodes())
    past(one.source)
    both = approver("both")
    allow(by=both)
    plan = opened(one, user=both)
    assert routines.decide_open() == 0
    set_to("autonomy", AUTOMATIC, POOL, by=approver("another"))
    assert routines.decide_open() == 1
    assert again(plan).approver == approver("another")
