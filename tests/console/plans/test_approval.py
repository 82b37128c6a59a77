"""Approval: one digest, once, in time, never one's own, never on old data or under a freeze."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.inventory.models import Source
from console.plans import services
from console.plans.choices import State
from console.plans.frozen import Freeze
from console.plans.models import Decision, Plan
from console.rest.errors import FieldError
from console.tenancy.services import Denied
from tests.builders.people import approver, operator, tenant, viewer
from tests.console.plans.scene import arrives, move, node_set, scene, started

pytestmark = pytest.mark.django_db
A = move("a", "n1", "n2")


def _refusal(plan: Plan, user: object = None, digest: str | None = None) -> services.Conflict:
    with pytest.raises(services.Conflict) as refused:
        services.approve_plan(user or approver(), plan.pk, plan.digest if digest is None else digest, "yes")
    return refused.value


def test_an_approval_signs_the_digest_once() -> None:
    plan = scene().plan(A)
    done = services.approve_plan(approver(), plan.pk, plan.digest, "fits the evening")
    assert (done.state, done.approved_digest, done.approver) == (State.APPROVED, plan.digest, approver())
    decision = Decision.objects.get(plan=plan)
    assert (decision.digest, decision.reason, decision.verdict) == (plan.digest, "fits the evening", "approved")
    assert Entry.objects.filter(action="plan.approved", target_id=str(plan.pk), digest=plan.digest).count() == 1
    again = _refusal(plan)
    said = f"approver approved {decision.at:%H:%M:%S}: “fits the evening”"
    assert again.reason == f"Plan {plan.pk} is approved ({said}). Start it."
    assert Entry.objects.filter(action="plan.approved").count() == 1


def test_the_proposer_never_approves() -> None:
    plan = scene().plan(A, user=approver("both"))
    with pytest.raises(Denied, match="somebody else"):
        services.approve_plan(approver("both"), plan.pk, plan.digest, "mine")
    with pytest.raises(Denied, match="cancel"):
        services.reject_plan(approver("both"), plan.pk, plan.digest, "mine")


@pytest.mark.parametrize("person", [operator, viewer, tenant])
def test_others_may_not_approve(person: object) -> None:
    plan = scene().plan(A)
    with pytest.raises(Denied, match="may not approve"):
        services.approve_plan(person("other") if person is operator else person(), plan.pk, plan.digest, "yes")  # type: ignore[operator]


def test_no_digest_and_another_digest() -> None:
    plan = scene().plan(A)
    with pytest.raises(services.DigestMissingError):
        services.approve_plan(approver(), plan.pk, "", "yes")
    assert "You read digest" in _refusal(plan, digest="0" * 64).reason
    assert Plan.objects.get(pk=plan.pk).state == State.PROPOSED


def test_a_decision_needs_a_reason() -> None:
    plan = scene().plan(A)
    with pytest.raises(services.Conflict, match="needs a reason"):
        services.approve_plan(approver(), plan.pk, plan.digest, "  ")


def test_old_data_blocks_approval() -> None:
    plan = scene().plan(A)
    Source.objects.update(last_observed_at=timezone.now() - timedelta(seconds=31))
    refused = _refusal(plan)
    assert "old data" in refused.reason
    assert "Wait for a new reading" in refused.reason


def test_slow_sources_are_judged_by_six_of_their_periods() -> None:
    plan = scene().plan(A)
    Source.objects.update(period_s=20, last_observed_at=timezone.now() - timedelta(seconds=100))
    assert services.approve_plan(approver(), plan.pk, plan.digest, "yes").state == State.APPROVED


def test_a_file_cannot_act() -> None:
    plan = scene().plan(A)
    Source.objects.update(kind="file")
    assert "only look at it" in _refusal(plan).reason


def test_time_runs_out() -> None:
    plan = scene().plan(A)
    Plan.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "expired" in _refusal(plan).reason
    services.sweep()
    assert Plan.objects.get(pk=plan.pk).state == State.EXPIRED


@pytest.mark.parametrize(("scope", "cluster", "model"), [("cluster", "defualt", ""), ("pool", "default", "H1O0")])
def test_a_misspelt_name_freezes_nothing_and_says_so(scope: str, cluster: str, model: str) -> None:
    scene()
    until = timezone.now() + timedelta(hours=1)
    with pytest.raises(FieldError, match="known: "):
        services.set_freeze(operator(), scope=scope, cluster=cluster, gpu_model=model, reason="x", expires_at=until)
    assert not Freeze.objects.exists()


@pytest.mark.parametrize(
    ("scope", "cluster", "model", "blocks"),
    [
        ("fleet", "", "", True),
        ("cluster", "default", "", True),
        ("cluster", "other", "", False),
        ("pool", "default", "H100-SXM5-80GB", True),
        ("pool", "default", "L4", False),
    ],
)
def test_a_freeze_blocks_what_it_covers(scope: str, cluster: str, model: str, blocks: bool) -> None:
    plan = scene().plan(A)
    until = timezone.now() + timedelta(hours=1)
    Freeze.objects.create(
        scope=scope, cluster=cluster, gpu_model=model, reason="firmware", expires_at=until, owner=operator()
    )
    if blocks:
        assert "firmware" in _refusal(plan).reason
    else:
        assert services.approve_plan(approver(), plan.pk, plan.digest, "yes").state == State.APPROVED


def test_a_changed_cluster_makes_the_plan_stale_and_says_what_changed() -> None:
    """C27: c and d came, so a no longer fits on n2 and n1 would not become empty."""
    one = scene()
    plan = one.plan(A)
    one.happen(arrives("c", "n1", 4), arrives("d", "n2", 2))
    refused = _refusal(plan)
    assert refused.changes
    assert {move for change in refused.changes for move in change["moves"]} == {0}
    kept = Plan.objects.get(pk=plan.pk)
    assert kept.state == State.STALE
    assert kept.changes == list(refused.changes)
    assert bytes(kept.document or b"")  # readable for ever


def test_changes_elsewhere_do_not_matter() -> None:
    from_the_start = scene()
    plan = from_the_start.plan(A)
    from_the_start.happen(arrives("tiny", "n2", 1))
    assert services.approve_plan(approver(), plan.pk, plan.digest, "yes").state == State.APPROVED


def test_the_sweep_finds_stale_plans_and_names_the_field() -> None:
    one = scene()
    plan = one.plan(A)
    one.happen(node_set("n2", cordoned=True))
    services.sweep()
    stale = Plan.objects.get(pk=plan.pk)
    assert stale.state == State.STALE
    assert ("node", "n2", "cordoned") in {(c["kind"], c["object"], c["field"]) for c in stale.changes}
    assert Entry.objects.filter(action="plan.stale").count() == 1


def test_start_checks_again_and_starts_nothing_that_changed() -> None:
    """C27: approved, then changed: the start is refused and no move is sent."""
    one = scene()
    plan = one.plan(A)
    services.approve_plan(approver(), plan.pk, plan.digest, "yes")
    one.happen(arrives("c", "n1", 4), arrives("d", "n2", 2))
    with pytest.raises(services.Conflict) as refused:
        services.start_plan(operator(), plan.pk)
    assert refused.value.changes
    assert not plan.steps.exclude(state="waiting").exists()


def test_no_reading_no_start() -> None:
    """C27: the collector is down and the last snapshot 20 min old: fail closed."""
    plan = scene().plan(A)
    services.approve_plan(approver(), plan.pk, plan.digest, "yes")
    Source.objects.update(last_observed_at=timezone.now() - timedelta(minutes=20))
    with pytest.raises(services.Conflict, match="old data"):
        services.start_plan(operator(), plan.pk)
    assert Plan.objects.get(pk=plan.pk).state == State.APPROVED


def test_approval_and_start_in_one_go() -> None:
    plan = scene().plan(A)
    done = services.approve_plan(approver(), plan.pk, plan.digest, "yes", start=True)
    assert done.state == State.EXECUTING
    assert sorted(done.locks.values_list("node", flat=True)) == ["n1", "n2"]


def test_a_lock_is_named_and_nothing_is_approved_by_halves() -> None:
    one = scene()
    first = started(one.plan(A))
    second = one.plan(A)
    with pytest.raises(services.Conflict, match=rf"locked by plan {first.pk} of operator"):
        services.approve_plan(approver(), second.pk, second.digest, "yes", start=True)
    assert Plan.objects.get(pk=second.pk).state == State.PROPOSED
    assert not Decision.objects.filter(plan=second).exists()


def test_what_waits_for_an_approval_is_not_to_be_computed_anew() -> None:
    plan = scene().plan(A)
    with pytest.raises(services.Conflict) as refused:
        services.start_plan(operator("starter"), plan.pk)
    assert refused.value.reason == f"Plan {plan.pk} is awaiting approval. It needs an approval first."


def test_a_refusal_ends_the_words_of_the_person_who_froze() -> None:
    plan = scene().plan(A)
    until = timezone.now() + timedelta(minutes=5)
    services.set_freeze(operator("owner"), scope="fleet", reason="switch firmware", expires_at=until)
    assert _refusal(plan).reason.endswith(": switch firmware. Wait until it ends, or have it lifted.")
