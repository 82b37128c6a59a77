"""A pool with a record, a routine with a plan, and what people decided about the level."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from console.automation import selectors
from console.automation.models import PoolRun
from console.automation.selectors import Pool
from console.inventory.models import Source
from console.plans import services as plans
from console.plans.models import Plan
from console.policies.choices import AUTOMATIC, Place
from console.policies.models import Setting
from console.policies.selectors import names_of
from console.routines.choices import Outcome
from console.routines.models import Opening, Routine
from tests.builders.people import approver, operator
from tests.console.plans.scene import CLUSTER, TWO, Scene, scene, three_nodes

MODEL = "H100-SXM5-80GB"
EASY = {"automatic_plans": 2, "automatic_clean_days": 0}


def set_to(name: str, value: int, place: Place | None = None, by: Any = None) -> Setting:
    names = names_of(place or Place())
    rows = Setting.objects.filter(name=name, **names)
    version = rows.count() + 1
    rows.update(newest=False)
    return Setting.objects.create(
        name=name, value=value, version=version, by=by or approver("owner"), reason="r", **names
    )


def allow(place: Place | None = None, by: Any = None, **criteria: int) -> None:
    """Automatic is allowed for the place, and two plans earn it."""
    set_to("autonomy", AUTOMATIC, place, by)
    for name, value in {**EASY, **criteria}.items():
        set_to(name, value)


def pool_of(source: Source) -> Pool:
    return selectors.pool_for(source.pk, CLUSTER, MODEL)


def past(source: Source, count: int = 2, **fields: Any) -> None:
    """Runs that people approved and that went as predicted, unless said otherwise."""
    for _ in range(count):
        plan = Plan.objects.create(
            kind="consolidation", state="aborted", title="past", source=source, cluster=CLUSTER, proposer=operator()
        )
        given = {
            "moves": 10, "as_predicted": 10, "late": 0, "unknown": 0, "failed": 0, "not_run": 0, "surprises": 0,
            "halts": 0, "refused": 0, "aborts": 0, "promised": 4, "kept": 4, "whole": True,
            "ended_at": timezone.now() - timedelta(minutes=5), "gpu_model": MODEL, **fields,
        }  # fmt: skip
        PoolRun.objects.create(plan=plan, source=source, cluster=CLUSTER, **given)


def opened(one: Scene, **fields: Any) -> Plan:
    """A plan that a routine of the operator has opened, proposed."""
    plan = one.plan(*TWO, **fields)
    routine = Routine.objects.create(
        name="nightly", kind="schedule", owner=plan.proposer, reason="gangs in the morning", source=one.source,
        cluster=CLUSTER, question="empty nodes", cron="0 2 * * *",
    )  # fmt: skip
    Opening.objects.create(routine=routine, due_at=timezone.now(), outcome=Outcome.OPENED, plan=plan)
    return plan


def earned() -> tuple[Scene, Plan]:
    """All is as it must be: the policy starts this plan."""
    one = scene(three_nodes())
    allow()
    past(one.source)
    return one, opened(one)


def again(plan: Plan) -> Plan:
    return Plan.objects.select_related("source", "proposer", "approver").get(pk=plan.pk)


def cancelled(plan: Plan) -> None:
    plans.cancel_plan(operator(), plan.pk)
