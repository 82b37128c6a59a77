"""The only place where a plan acts on a cluster.

``run`` may be delivered any number of times to any number of workers: a lease lets one of them work, every step is
claimed by compare-and-set and sent under its own key, so that a second sending carries on with the first.  A worker
may die between any two lines; the next one sees the steps in flight to their end and goes on from there.
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from django.utils import timezone

from console.connectors.protocol import Connector, ConnectorError, Outcome
from console.connectors.registry import connect
from console.inventory import services as inventory
from console.plans import selectors
from console.plans.choices import State, StepState
from console.plans.keeping import kept_alive
from console.plans.milestones import Milestone, reach
from console.plans.models import Plan, Step
from console.plans.services import aims, checking, holding, patience, stepping
from console.plans.services.transition import Conflict
from scheduler.cluster.errors import InputError
from scheduler.cluster.occupancy import EMPTY, occupancy
from scheduler.cluster.records import FINISHED_PHASES, NodeRecord, PodRecord
from scheduler.plan.operations import Migrate
from scheduler.plan.plan import ROLLBACK
from scheduler.plan.resolve import resolve

log = structlog.get_logger(__name__)
POLL_S = 0.5
CHECKPOINT_POLL_S = 5.0  # between two looks while nothing but checkpoints are waited for; it rests in between
PATIENCE_S = 60  # how long the cluster may be out of reach while moves are in flight


@dataclass(slots=True)
class Run:
    """One worker's hold on one plan."""

    plan_id: int
    worker: str
    connector: Connector
    wait: Callable[[float], None]
    late: bool = False  # nobody looked for checkpoints for a while


def run(plan_id: int, *, wait: Callable[[float], None] = time.sleep) -> None:
    """Carry the plan on until it ends, is stopped, rests for a while, or the lease is lost.

    At once back if somebody else does it, or if it rests and is not due.
    """
    worker = uuid.uuid4().hex
    plan = stepping.take_run(plan_id, worker)
    if plan is None:
        log.info("plan.not_taken", plan=plan_id)
        return
    reach(Milestone.RUN_LEASED)
    try:
        late = patience.take_up(plan)
        held = Run(plan_id, worker, connect(plan.source.kind, plan.source.config), wait, late)
        with kept_alive(plan_id, worker):
            while _turn(held):
                pass
    except Conflict as lost:
        # Somebody changed the state in this very moment: their change stands, and the lease is given back.
        log.info("plan.run_ended", plan=plan_id, reason=lost.reason)
        current = stepping.beat(plan_id, worker)
        if current is not None and not stepping.let_go(current, worker):
            stepping.release_lease(plan_id, worker)
    except (ConnectorError, InputError) as error:
        _halt(stepping.beat(plan_id, worker), worker, f"Nothing is moved on old data: {error}")
    except Exception as error:
        # A fault of ours: a person must look before anything else moves.
        _halt(stepping.beat(plan_id, worker), worker, f"The executor failed: {type(error).__name__}: {error}")
        raise


def _turn(held: Run) -> bool:
    """One step of the run's life; False when there is nothing left to do for this worker."""
    plan = stepping.beat(held.plan_id, held.worker)
    if plan is None:
        log.warning("plan.lease_lost", plan=held.plan_id)
        return False
    in_flight = list(Step.objects.filter(plan=plan, state=StepState.ISSUED))
    if in_flight:
        return _settle(held, plan, in_flight)
    if plan.state != State.EXECUTING:
        return not stepping.let_go(plan, held.worker)
    waiting = Step.objects.filter(plan=plan, state=StepState.WAITING)
    wave = waiting.order_by("run_wave").values_list("run_wave", flat=True).first()
    failed = Step.objects.filter(plan=plan, state=StepState.FAILED, ended_at__gt=plan.resumed_at).order_by("run_wave")
    first = failed.first()
    if first is not None and (wave is None or first.run_wave < wave or patience.nothing_else(plan, wave)):
        count = failed.count()
        words = f"{count:,} move failed" if count == 1 else f"{count:,} moves failed"
        if wave is not None:
            return _halt(plan, held.worker, f"{words} in wave {first.run_wave + 1}: {first.pod}: {first.detail}")
    if wave is None:
        return _finish(held, plan)
    runs, gate = selectors.may_run_now(plan)
    if not runs:
        stepping.wait_for_window(plan, held.worker, f"closed: {gate.why}; {gate.words}")
        return True
    return _wave(held, plan, wave)


def _wave(held: Run, plan: Plan, wave: int) -> bool:
    """Look afresh, judge what is left, then issue the moves of this wave that wait."""
    now = _observe(plan)
    reach(Milestone.WAVE_OBSERVED)
    changes = checking.differences(plan, now, checking.rest_of(plan))
    if changes:
        return _halt(plan, held.worker, f"What is left no longer holds before wave {wave + 1}", changes)
    reach(Milestone.WAVE_VERIFIED)
    steps = list(Step.objects.filter(plan=plan, run_wave=wave, state=StepState.WAITING).order_by("index"))
    ready = patience.ready(plan, steps, now.snapshot, late=held.late)
    held.late = False
    if not ready and Step.objects.filter(plan=plan, run_wave=wave, state=StepState.WAITING).exists():
        return not stepping.rest(plan, held.worker, CHECKPOINT_POLL_S)
    for step in ready:
        current = stepping.beat(held.plan_id, held.worker)
        if current is None or current.state != State.EXECUTING:
            return current is not None
        freeze = selectors.freeze_over(current)
        if freeze is not None:
            stepping.pause_for_freeze(current, selectors.frozen_words(freeze))
            return True
        _move(held, current, step)
    reach(Milestone.WAVE_ENDED)
    return True


def _observe(plan: Plan) -> checking.Newest:
    """A reading begun after this call; raises ``ConnectorError`` where none can be had."""
    observation, whole = inventory.fresh(plan.source_id, timezone.now())
    return checking.narrowed(plan, observation, whole)


def _move(held: Run, plan: Plan, step: Step) -> None:
    """Read the pod and both nodes again, claim the step, send it."""
    surprise = _surprise(held.connector, plan.cluster, step)
    reach(Milestone.OBJECTS_READ)
    if surprise is not None:
        stepping.record_outcome(step, StepState.FAILED, f"not sent: {surprise}")
        return
    if not stepping.claim(step, held.worker):
        return
    reach(Milestone.STEP_CLAIMED)
    outcome = _send(held, plan, step)
    reach(Milestone.OPERATION_SENT)
    _record(step, outcome)


def _settle(held: Run, plan: Plan, in_flight: list[Step]) -> bool:
    """See the steps in flight to their end, whatever the plan's state: a copy half made helps nobody."""
    silent_s = 0.0
    while in_flight:
        if stepping.beat(held.plan_id, held.worker) is None:
            return False
        try:
            in_flight = [step for step in in_flight if not _ended(held, plan, step)]
            silent_s = 0.0
        except ConnectorError as error:
            silent_s += POLL_S
            if silent_s > PATIENCE_S:
                log.error("plan.cluster_out_of_reach", plan=plan.pk, error=str(error))
                return _halt(stepping.beat(plan.pk, held.worker), held.worker, f"{len(in_flight)} in flight: {error}")
        if in_flight:
            held.wait(POLL_S)
    return True


def _ended(held: Run, plan: Plan, step: Step) -> bool:
    return _record(step, _send(held, plan, step))


def _send(held: Run, plan: Plan, step: Step) -> Outcome:
    """The same again carries on; it says with each sending whether the pod's owner releases its lock now."""
    operation, key = operation_of(plan, step), str(step.uid)
    if not inventory.any_released(plan.source):
        return held.connector.execute(operation, key)
    pod = held.connector.read_pod(step.pod, plan.cluster)
    released = pod is not None and pod.locked and inventory.is_released(plan.source, pod)
    return held.connector.execute(operation, key, released=released)


def _record(step: Step, outcome: Outcome) -> bool:
    if outcome.state == "running":
        return False
    reach(Milestone.OUTCOME_KNOWN)
    state = StepState.SUCCEEDED if outcome.state == "succeeded" else StepState.FAILED
    stepping.record_outcome(step, state, outcome.detail, outcome.requests)
    return True


def _halt(plan: Plan | None, worker: str, reason: str, changes: list[dict[str, Any]] | None = None) -> bool:
    """Halt a run that still runs, and give the lease back."""
    if plan is not None and plan.state == State.EXECUTING:
        plan = stepping.halt(plan, worker, reason, changes)
    return False if plan is None else not stepping.let_go(plan, worker)


def _finish(held: Run, plan: Plan) -> bool:
    now = _last_look(plan)
    reached = None if now is None else _reached(plan, now)
    stepping.finish(plan, held.worker, reached, holding.rooms_of(plan, now), held.connector.holds)
    tell_holds(plan.pk)
    if plan.undoes_id is not None:
        tell_holds(plan.undoes_id)
    return False


def _last_look(plan: Plan) -> checking.Newest | None:
    try:
        return _observe(plan)
    except ConnectorError as error:
        log.warning("plan.end_not_observed", plan=plan.pk, error=str(error))
        return None


def tell_holds(plan_id: int) -> None:
    """Tell the cluster what is decided about the nodes that a plan holds; run twice at once, it says it once."""
    plan = Plan.objects.select_related("source").get(pk=plan_id)
    if plan.hold_version == 0:
        return
    connector = connect(plan.source.kind, plan.source.config)
    for row, hold, key in holding.to_tell(plan):
        try:
            outcome = connector.execute(hold, key)
        except ConnectorError as error:
            log.warning("plan.hold_not_told", plan=plan_id, node=row.node, error=str(error))
            return  # the sweep sends it again
        holding.told(row, plan.hold_version, outcome.detail if outcome.state == "failed" else "")
        if holding.overtaken(plan):
            return


def _reached(plan: Plan, now: checking.Newest) -> int:
    """How many of the nodes that the plan meant to empty are empty now; of a rollback, how many pods are back.

    Of a plan with another goal, how much of that holds.
    """
    whole = checking.signed(plan)
    if whole.kind == ROLLBACK:
        rows = resolve(whole, now.snapshot)
        live, node = rows.snapshot.pod_live, rows.snapshot.pod_node
        return sum(
            pod >= 0 and bool(live[pod]) and int(node[pod]) == there
            for pod, there in zip(rows.pod, rows.target, strict=True)
        )
    if whole.aim is not None:
        return aims.reached_now(whole.aim, now.snapshot)
    state = occupancy(now.snapshot).state
    wanted = set(whole.emptied_nodes)
    return sum(name in wanted and bool(state[row] == EMPTY) for row, name in enumerate(now.snapshot.node_name))


def operation_of(plan: Plan, step: Step) -> Migrate:
    return Migrate(
        cluster=plan.cluster,
        pod=step.pod,
        uid=step.pod_uid,
        source=step.source_node,
        target=step.target_node,
        mode="restart" if step.mode == "restart" else "copy",
        drains=step.drains,
        chain=step.chain,
        depth=step.depth,
        after=tuple(step.after),
    )


def _surprise(connector: Connector, cluster: str, step: Step) -> str | None:
    """What speaks against this move now, in words; None if nothing does."""
    pod = connector.read_pod(step.pod, cluster)
    wrong = _wrong_pod(pod, step)
    if wrong is not None:
        return wrong
    for name, receives in ((step.source_node, False), (step.target_node, True)):
        wrong = _wrong_node(connector.read_node(name, cluster), name, receives)
        if wrong is not None:
            return wrong
    return None


def _wrong_pod(pod: PodRecord | None, step: Step) -> str | None:
    if pod is None or pod.phase in FINISHED_PHASES:
        return "the pod is gone"
    if step.pod_uid and (pod.uid or "") != step.pod_uid:
        return "another pod has this name now"
    if pod.node != step.source_node:
        return f"the pod is on {pod.node or 'no node'}, not on {step.source_node}"
    if pod.locked and not inventory.is_released(step.plan.source, pod):
        return "the pod is locked"
    if pod.terminating:
        return "the pod is ending"
    if pod.move == "never":
        return "the pod must not move"
    if pod.gpus != step.gpus or pod.gpu_milli != step.gpu_milli:
        return "the pod asks for other GPUs now"
    return None


def _wrong_node(node: NodeRecord | None, name: str, receives: bool) -> str | None:
    if node is None:
        return f"{name} is gone"
    if receives and (node.cordoned or not node.ready):
        return f"{name} is {'cordoned' if node.cordoned else 'not ready'}"
    return None
