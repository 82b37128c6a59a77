"""A plan that waits calls who is on call, then the next, and never loses a call in silence."""

import threading
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone

from console.audit.models import Entry
from console.oncall import services
from console.oncall.models import Alert, Event, Message
from console.oncall.selectors import waits_for_itself as not_yet
from console.oncall.services import calling, delivering, sending
from console.plans import services as plans
from console.plans.models import Override, Plan
from console.plans.services import stepping
from console.policies.choices import APPROVE, OBSERVE
from console.policies.models import Setting
from console.rest.errors import Conflict, FieldError
from console.routines.models import Opening
from console.tenancy.services import Denied
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, viewer
from tests.console.oncall.scene import alert, calls, delivered, lines, people, rota, swept, waiting
from tests.console.plans.browsing import page_of
from tests.console.plans.scene import requested, scene, started, three_nodes
from tests.console.plans.test_windows import blackout, lift
from tests.console.policies.test_settings import FLEET, decide
from tests.console.routines.test_routines import made as routine_made

pytestmark = pytest.mark.django_db


def test_one_after_the_other_then_the_rota_then_all_approvers() -> None:
    """Never the proposer, and nobody without the right: skipped, and said."""
    rota("ada", "ben", "cem", next_minutes=5, singles=2, last_minutes=7)
    people("dora")
    plan = waiting(user=approver("ada"))
    begun = swept()
    assert calls(plan) == [(1, "ben", "sent")]
    assert "ada is not called: asked for this plan" in lines(plan)
    swept(4.9, begun)
    assert len(calls(plan)) == 1
    swept(5, begun)
    assert calls(plan)[1:] == [(2, "cem", "sent")]
    swept(10, begun)
    assert calls(plan)[2:] == [(3, "ben", "sent"), (3, "cem", "sent")]
    swept(17, begun)
    assert {(name, state) for _, name, state in calls(plan)[4:]} == {
        ("approver", "failed"), ("ben", "sent"), ("cem", "sent"), ("dora", "sent"),
    }  # fmt: skip
    assert "approver was not reached: there is no address: neither a webhook nor a mail" in lines(plan)
    assert alert(plan).due_at is None and alert(plan).state == "unanswered"
    swept(60, begun)
    assert len(calls(plan)) == 8


def test_a_message_says_what_it_is_and_leads_to_the_page(settings: Any) -> None:
    settings.PUBLIC_URL = "https://slackline.example.org"
    rota("ada", "ben")
    plan = waiting()
    swept()
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.org"] and f"Plan {plan.pk} in default awaits approval" in sent.subject
    assert f"https://slackline.example.org/plans/{plan.pk}/decide/" in sent.body
    for fact in ("Gain: empties 2 nodes net", "Moves: 2", "Restarts: none", "Digest:", "Valid until:", "next call"):
        assert fact in sent.body
    assert plan.digest not in sent.body


def test_a_decision_resolves_it_and_what_was_not_sent_is_not_sent() -> None:
    rota("ada", "ben")
    plan = waiting()
    services.sweep()
    plans.reject_plan(approver("ada"), plan.pk, plan.digest, "too late")
    services.sweep(timezone.now() + timedelta(minutes=6))
    assert calls(plan) == [(1, "ada", "dropped")] and not mail.outbox
    assert alert(plan).outcome == "rejected by ada" and alert(plan).state == "resolved"
    services.sweep()
    assert Alert.objects.count() == 1


def test_the_second_approval_calls_somebody_who_has_not_signed() -> None:
    rota("ada", "ben", "cem")
    plan = waiting()
    Plan.objects.filter(pk=plan.pk).update(approvals_needed=2)
    swept()
    plans.approve_plan(approver("ada"), plan.pk, plan.digest, "yes")
    swept(1)
    first, second = Alert.objects.order_by("pk")
    assert first.outcome == "the first approval was given by ada" and second.kind == "second"
    assert calls(plan)[-1] == (1, "ben", "sent") and "ada is not called: has approved it already" in lines(plan)
    plans.approve_plan(approver("ben"), plan.pk, plan.digest, "yes, too")
    swept(2)
    assert alert(plan).outcome == "approved by ben"


def test_acknowledging_holds_the_calls_for_a_while_only() -> None:
    rota("ada", "ben", hold_minutes=15)
    plan = waiting()
    begun = swept()
    services.acknowledge(approver("ada"), alert(plan).pk)
    with pytest.raises(Conflict, match="ada is looking"):
        services.acknowledge(approver("ben"), alert(plan).pk)
    swept(6, begun)
    swept(14, begun)
    assert calls(plan) == [(1, "ada", "sent")] and alert(plan).state == "acknowledged"
    swept(16, begun)
    assert calls(plan)[-1] == (2, "ben", "sent") and "ada has not decided: the calls go on" in lines(plan)
    assert Entry.objects.filter(action="alert.acknowledged", actor="ada", target_id=str(plan.pk)).count() == 1


def test_who_could_not_decide_may_not_hold_the_calls_back() -> None:
    rota("ada", "ben")
    plan = waiting(user=approver("ada"))
    swept()
    for refused in (services.acknowledge, services.hand_on):
        with pytest.raises(Denied, match="asked for this plan"):
            refused(approver("ada"), alert(plan).pk)
        with pytest.raises(Denied):
            refused(operator(), alert(plan).pk)


def test_handing_on_calls_the_next_at_once() -> None:
    rota("ada", "ben", singles=2, quiet_from=time(0), quiet_until=time(23, 59), urgent=[])
    plan = waiting()
    swept(0, datetime(2199, 1, 1, 12, tzinfo=UTC))
    assert alert(plan).state == "quiet" and not calls(plan)
    services.hand_on(approver("cem"), alert(plan).pk, "not mine")  # quiet hours or not: a person asked for it
    services.hand_on(approver("ada"), alert(plan).pk)
    assert [name for _, name, _ in calls(plan)] == ["ada", "ben"]
    assert "cem hands it on: not mine" in lines(plan)


def test_a_failed_delivery_is_tried_again_then_calls_the_next_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rota("ada", "ben")
    plan = waiting()
    real, tried = sending.send, []

    def broken(way: Any, text: Any) -> None:
        tried.append(way.address)
        if way.address.startswith("ada"):
            raise sending.DeliveryError("451 try later")
        real(way, text)

    monkeypatch.setattr(delivering.sending, "send", broken)
    begun = swept()
    assert calls(plan) == [(1, "ada", "waiting")]
    for seconds in (5, 25):
        delivered(begun + timedelta(seconds=seconds))
    assert tried == ["ada@example.org"] * 3
    assert calls(plan) == [(1, "ada", "failed"), (2, "ben", "waiting")]
    assert "ada was not reached: 451 try later" in lines(plan)
    delivered(begun + timedelta(seconds=26))
    assert calls(plan)[1] == (2, "ben", "sent")


def test_no_address_is_no_silence() -> None:
    """Whoever has none is passed over at once; with nobody left everybody sees that nobody was reached."""
    rota("ada", "ben")
    for one in (approver("ada"), approver("ben"), approver()):
        one.email = ""
        one.save()
    plan = waiting()
    begun = swept()
    for second in range(4):
        delivered(begun + timedelta(seconds=second))
    assert {state for _, _, state in calls(plan)} == {"failed"}
    assert {call for call, _, _ in calls(plan)} == {1, 2, 3, 4} and alert(plan).state == "unanswered"


def test_plans_of_routines_wait_until_morning_others_do_not() -> None:
    rota("ada", quiet_from=time(22), quiet_until=time(7), urgent=["approval"])
    night = datetime(2027, 1, 5, 3, tzinfo=UTC)
    one = scene(three_nodes())
    row = routine_made(one)
    nightly = waiting(one)
    Opening.objects.create(routine=row, due_at=night, outcome="opened", plan=nightly)
    plan = waiting(one)
    Plan.objects.update(proposed_at=night - timedelta(minutes=1), expires_at=night + timedelta(hours=9))
    swept(0, night)
    assert calls(plan) == [(1, "ada", "sent")] and not calls(nightly)
    assert "Held until 2027-01-05 07:00 UTC" in lines(nightly)[-1]
    swept(4 * 60, night)
    assert calls(nightly) == [(1, "ada", "sent")]


def test_a_halted_run_and_an_old_review_call_somebody() -> None:
    rota("ada", "ben", review_hours=12)
    one = scene(three_nodes())
    plan = started(waiting(one))
    Plan.objects.filter(pk=plan.pk).update(worker="w")
    plan.refresh_from_db()
    stepping.halt(plan, "w", "a move failed")
    swept()
    assert alert(plan).kind == "halted" and calls(plan) == [(1, "ada", "sent")]
    plans.abort_plan(operator(), plan.pk, "enough")
    other = plans.break_glass(approver("ben"), waiting(one).pk, "it burns")
    swept()
    assert alert(plan).outcome == "the plan is aborted: enough"
    assert not Alert.objects.filter(kind="review").exists()
    swept(12 * 60 + 1)
    review = Alert.objects.get(kind="review")
    assert [one.user.username for one in review.messages.all()] == ["ada"]  # ben broke it
    plans.close_review(approver("ada"), other.overrides.get().pk, "fine")
    swept(12 * 60 + 2)
    review.refresh_from_db()
    assert review.outcome == "closed by ada"


def test_nobody_is_called_while_nothing_would_come_of_a_yes() -> None:
    """Closed windows and the policy's own plans need nobody; a halted run does."""
    rota("ada", "ben")
    one = scene(three_nodes())
    window = blackout()
    plan = waiting(one)
    begun = swept()
    assert not Alert.objects.exists()
    page = squeezed(page_of(viewer(), plan))
    assert "Nobody is called yet:<bdi>its windows are closed" in page and "it expires before they open" in page
    plans.break_glass(approver("ben"), plan.pk, "it burns")
    swept(0.1, begun)
    assert [name for _, name, _ in calls(plan)] == ["ada"]
    Override.objects.all().update(expires_at=timezone.now(), closed_at=timezone.now(), closed_by=approver("ada"))
    swept(1, begun)
    assert alert(plan).outcome.startswith("nobody is needed yet: its windows are closed for the next five weeks")
    lift(window)
    Plan.objects.filter(pk=plan.pk).update(left_to_people="waits: n1 is locked by plan 7")
    swept(2, begun)
    assert alert(plan).state == "resolved"
    Plan.objects.filter(pk=plan.pk).update(left_to_people="left to people: the level is approve")
    swept(3, begun)
    assert alert(plan).state == "calling" and not_yet(plan) == ""


def test_what_another_worker_opens_meanwhile_is_not_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rota("ada")
    plan = waiting()
    real = calling.subjects

    def looks_too_early(now: datetime) -> list[Any]:
        monkeypatch.setattr(calling, "subjects", real)
        services.sweep()
        return []

    monkeypatch.setattr(calling, "subjects", looks_too_early)
    services.sweep()
    assert (alert(plan).state, alert(plan).calls) == ("calling", 1)


def test_a_plan_that_was_a_report_for_a_while_calls_again() -> None:
    rota("ada", "ben")
    plan = waiting()
    begun = swept()
    decide("autonomy", FLEET, OBSERVE)
    swept(1, begun)
    assert alert(plan).outcome == "nobody can approve it any more: plans there are reports"
    Setting.objects.filter(name="autonomy").update(value=APPROVE)
    swept(2, begun)
    assert alert(plan).state == "calling" and [name for _, name, _ in calls(plan)] == ["ada", "ben"]


def test_handovers_have_hours_and_minutes_alone() -> None:
    """A second past the handover of its own clock, the day of that handover would be the one before."""
    for name in ("at", "quiet_from"):
        with pytest.raises(FieldError, match=f"{name}: hours and minutes"):
            rota("ada", **{name: time(9, 0, 30)})


def test_where_no_rota_covers_the_place_nobody_is_called() -> None:
    waiting()
    swept()
    assert not Alert.objects.exists()


def test_a_plan_that_is_a_report_calls_nobody() -> None:
    rota("ada")
    requested(scene().source)
    swept()
    assert not Alert.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_send_one() -> None:
    rota("ada", "ben")
    plan = waiting()
    at = timezone.now()
    failures: list[Exception] = []

    def work() -> None:
        try:
            services.sweep(at)
            for pk in Message.objects.values_list("pk", flat=True):
                services.deliver(pk, at)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    delivered(at)
    assert calls(plan) == [(1, "ada", "sent")] and len(mail.outbox) == 1
    assert Event.objects.filter(kind="opened").count() == Event.objects.filter(kind="called").count() == 1
