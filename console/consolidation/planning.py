"""The only caller of the consolidation planner; only workers import it."""

import time
import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import msgspec
import structlog

from console.plans import services as plans
from console.plans.apart import Apart, apart_from
from console.plans.keeping import kept_alive
from console.plans.milestones import Milestone, reach
from console.plans.models import Plan
from console.plans.selectors import held_for_others, resting
from console.ui.figures import plural
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.params import Report
from scheduler.consolidation.planner import ParamError, Params, Progress, consolidate
from scheduler.consolidation.worth import worthwhile
from scheduler.fragmentation.capacity import capacity_of
from scheduler.fragmentation.shapes import fits, places
from scheduler.plan.apart import beside
from scheduler.plan.ask import ask_of
from scheduler.plan.outcome import moved
from scheduler.plan.plan import Plan as Answer
from scheduler.plan.resolve import resolve

log = structlog.get_logger(__name__)
REPORT_EVERY_S = 0.5
NAMED = 8  # nodes in a note


def compute(plan_id: int) -> None:
    """Compute the plan under a lease; delivered again while somebody else computes it, it does nothing."""
    worker = uuid.uuid4().hex
    plan = plans.begin_planning(plan_id, worker)
    if plan is None:
        log.info("plan.not_taken", plan=plan_id)
        return
    try:
        with kept_alive(plan_id, worker):
            _compute(plan, worker)
    except plans.Conflict as lost:
        # Cancelled, taken over, or the source is gone: only the last leaves a plan that must be told.
        _fail(plan_id, worker, lost.reason)
    except (ParamError, InputError) as error:
        _fail(plan_id, worker, str(error))
    except Exception as error:
        _fail(plan_id, worker, f"The planner failed: {type(error).__name__}: {error}")
        raise


def _compute(plan: Plan, worker: str) -> None:
    now = plans.newest_of(plan)
    reach(Milestone.SNAPSHOT_LOADED)
    reporter = _Reporter(plan.pk, worker)
    answer = answer_to(plan, now.snapshot, apart_from(plan), reporter)
    answer = worth_its_cost(now.snapshot, plans.with_waits(answer, now.snapshot))
    answer = plans.with_releases(plan, answer, now)
    reach(Milestone.PLAN_COMPUTED)
    then = what_fits(now.snapshot, answer)
    plans.propose(plan.pk, worker, answer, now.snapshot, revision=now.revision, digest=now.digest, fits=then)


def params_of(plan: Plan) -> Params:
    given = dict(plan.params)
    goal = ask_of(given.pop("goal", None))
    return Params(models=tuple(plan.models_in_scope), goal=goal, resting=tuple(sorted(resting(plan))), **given)


def answer_to(plan: Plan, snapshot: Snapshot, others: Apart, progress: Report | None = None) -> Answer:
    """What the planner makes of the plan's question on this snapshot; the plan need not be stored."""
    params = params_of(plan)
    return beside_others(
        plan, snapshot, others, lambda one: consolidate(one, params, seed=plan.seed, progress=progress)
    )


def beside_others(plan: Plan, snapshot: Snapshot, others: Apart, ask: Callable[[Snapshot], Answer]) -> Answer:
    """The planner's answer that neither fills nor empties nodes that are kept for others, or drained by them.

    Nodes that are drained later take pods only where what is asked cannot be reached otherwise: better moved twice
    than a campaign over all nodes of a model that could never begin.
    """
    held, known = held_for_others(plan), set(snapshot.node_name)
    never, later = {*held, *others.never} & known, {*others.later} - set(held) & known
    answer, left = beside(snapshot, never | later, ask), len(later)
    if later and answer.aim is not None and answer.aim.reached < answer.aim.wanted:
        again = beside(snapshot, never, ask)
        if again.aim is not None and again.aim.reached > answer.aim.reached:
            answer, left = again, 0
    shut = {node: whose for node, whose in others.never.items() if node in never}
    shut |= {node: whose for node, whose in others.later.items() if node in later and left}
    told = [
        *([f"held: {plural(len(held), 'node')} kept for others; they take nobody, and the bound is without them"]
          if held else []),
        *_drained_words(shut),
        *([f"moved twice: {plural(len(later), 'node')} drained later take pods, since not all could leave without them"]
          if later and not left else []),
    ]  # fmt: skip
    return msgspec.structs.replace(answer, notes=(*answer.notes, *told)) if told else answer


def _drained_words(shut: dict[str, str]) -> list[str]:
    """One note for each that drains them; which nodes, as far as they are few."""
    found = []
    for whose in sorted(set(shut.values())):
        nodes = sorted(node for node, one in shut.items() if one == whose)
        more = f" and {len(nodes) - NAMED:,} more" if len(nodes) > NAMED else ""
        found.append(f"apart: {plural(len(nodes), 'node')} of {whose} take nobody: {', '.join(nodes[:NAMED])}{more}")
    return found


def worth_its_cost(snapshot: Snapshot, answer: Answer) -> Answer:
    """Without the nodes that cost more than they gain, where whole nodes are the goal."""
    if answer.aim is not None or not answer.moves:
        return answer
    gain_s, least = plans.worth_asked(answer, snapshot)
    return worthwhile(answer, snapshot, plans.rates_of(answer.cluster), gain_s, least)


def what_fits(snapshot: Snapshot, answer: Answer) -> list[dict[str, Any]]:
    """Jobs that find room at once, by size and level, now and after the plan; None: larger than any such place."""
    rows = resolve(answer, snapshot)
    after = moved(snapshot, dict(zip(rows.pod, rows.target, strict=True)))
    now, then = (fits(places(capacity_of(one))) for one in (snapshot, after))
    return [
        {"gpus": one.gpus, "level": one.level, "now": one.count, "then": other.count}
        for one, other in zip(now, then, strict=True)
    ]


def _fail(plan_id: int, worker: str, reason: str) -> None:
    try:
        plans.fail_plan(plan_id, reason, worker)
    except plans.Conflict as over:
        log.info("plan.not_failed", plan=plan_id, reason=over.reason)


class _Reporter:
    """Passes progress on at most twice a second, and answers the planner from the last time it asked."""

    def __init__(self, plan_id: int, worker: str) -> None:
        self.plan_id, self.worker = plan_id, worker
        self.last = float("-inf")
        self.go_on = True

    def __call__(self, progress: Progress) -> bool:
        now = time.monotonic()
        if self.go_on and now - self.last >= REPORT_EVERY_S:
            self.last = now
            self.go_on = plans.report_progress(self.plan_id, self.worker, _words(progress))
        return self.go_on


def _words(progress: Progress) -> dict[str, Any]:
    """The planner's figures, and how far that is of all rounds."""
    total = progress.rounds * progress.partitions
    done = (progress.round - 1) * progress.partitions + progress.partition
    return {**asdict(progress), "done": done, "total": total}
