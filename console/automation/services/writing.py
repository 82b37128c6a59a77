"""What ended runs did, once per run and pool, and every loss as soon as anything went wrong."""

from collections import Counter
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.automation import selectors
from console.automation.choices import LATE_LEAST_S, LATE_TIMES, Standing, Turn
from console.automation.models import PoolRun, PoolTurn
from console.automation.selectors import Fault, Pool
from console.automation.selectors.scorecards import reached, told
from console.automation.selectors.watching import JUDGED, NOT_SENT
from console.live.services import publish
from console.plans import lifecycle
from console.plans.choices import Kind, State, StepState
from console.plans.models import Plan, PlanMap, Step
from console.policies.selectors import policy_for
from console.ui.figures import plural

log = structlog.get_logger(__name__)
AT_ONCE = 200
MARK_EMPTIED = 1  # of PlanMap.marks
MILLI = 1000
NAMED = 3


def settle() -> bool:
    """Safe to run twice at once.  False if anything is left unread: then nothing may be started automatically."""
    found = list(selectors.unsettled().values_list("pk", flat=True)[: AT_ONCE + 1])
    complete = len(found) <= AT_ONCE
    for plan_id in found[:AT_ONCE]:
        try:
            _settle(plan_id)
        except Exception:
            # One run that cannot be read must not hide the others; nothing is automatic until it can.
            log.exception("automation.not_settled", plan=plan_id)
            complete = False
    return complete


@transaction.atomic
def _settle(plan_id: int) -> None:
    list(Plan.objects.select_for_update().filter(pk=plan_id).values_list("pk", flat=True))
    plan = selectors.unsettled().filter(pk=plan_id).first()
    if plan is None:
        return
    ended = plan.state in lifecycle.FINAL and not plan.steps.filter(state=StepState.ISSUED).exists()
    if not ended and not _suspicious(plan):
        return
    models = selectors.node_models(plan)
    pools = selectors.pools_of(plan, selectors.touched_models(plan, models) or {""})
    for pool in pools:
        least = policy_for(pool.cluster, [pool.gpu_model])["automatic_emptied"].value or 0
        faults = [one for one in selectors.faults_of(plan, models, least) if one.touches(pool.gpu_model)]
        lose(pool, plan, faults)
        if ended:
            _write(plan, pool, models, faults, single=len(pools) == 1)
            _look_again(pool, plan)


def _suspicious(plan: Plan) -> bool:
    """Something went wrong in a run that is not over."""
    if plan.kind == Kind.ROLLBACK or plan.stops.filter(state__in=(State.HALTED, State.ABORTED)).exists():
        return True
    return plan.steps.filter(state=StepState.FAILED).exists() or selectors.lossy(plan).exists()


def lose(pool: Pool, plan: Plan, faults: list[Fault]) -> None:
    """Each fault counts once, whether the level was earned or not: somebody looks at it before the record counts."""
    rows = PoolTurn.objects.filter(plan=plan, cluster=pool.cluster, gpu_model=pool.gpu_model, turn=Turn.LOST)
    noted = {code for codes in rows.values_list("faults", flat=True) for code in codes}
    new = sorted((one for one in faults if one.code not in noted), key=lambda one: (one.at, one.code))
    if not new:
        return
    more = f", and {len(new) - 1:,} more" if len(new) > 1 else ""
    turn = PoolTurn.objects.create(
        source_id=pool.source_id, cluster=pool.cluster, gpu_model=pool.gpu_model, turn=Turn.LOST, plan=plan,
        reason=f"{new[0].words}{more}", faults=[one.code for one in new], happened_at=new[0].at,
    )  # fmt: skip
    write_down(pool, turn, None, {"faults": [one.words for one in new[:NAMED]], "count": len(new)})


def _look_again(pool: Pool, plan: Plan) -> None:
    """After a run: it may have earned the level now, or no longer be as good as what earned it."""
    if not pool.gpu_model:
        return
    card = selectors.card_of(pool)
    held = card.newest is not None and card.newest.turn == Turn.EARNED
    below = [one for one in card.criteria if one.name in ("automatic_as_predicted", "automatic_emptied")]
    worse = [one for one in below if one.have is not None and not one.holds]
    if held and worse:
        lose(pool, plan, [Fault("drift", f"the record has fallen: {worse[0].words}", timezone.now())])
    elif not held and card.standing == Standing.EARNED:
        earn(card, plan)


@transaction.atomic
def earn(card: selectors.Scorecard, plan: Plan | None) -> PoolTurn:
    pool = card.pool
    turn = PoolTurn.objects.create(
        source_id=pool.source_id, cluster=pool.cluster, gpu_model=pool.gpu_model, turn=Turn.EARNED, plan=plan,
        reason="; ".join(one.words for one in card.criteria), figures=reached(card.criteria),
    )  # fmt: skip
    write_down(pool, turn, None, {"scorecard": told(card)})
    return turn


def write_down(pool: Pool, turn: PoolTurn, actor: object, detail: dict[str, object]) -> None:
    """In the book and for open pages; in the caller's transaction."""
    audit.record(
        actor=actor, action=f"automation.{turn.turn}", target_kind="pool", target_id=pool.words[:253],
        reason=turn.reason, detail={"source": pool.source, "plan": turn.plan_id, "turn": turn.pk, **detail},
    )  # fmt: skip
    publish("policies", f"automation.{turn.turn}", turn=turn.pk)


# --- one run in one pool ---------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Moves:
    """Of the moves that touch one pool."""

    states: Counter[str]
    as_predicted: int = 0
    late: int = 0
    unknown: int = 0
    surprises: int = 0
    expected_s: float | None = None
    took_s: float | None = None
    expected_gpu_s: float | None = None
    doubled_gpu_s: float | None = None
    requests_asked: int | None = 0
    requests_lost: int | None = 0


def _moves(plan: Plan, models: dict[str, str], model: str) -> _Moves:
    found = _Moves(Counter())
    for step in Step.objects.filter(plan=plan).defer("after", "uid"):
        if model not in (models.get(step.source_node, ""), models.get(step.target_node, "")):
            continue
        found.states[step.state] += 1
        found.surprises += step.state == StepState.FAILED and step.detail.startswith(NOT_SENT)
        if step.issued_at is not None:
            _count(found, step)
        if step.state == StepState.SUCCEEDED:
            _add(found, step)
    return found


def _count(found: _Moves, step: Step) -> None:
    """The requests of a move that was sent; unknown of one is unknown of the run."""
    served, lost = step.requests_served, step.requests_lost
    if served is None or lost is None or found.requests_asked is None or found.requests_lost is None:
        found.requests_asked = found.requests_lost = None
        return
    found.requests_asked += served + lost
    found.requests_lost += lost


def _add(found: _Moves, step: Step) -> None:
    """A move that ended well: in time, late, or nobody knows."""
    expected, took = step.expected_s, step.took_s
    if expected is None or took is None:
        found.unknown += 1
        return
    late = took > max(LATE_TIMES * expected, expected + LATE_LEAST_S)
    found.late += late
    found.as_predicted += not late
    gpus = step.gpus * step.gpu_milli / MILLI
    found.expected_s = (found.expected_s or 0.0) + expected
    found.took_s = (found.took_s or 0.0) + took
    found.expected_gpu_s = (found.expected_gpu_s or 0.0) + expected * gpus
    found.doubled_gpu_s = (found.doubled_gpu_s or 0.0) + took * gpus


def _write(plan: Plan, pool: Pool, models: dict[str, str], faults: list[Fault], *, single: bool) -> None:
    moves = _moves(plan, models, pool.gpu_model)
    promised, kept, nodes = _promise(plan, pool, models, single=single)
    stops = list(plan.stops.all())
    short = _short_of(plan, moves, promised, kept, faults)
    PoolRun.objects.get_or_create(
        plan=plan,
        gpu_model=pool.gpu_model,
        defaults={
            "source_id": pool.source_id,
            "cluster": pool.cluster,
            "ended_at": plan.ended_at or timezone.now(),
            "by_policy": plan.decisions.exclude(policy="").exists(),
            "whole": not short,
            "short_of": short[:300],
            "moves": sum(moves.states.values()),
            "as_predicted": moves.as_predicted,
            "late": moves.late,
            "unknown": moves.unknown,
            "failed": moves.states[StepState.FAILED],
            "not_run": moves.states[StepState.DROPPED],
            "surprises": moves.surprises,
            "halts": sum(stop.state == State.HALTED for stop in stops),
            "refused": sum(stop.state == State.HALTED and stop.reason.startswith(JUDGED) for stop in stops),
            "aborts": sum(stop.state == State.ABORTED for stop in stops),
            "expected_s": moves.expected_s,
            "took_s": moves.took_s,
            "expected_gpu_s": moves.expected_gpu_s,
            "doubled_gpu_s": moves.doubled_gpu_s,
            "requests_asked": moves.requests_asked,
            "requests_lost": moves.requests_lost,
            "promised": promised,
            "kept": kept,
            "nodes": nodes,
        },
    )


def _promise(
    plan: Plan, pool: Pool, models: dict[str, str], *, single: bool
) -> tuple[int | None, int | None, list[str]]:
    """(promised, seen kept, nodes to empty) in this pool.

    A run counts its whole promise at its end.  Where that was not kept and several pools were touched, nobody knows in
    which of them.
    """
    every, seen = selectors.promised_of(plan), selectors.kept_of(plan)
    nodes = _to_empty(plan, models, pool.gpu_model)
    if single or every is None or plan.headline.get("goal"):
        return every, seen, nodes
    return len(nodes), len(nodes) if seen is not None and seen >= every else None, nodes


def _to_empty(plan: Plan, models: dict[str, str], model: str) -> list[str]:
    drawn = PlanMap.objects.filter(plan=plan).only("names", "marks").first()
    if drawn is None:
        return []
    pairs = zip(drawn.names.split("\n"), bytes(drawn.marks), strict=True)
    return [node for node, marks in pairs if marks & MARK_EMPTIED and models.get(node, "") == model]


def _short_of(plan: Plan, moves: _Moves, promised: int | None, kept: int | None, faults: list[Fault]) -> str:
    """Why the run does not count towards earning, in words; "" if it does."""
    if plan.kind != Kind.CONSOLIDATION:
        return "takes another plan back"
    if plan.state != State.SUCCEEDED:
        return f"ended as {plan.get_state_display().lower()}"
    if faults:
        return faults[0].words
    if moves.states[StepState.DROPPED]:
        dropped = moves.states[StepState.DROPPED]
        return f"{plural(dropped, 'move')} {'was' if dropped == 1 else 'were'} not run"
    if moves.unknown:
        return f"nothing was expected of {moves.unknown:,} of its moves"
    if promised is None or kept is None:
        return "whether its promise was kept was not seen"
    return ""
