"""The transition table is the whole truth: every pair of states is tried, and the database agrees."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from console.plans import lifecycle
from console.plans.choices import State
from console.plans.models import Plan
from tests.builders.people import approver
from tests.console.plans.scene import move, requested, scene

A = move("a", "n1", "n2")
TABLE = {
    "requested": "planning cancelled failed",
    "planning": "proposed nothing_to_do failed cancelled",
    "proposed": "approved rejected stale expired cancelled",
    "approved": "executing stale expired cancelled",
    "executing": "succeeded paused halted aborted failed",
    "paused": "executing aborted",
    "halted": "executing aborted",
}


def _ready(plan: Plan, state: State) -> Any:
    """The plan's row in any state, with all that the database asks of that state."""
    signed = {"approver": approver(), "approved_digest": plan.digest, "approved_at": timezone.now()}
    Plan.objects.filter(pk=plan.pk).update(state=state, **signed)
    return Plan.objects.filter(pk=plan.pk)


@pytest.mark.django_db
@pytest.mark.parametrize("start", list(State))
def test_every_edge_of_the_table_and_no_other(start: State) -> None:
    plan = scene().plan(A)
    for target in State:
        rows = _ready(plan, start)
        allowed = target in TABLE.get(start, "").split()
        if lifecycle.sources_of(target):
            assert lifecycle.move(rows, target) is allowed, (start, target)
        assert rows.get().state == (target if allowed else start)


def test_what_is_final_has_no_way_out() -> None:
    assert set(lifecycle.FINAL) == set(State) - set(TABLE)


@pytest.mark.django_db
def test_a_way_that_is_not_in_the_table_is_a_mistake_of_ours() -> None:
    rows = Plan.objects.filter(pk=scene().plan(A).pk)
    with pytest.raises(lifecycle.UnknownEdgeError):
        lifecycle.move(rows, State.EXECUTING, sources=[State.PROPOSED])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"state": "flying"}, "plan_state_is_known"),
        ({"state": State.APPROVED}, "plan_runs_only_as_signed"),
        ({"state": State.EXECUTING, "approved_digest": "0" * 64}, "plan_runs_only_as_signed"),
        ({"expires_at": None}, "plan_proposed_has_digest_and_end"),
    ],
)
def test_the_database_refuses_what_must_never_be(fields: dict[str, Any], constraint: str) -> None:
    plan = scene().plan(A)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Plan.objects.filter(pk=plan.pk).update(**fields)


@pytest.mark.django_db
def test_the_database_refuses_ones_own_approval() -> None:
    plan = scene().plan(A)
    with pytest.raises(IntegrityError, match="plan_never_approved_by_proposer"), transaction.atomic():
        Plan.objects.filter(pk=plan.pk).update(approver=plan.proposer)


@pytest.mark.django_db
def test_a_request_can_be_cancelled_before_anybody_computes_it() -> None:
    plan = requested(scene().source)
    assert lifecycle.move(Plan.objects.filter(pk=plan.pk), State.CANCELLED)
    assert not lifecycle.move(Plan.objects.filter(pk=plan.pk), State.PLANNING)
