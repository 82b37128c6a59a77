"""The one way a plan's row changes its state: compare-and-set, one audit row, one event, in one transaction."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404

from console.audit import services as audit
from console.live.services import publish
from console.plans import lifecycle
from console.plans.choices import State, StepState
from console.plans.models import Plan, Stop
from console.plans.selectors.acts import because
from console.rest import errors

STOPS = frozenset({State.PAUSED, State.HALTED, State.ABORTED})
_DONE_TO = {State.EXECUTING: "started or resumed", State.PROPOSED: "proposed", State.PLANNING: "computed"}
HEAVY = ("document", "impact", "curve")


class Conflict(errors.Conflict):
    """The plan is not (or no longer) in a condition for this; HTTP 409.

    ``changes`` lists what differs from what was signed: dicts with moves, kind, object, field, was, now.
    """

    def __init__(self, reason: str, *, changes: Iterable[dict[str, Any]] = (), next_step: str = "") -> None:
        # A reason may end in a person's own words, which need not end like a sentence.
        sentence = reason if not next_step or reason.endswith((".", "!", "?")) else f"{reason}."
        super().__init__(f"{sentence} {next_step}".strip(), list(changes))


class DigestMissingError(Exception):
    """An approval must say what it approves; HTTP 428."""

    def __init__(self) -> None:
        self.reason = "Send the digest of the plan that you read (If-Match or the field digest): approval binds to it."
        super().__init__(self.reason)


def read(plan_id: int) -> Plan:
    """The plan without its heavy columns; they load when they are asked for.  Raises ``Http404``."""
    rows = Plan.objects.select_related("source", "proposer", "approver").defer(*HEAVY)
    return get_object_or_404(rows, pk=plan_id)


def change(
    plan_id: int,
    target: State,
    *,
    actor: Any,
    reason: str = "",
    sources: Iterable[State] | None = None,
    narrow: dict[str, Any] | None = None,
    detail: dict[str, Any] | None = None,
    **fields: Any,
) -> Plan:
    """Move the plan to ``target`` or raise ``Conflict`` with the reason why it could not; it rests no longer.

    ``narrow`` are further conditions of the compare-and-set; ``actor`` None stands for the console itself.
    """
    with transaction.atomic():
        rows = Plan.objects.filter(pk=plan_id, **(narrow or {}))
        if not lifecycle.move(rows, target, sources=sources, reason=reason, **{"looks_at": None, **fields}):
            raise Conflict(why_not(plan_id, target))
        plan = read(plan_id)
        if target in STOPS:
            detail = {**(detail or {}), **_note_stop(plan, target, actor, reason)}
        audit.record(
            actor=actor,
            action=f"plan.{target.value}",
            target_kind="plan",
            target_id=str(plan_id),
            reason=reason,
            digest=plan.digest,
            detail=detail,
        )
        announce(plan, f"plan.{target.value}")
    return plan


def _note_stop(plan: Plan, state: State, actor: Any, reason: str) -> dict[str, Any]:
    """Keep what is in flight at this moment, so that the record can say what became of it."""
    steps = plan.steps.order_by("index")
    flight = list(steps.filter(state=StepState.ISSUED).values_list("index", flat=True))
    Stop.objects.create(
        plan=plan,
        state=state,
        actor="" if actor is None else str(actor),
        reason=reason,
        waiting=steps.filter(state=StepState.WAITING).count(),
        in_flight=flight,
    )
    return {"in_flight": len(flight), "steps_in_flight": flight}


def announce(plan: Plan, kind: str, **fields: Any) -> None:
    """Tell the plan's own page and the list of plans."""
    for topic in (plan.topic, "plans"):
        publish(topic, kind, plan=plan.pk, state=plan.state, **fields)


def batches(rows: list[int], size: int = 500) -> Iterator[list[int]]:
    """Cut a list so that no query takes more parameters than SQLite allows."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


def why_not(plan_id: int, target: State) -> str:
    """Whose act came first, in a sentence: whoever lost a race reads it."""
    plan = get_object_or_404(Plan.objects.only("state", "reason"), pk=plan_id)
    state = State(plan.state)
    if target in lifecycle.EDGES.get(state, frozenset()):
        return f"Plan {plan_id} changed while you looked at it. Read it again."
    now = f"Plan {plan_id} is {state.label.lower()}"
    if state == target:
        return f"{now} already{because(plan)}."
    return f"{now}{because(plan)}: it cannot be {_DONE_TO.get(target, target.label.lower())}."
