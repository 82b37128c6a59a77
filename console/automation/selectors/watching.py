"""What went wrong in a run, and how much of its promise was seen kept: read from rows and the book of the console."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from console.audit.models import Entry
from console.automation.models import PoolRun
from console.plans.choices import Kind, State, StepState
from console.plans.models import Plan, Step, Stop

NOT_SENT = "not sent"  # how the detail of a move begins that was looked at and not sent
COPY = "copy"  # of Step.mode
JUDGED = "What is left no longer holds"  # how the reason of a halt begins where the judge refused the rest


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong.  ``models``: GPU models of its nodes; None: the run as a whole."""

    code: str
    words: str
    at: datetime
    models: frozenset[str] | None = None

    def touches(self, model: str) -> bool:
        return self.models is None or model in self.models


def unsettled() -> QuerySet[Plan]:
    """Runs of which not all is written down yet."""
    written = PoolRun.objects.filter(plan=OuterRef("pk"))
    rows = Plan.objects.filter(~Exists(written), started_at__isnull=False).select_related("source")
    return rows.defer("document", "impact", "curve").order_by("pk")


def faults_of(plan: Plan, models: dict[str, str], least_per_cent: int) -> list[Fault]:
    """Failed moves, requests that copies lost, halts, aborts, a run that failed, a promise not kept, a taking back."""
    found = [_failed(step, models) for step in Step.objects.filter(plan=plan, state=StepState.FAILED)]
    found += [_lossy(step, models) for step in lossy(plan)]
    found += [_stopped(stop) for stop in Stop.objects.filter(plan=plan, state__in=(State.HALTED, State.ABORTED))]
    if plan.kind == Kind.ROLLBACK and plan.started_at is not None:
        words = f"plan {plan.undoes_id} was taken back: {plan.because}"
        found.append(Fault("rollback", words, plan.started_at))
    if plan.state in (State.SUCCEEDED, State.FAILED):
        found += _at_end(plan, least_per_cent)
    return found


def lossy(plan: Plan) -> QuerySet[Step]:
    """Moves by copy whose service lost requests meanwhile: a copy is up before the old pod ends, so it loses none."""
    return Step.objects.filter(plan=plan, mode=COPY, requests_lost__gt=0)


def _failed(step: Step, models: dict[str, str]) -> Fault:
    words = f"move {step.index + 1} ({step.pod}) failed: {step.detail or 'no reason was given'}"
    return _of_move(f"step-{step.index}", words, step, models)


def _lossy(step: Step, models: dict[str, str]) -> Fault:
    asked = (step.requests_served or 0) + (step.requests_lost or 0)
    words = f"the service of {step.pod} lost {step.requests_lost:,} of {asked:,} requests while it was copied"
    return _of_move(f"lost-{step.index}", words, step, models)


def _of_move(code: str, words: str, step: Step, models: dict[str, str]) -> Fault:
    touched = frozenset(models.get(node, "") for node in (step.source_node, step.target_node))
    return Fault(code, words, step.ended_at or timezone.now(), touched)


def _stopped(stop: Stop) -> Fault:
    word = "halted" if stop.state == State.HALTED else f"was aborted by {stop.actor or 'the console'}"
    return Fault(f"stop-{stop.pk}", f"the run {word}: {stop.reason}", stop.at)


def _at_end(plan: Plan, least_per_cent: int) -> Iterable[Fault]:
    at = plan.ended_at or timezone.now()
    if plan.state == State.FAILED:
        yield Fault("end", f"the run failed: {plan.reason}", at)
    promised, kept = promised_of(plan), kept_of(plan)
    if promised is not None and kept is not None and kept * 100 < promised * least_per_cent:
        yield Fault("promise", f"{kept:,} of {promised:,} were as promised at the end of the run", at)


def promised_of(plan: Plan) -> int | None:
    """Nodes to empty, or as much of its goal as the plan said that it reaches."""
    if plan.kind != Kind.CONSOLIDATION:
        return None
    goal = plan.headline.get("goal")
    value = goal.get("reached") if goal else plan.headline.get("emptied")
    return value if isinstance(value, int) else None


def kept_of(plan: Plan) -> int | None:
    """How much of it the executor saw at the end of the run; None where no reading was had, or nobody looked."""
    rows = Entry.objects.filter(
        target_kind="plan", target_id=str(plan.pk), action__in=("plan.succeeded", "plan.failed"), actor="executor"
    )
    entry = rows.order_by("-pk").first()
    value = None if entry is None else entry.detail.get("emptied")
    return value if isinstance(value, int) else None
