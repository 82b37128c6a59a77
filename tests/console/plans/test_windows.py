"""Runs keep to their windows: they stop between two waves, go on by themselves, and say so."""

from typing import Any

import pytest
from django.urls import reverse

from console.audit.models import Entry
from console.plans import execution, services
from console.plans.models import Override, Plan, Stop
from console.policies.choices import Place
from console.policies.models import Window
from console.policies.services import set_value
from console.tenancy.services import Denied
from tests.builders.people import approver, operator
from tests.console.plans.scene import approved, ran, started, two

pytestmark = pytest.mark.django_db
ALWAYS = ("0 * * * *", 60)  # every hour for an hour


def blackout() -> Window:
    """From now on nothing runs anywhere."""
    return Window.objects.create(kind="blackout", scope="fleet", cron=ALWAYS[0], minutes=ALWAYS[1],
                                 owner=approver("owner"), reason="quarter end")  # fmt: skip


def lift(window: Window) -> None:
    Window.objects.filter(pk=window.pk).update(ended_at="2026-01-01T00:00Z")


def now(plan: Plan) -> Plan:
    return Plan.objects.get(pk=plan.pk)


def waiting() -> tuple[Plan, Window]:
    """A run whose window has closed."""
    plan = started(two()[1])
    window = blackout()
    return ran(plan), window


def test_a_run_waits_between_waves_and_goes_on_by_itself() -> None:
    plan, window = waiting()
    assert (plan.state, plan.waits_for, plan.steps.filter(state="succeeded").count()) == ("paused", "window", 0)
    assert plan.reason.startswith("Waits for its window and goes on by itself: closed: blackout of the whole fleet")
    services.sweep()
    assert now(plan).state == "paused"
    lift(window)
    services.sweep()
    again = now(plan)
    assert (again.state, again.waits_for, again.reason) == ("executing", "", "its window is open again")
    assert Entry.objects.filter(action="plan.executing", actor="system").count() == 1
    assert ran(plan).state == "succeeded"
    assert Stop.objects.get(plan=plan).reason == plan.reason


def test_a_window_that_closes_in_a_wave_lets_the_wave_end(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = started(two()[1])
    sent = execution._move

    def move(*args: Any) -> None:
        sent(*args)
        if not Window.objects.exists():
            blackout()

    monkeypatch.setattr(execution, "_move", move)
    after = ran(plan)
    assert (after.state, after.steps.filter(state="succeeded").count()) == ("paused", 1)


def test_what_waits_can_be_held_resumed_by_hand_or_aborted() -> None:
    plan, window = waiting()
    held = services.pause_plan(operator(), plan.pk, "look first")
    assert (held.state, held.waits_for, held.reason) == ("paused", "", "look first")
    assert Entry.objects.get(action="plan.held").reason == "look first"
    lift(window)
    services.sweep()
    assert now(plan).state == "paused"
    assert services.resume_plan(operator(), plan.pk).state == "executing"


def test_nothing_starts_outside_its_windows() -> None:
    plan = two()[1]
    window = blackout()
    with pytest.raises(services.Conflict, match="Closed: blackout"):
        services.approve_plan(approver(), plan.pk, plan.digest, "yes", start=True)
    assert now(plan).state == "proposed"
    approved(plan)
    with pytest.raises(services.Conflict, match="quarter end"):
        services.start_plan(operator(), plan.pk)
    lift(window)
    assert services.start_plan(operator(), plan.pk).state == "executing"


def test_a_window_elsewhere_does_not_matter() -> None:
    Window.objects.create(kind="blackout", scope="cluster", cluster="other", cron=ALWAYS[0], minutes=ALWAYS[1],
                          owner=approver(), reason="r")  # fmt: skip
    assert ran(started(two()[1])).state == "succeeded"


# --- broken glass ----------------------------------------------------------------------------------------------------
def test_broken_glass_passes_the_windows_and_leaves_a_review() -> None:
    plan = approved(two()[1])
    blackout()
    services.break_glass(approver("breaker"), plan.pk, "a gang waits")
    with pytest.raises(services.Conflict, match="broken already, by breaker until"):
        services.break_glass(approver("breaker"), plan.pk, "a gang waits")
    assert ran(services.start_plan(operator(), plan.pk)).state == "succeeded"
    review = Override.objects.get()
    assert (review.plan_id, review.digest, review.reason) == (plan.pk, plan.digest, "a gang waits")
    assert (review.expires_at - review.since).total_seconds() == 15 * 60
    assert Entry.objects.get(action="glass.broken").reason == "a gang waits"


def test_broken_glass_passes_the_second_approver_and_nothing_hard() -> None:
    set_value(approver(), "two_approvers_above_moves", Place(), 1, reason="r", version=0)
    plan = two()[1]
    services.break_glass(approver("breaker"), plan.pk, "a gang waits")
    Plan.objects.filter(pk=plan.pk).update(proposer=approver("asker"))
    with pytest.raises(Denied):
        services.approve_plan(approver("asker"), plan.pk, plan.digest, "yes")
    assert services.approve_plan(approver("other"), plan.pk, plan.digest, "yes").state == "approved"


def test_who_approved_first_may_break_the_glass_afterwards() -> None:
    set_value(approver(), "two_approvers_above_moves", Place(), 1, reason="r", version=0)
    plan = two()[1]
    assert services.approve_plan(approver("one"), plan.pk, plan.digest, "yes").state == "proposed"
    services.break_glass(approver("one"), plan.pk, "nobody else is awake")
    done = services.approve_plan(approver("one"), plan.pk, plan.digest, "yes, now")
    assert (done.state, done.decisions.count()) == ("approved", 1)


def test_glass_is_whole_again_after_its_time() -> None:
    plan = approved(two()[1])
    blackout()
    services.break_glass(approver("breaker"), plan.pk, "a gang waits")
    Override.objects.update(since="2026-01-01T00:00Z", expires_at="2026-01-01T00:15Z")
    with pytest.raises(services.Conflict, match="Closed"):
        services.start_plan(operator(), plan.pk)


def test_only_those_with_the_right_and_a_reason_break_it() -> None:
    plan = two()[1]
    with pytest.raises(Denied):
        services.break_glass(operator(), plan.pk, "r")
    with pytest.raises(services.Conflict, match="reason"):
        services.break_glass(approver(), plan.pk, " ")
    services.cancel_plan(operator(), plan.pk)
    with pytest.raises(services.Conflict, match="nothing to pass"):
        services.break_glass(approver(), plan.pk, "r")


def test_somebody_else_must_close_the_review(client: Any) -> None:
    plan = two()[1]
    services.break_glass(approver("breaker"), plan.pk, "a gang waits")
    review = Override.objects.get()
    client.force_login(operator())
    assert f"Review of plan {plan.pk}" in client.get(reverse("overview:fleet")).content.decode()
    with pytest.raises(Denied):
        services.close_review(approver("breaker"), review.pk, "all well")
    with pytest.raises(services.Conflict, match="finding"):
        services.close_review(approver(), review.pk, "")
    assert services.close_review(approver(), review.pk, "was needed").closed_by == approver()
    with pytest.raises(services.Conflict, match="closed already"):
        services.close_review(approver(), review.pk, "again")
    assert f"Review of plan {plan.pk}" not in client.get(reverse("overview:fleet")).content.decode()


def test_the_page_draws_the_week_and_offers_the_glass(client: Any) -> None:
    plan = approved(two()[1])
    blackout()
    client.force_login(approver())
    text = client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
    assert "plan-gate__closed" in text
    assert "Break the glass" in text
    assert "Start 2 moves" not in text
    client.force_login(operator())
    assert "Break the glass" not in client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
