"""The life of a proposal: worked out, edited, sent, approved by another person, in force at its hour."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.plans import inbox
from console.plans import services as plans
from console.prices import lifecycle, selectors, services
from console.prices.choices import State
from console.prices.models import Line, Price, Proposal
from console.prices.services import effect
from console.rest.errors import Conflict, FieldError
from console.tenancy.services import Denied
from tests.builders.people import approver, operator, tenant, viewer
from tests.console.prices.scene import A100, H100, PREVIEW, approved, computed, now_hour, price, proposed

pytestmark = pytest.mark.django_db


def state(row: Proposal) -> str:
    return Proposal.objects.get(pk=row.pk).state


def at(row: Proposal, **later: int) -> int:
    assert row.takes_at is not None
    return services.turn(row.takes_at + timedelta(**later))


@pytest.fixture(autouse=True)
def _no_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are due are a test of their own."""
    monkeypatch.setattr(effect, "_open_due", lambda now: 0)


def test_a_price_goes_from_review_to_force_with_its_reason() -> None:
    price()
    row = approved((H100, 206))
    assert selectors.quote_of(H100).cents == 200
    assert selectors.quote_of(H100).coming.cents == 206  # type: ignore[union-attr]
    assert at(row, seconds=-1) == 0
    assert at(row, minutes=3) == 1
    new = Price.objects.get(proposal=row)
    assert (new.cents, new.was_cents, new.since, new.why) == (206, 200, row.effective_at, f"queue moved {H100}.")
    assert (state(row), selectors.quote_of(H100, new.since).cents) == (State.IN_FORCE, 206)
    assert at(row, minutes=4) == 0  # a second worker finds nothing to do
    actions = list(Entry.objects.filter(target_kind="price_proposal").order_by("pk").values_list("action", flat=True))
    told = ["computing", "draft", "proposed", "approved", "in_force"]
    assert actions == [f"price_proposal.{one}" for one in told]
    assert Entry.objects.filter(action="price.in_force", digest=row.digest).exists()


def test_nobody_approves_prices_that_they_sent_or_edited() -> None:
    price()
    draft = computed((H100, 206))
    edited = services.edit_prices(approver(), draft.pk, {H100: 204}, version=draft.version)
    again = computed((H100, None), row=edited)
    assert (Line.objects.get(proposal=draft).cents, again.version) == (204, draft.version + 2)
    sent = services.send_for_approval(operator(), draft.pk, effective_at=None, reason="r", version=again.version)
    with pytest.raises(Denied, match="somebody else"):
        services.approve_proposal(approver(), sent.pk, sent.digest, "mine")
    assert [one.holds for one in selectors.checks(approver(), sent)].count(False) == 1
    services.approve_proposal(approver("second"), sent.pk, sent.digest, "yes")
    assert at(Proposal.objects.get(pk=sent.pk)) == 1
    assert "Set by a person: r" in Price.objects.get(proposal=sent).why


@pytest.mark.parametrize("who", [viewer, tenant])
def test_others_may_neither_propose_nor_approve(who: Callable[[], Any]) -> None:
    price()
    row = proposed()
    for act in (
        lambda: services.open_review(who(), [H100]),
        lambda: services.approve_proposal(who(), row.pk, row.digest, "r"),
        lambda: services.withdraw_proposal(who(), row.pk, "r"),
        lambda: services.set_terms(who(), "", {}, reason="r", version=0),
    ):
        with pytest.raises(Denied):
            act()
    assert state(row) == State.PROPOSED


def test_an_approval_binds_to_what_was_shown_and_the_loser_reads_who_came_first() -> None:
    price()
    row = proposed()
    with pytest.raises(services.DigestMissingError):
        services.approve_proposal(approver(), row.pk, "", "r")
    with pytest.raises(Conflict, match="You read digest 00000000"):
        services.approve_proposal(approver(), row.pk, "0" * 64, "r")
    with pytest.raises(Conflict, match="needs a reason"):
        services.approve_proposal(approver(), row.pk, row.digest, " ")
    services.withdraw_proposal(operator(), row.pk, "thought again")
    with pytest.raises(Conflict, match="is withdrawn: thought again"):
        services.approve_proposal(approver(), row.pk, row.digest, "r")


def test_of_two_who_edit_the_second_reads_that_it_is_old() -> None:
    price()
    draft = computed((H100, 206))
    with pytest.raises(services.VersionMissingError):
        services.edit_prices(operator(), draft.pk, {H100: 205}, version=None)
    with pytest.raises(services.VersionChangedError):
        services.edit_prices(operator(), draft.pk, {H100: 205}, version=draft.version - 1)
    for cents, words in ((150, "between 190 and 210"), (0, "whole number"), (True, "whole number")):
        with pytest.raises(FieldError, match=words):
            services.edit_prices(operator(), draft.pk, {H100: cents}, version=draft.version)
    services.edit_prices(operator(), draft.pk, {H100: 205}, version=draft.version)
    with pytest.raises(Conflict, match="is computing"):
        services.edit_prices(operator(), draft.pk, {H100: 204}, version=draft.version + 1)


def test_what_has_no_preview_or_changes_nothing_is_not_sent() -> None:
    price()
    bare = computed((H100, 206), preview=None)
    with pytest.raises(Conflict, match="no preview"):
        services.send_for_approval(operator(), bare.pk, effective_at=None, reason="r", version=bare.version)
    assert computed((H100, 200), preview=PREVIEW).state == State.UNCHANGED
    good = computed((H100, 206))
    for hour, words in (
        (now_hour() + timedelta(minutes=90), "full hours"),
        (now_hour(), "has begun"),
        (now_hour() + timedelta(hours=3), "announced 6 hours"),
        (now_hour() + timedelta(days=90), "at most 60 days"),
    ):
        with pytest.raises(FieldError, match=words):
            services.send_for_approval(operator(), good.pk, effective_at=hour, reason="r", version=good.version)


def test_an_answer_outside_its_bounds_is_none_and_a_lost_worker_writes_nothing() -> None:
    price()
    assert computed((H100, 300)).reason.startswith(f"{H100} got 300 cents; allowed are 190 to 210")
    row = services.open_review(operator(), [H100])
    first = services.begin_computing(row.pk, "w1")
    assert first is not None
    assert services.begin_computing(row.pk, "w2") is None
    Proposal.objects.filter(pk=row.pk).update(heartbeat_at=timezone.now() - timedelta(hours=1))
    second = services.begin_computing(row.pk, "w2")
    assert second is not None
    assert not services.still_wanted(first)
    with pytest.raises(Conflict):
        services.write_answer(first, [services.Line(H100, 206, "r")], PREVIEW)
    assert services.write_answer(second, [services.Line(H100, 206, "r")], PREVIEW).state == State.DRAFT


def test_a_failed_preview_keeps_what_people_named() -> None:
    price()
    draft = computed((H100, 206))
    services.edit_prices(operator(), draft.pk, {H100: 205}, version=draft.version)
    work = services.begin_computing(draft.pk, "w")
    assert work is not None
    assert [one.cents_asked for one in work.models] == [205]
    kept = services.fail_computing(work, "No week is recorded.")
    assert (kept.state, kept.reason, kept.preview) == (State.DRAFT, "No week is recorded.", None)
    assert Line.objects.get(proposal=draft).cents == 205


def test_two_proposals_of_one_model_are_not_announced_at_once_and_the_other_becomes_stale() -> None:
    price()
    price(A100, 100)
    first, second = proposed((H100, 206)), proposed((H100, 205), (A100, 104))
    services.approve_proposal(approver(), first.pk, first.digest, "r")
    with pytest.raises(Conflict, match=f"Proposal {first.pk} is approved"):
        services.approve_proposal(approver(), second.pk, second.digest, "r")
    Proposal.objects.update(expires_at=timezone.now() + timedelta(days=9))
    row = Proposal.objects.get(pk=first.pk)
    at(row)
    at(row, minutes=1)
    assert (state(first), state(second)) == (State.IN_FORCE, State.STALE)
    assert "changed meanwhile" in Proposal.objects.get(pk=second.pk).reason


def test_time_ends_what_nobody_answers() -> None:
    price()
    draft, sent = computed((H100, 206)), proposed((H100, 205))
    assert sent.effective_at is not None
    assert sent.expires_at is not None
    assert sent.expires_at <= sent.effective_at - timedelta(hours=6)
    services.turn(timezone.now() + timedelta(hours=30))
    assert (state(draft), state(sent)) == (State.EXPIRED, State.EXPIRED)
    assert Price.objects.count() == 1


def test_a_freeze_holds_a_change_and_it_is_never_backdated() -> None:
    price()
    row = approved()
    assert row.takes_at is not None
    until = row.takes_at + timedelta(hours=2, minutes=30)
    plans.set_freeze(operator(), scope="fleet", reason="incident", expires_at=until)
    assert [at(row, minutes=1), at(row, minutes=2)] == [1, 0]
    assert selectors.quote_of(H100).coming.held.startswith("Frozen: the whole fleet")  # type: ignore[union-attr]
    assert at(row, hours=2, minutes=31) == 1  # put off to the next full hour
    moved = Proposal.objects.get(pk=row.pk)
    assert moved.takes_at == row.takes_at + timedelta(hours=3)
    at(moved)
    assert Price.objects.get(proposal=row).since == moved.takes_at
    assert moved.effective_at == row.effective_at


def test_what_is_held_for_a_day_is_given_up() -> None:
    price()
    row = approved()
    assert at(row, hours=25) == 1
    assert state(row) == State.EXPIRED
    assert Price.objects.count() == 1


def test_the_largest_change_counts_back_over_a_whole_period() -> None:
    price()
    row = approved((H100, 210))
    at(row)
    assert row.effective_at is not None
    spans = [selectors.spans_of([H100], row.effective_at + timedelta(hours=hours))[H100] for hours in (1, 23, 24)]
    assert spans == [(200, 210), (200, 210), (200, 220)]


def test_the_clock_asks_once_for_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    price()
    price(A100, 100)
    now = timezone.now()
    assert services.turn(now) == 1
    assert services.turn(now) == 0
    row = Proposal.objects.get()
    assert (row.automatic, sorted(line.gpu_model for line in row.lines.all())) == (True, [A100, H100])
    services.withdraw_proposal(operator(), row.pk, "not today")
    assert services.turn(now + timedelta(hours=23)) == 0
    assert services.turn(now + timedelta(hours=24)) == 1


def test_the_same_key_opens_one_proposal() -> None:
    price()
    price(A100, 100)
    first = services.open_review(operator(), [H100], request_key="k")
    assert services.open_review(operator(), [H100], request_key="k").pk == first.pk
    with pytest.raises(Conflict, match="other models"):
        services.open_review(operator(), [A100], request_key="k")
    with pytest.raises(FieldError, match="no GPU model 'X'"):
        services.open_review(operator(), ["X"])


def test_price_approvals_are_in_the_inbox_of_plans() -> None:
    price()
    row = proposed()
    (one,) = inbox.waiting(approver())
    assert (one.kind, one.url, one.asked_by) == ("prices", f"/prices/proposals/{row.pk}/", "operator")
    assert f"{H100} 2.00 → 2.06" in one.fact
    assert inbox.count(viewer()) == 1


def test_every_state_is_in_the_table_once() -> None:
    reached = {target for targets in lifecycle.EDGES.values() for target in targets}
    assert reached | {State.COMPUTING} == set(State)
    with pytest.raises(lifecycle.UnknownEdgeError):
        lifecycle.move(Proposal.objects.all(), State.IN_FORCE, sources=[State.DRAFT])
