"""What would make a waiting job start, each with its cost: more quota, victims, moves, a smaller shape, another model
or patience.  Nothing is done here: a remedy is a proposal for whoever may decide it.

``found``: it would start.  ``none``: looked at, and it would not.  ``budget``: the search ended before it knew.
``unknown``: that depends on what nobody has stated.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.admission.allowed import Opening, models_for, on_model, opening_of
from scheduler.admission.backfill import ends_of, reserve
from scheduler.admission.claims import Claimed, claimed
from scheduler.admission.diagnosis import Ground, ground_of
from scheduler.admission.jobs import Job
from scheduler.admission.planner import Explained, Explanation
from scheduler.admission.quota import BORROWING_LIMIT, CAP, Refusal
from scheduler.admission.raising import Raise, raises
from scheduler.admission.reasons import (
    BUDGET_RAN_OUT,
    CAPACITY,
    CONSTRAINT,
    FITS_NOW,
    FRAGMENTATION,
    MISCONFIGURED,
    QUOTA,
    SPENT,
    TOPOLOGY,
    WAITING_FOR_VICTIMS,
    gpus,
    some,
)
from scheduler.advice.paying import budget_remedies, without
from scheduler.advice.remedy import (
    BEST_FIRST,
    BUDGET,
    BUDGET_MORE,
    FOUND,
    MOVES,
    NONE,
    QUOTA_MORE,
    UNSTATED,
    VICTIMS,
    WAIT,
    Remedy,
)
from scheduler.advice.reshaping import other_models, smaller
from scheduler.cluster.build import restrict
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.params import Ask, Params
from scheduler.consolidation.planner import consolidate
from scheduler.performance.interruption import Rates, costs
from scheduler.placement.seating import find
from scheduler.placement.victims import BUDGET as VICTIMS_CUT
from scheduler.placement.victims import VictimRules
from scheduler.plan.goal import GANG
from scheduler.plan.plan import Plan

OF_ROOM = (CONSTRAINT, TOPOLOGY, FRAGMENTATION, CAPACITY, BUDGET_RAN_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may be spent on one job."""

    moves: bool = True  # whether a plan of moves is looked for at all
    seconds: float | None = None  # of planning; needs a clock
    victims: VictimRules = field(default_factory=VictimRules)
    rates: Rates = field(default_factory=Rates)


def unblock(
    found: Explained,
    row: Explanation,
    *,
    estimates: Mapping[str, int] | None = None,
    limits: Limits | None = None,
    seed: int = 0,
) -> tuple[Remedy, ...]:
    """Remedies for one job of ``explain``, those that help first; nothing for a job that would start now.

    ``estimates``: instants at which running pods or gangs end, by ``namespace/name``.
    """
    limits = limits or Limits()
    if row.reason.word == FITS_NOW:
        return ()
    words = {row.reason.word, *(other.word for other in row.others)}
    eligible = eligibility(found.snapshot)
    ground = ground_of(found.snapshot, eligible, [row.job], found.book, found.now_s, 1_000)
    if MISCONFIGURED in words:  # its owner has to change it: what helps then is its size alone
        return tuple(smaller(found, ground, row.job)) if row.reason.numbers.get("fault") == "size" else ()
    remedies = [
        *_quota(found, ground, row),
        *budget_remedies(found, row),
        *_victims(found, row, limits),
        *_moves(found, ground, row, words, limits, seed),
        *smaller(found, ground, row.job),
        *other_models(found, ground, row.job),
        *(() if words & {QUOTA, SPENT} else _patience(ground, row, estimates or {})),  # others' ends free no quota
    ]
    if any(one.kind == WAIT and one.outcome == FOUND for one in remedies):  # then it is known when
        remedies = [one for one in remedies if one.kind != WAIT or one.outcome == FOUND]
    remedies = _together(remedies)
    return tuple(sorted(remedies, key=lambda remedy: BEST_FIRST.index(remedy.outcome)))


def _together(remedies: list[Remedy]) -> list[Remedy]:
    """What is not enough alone helps with moves that are not: then more quota, or budget, is the remedy and names them.

    Who lacks both has two more things in its way.
    """
    lacking = {one.kind for one in remedies} & {QUOTA_MORE, BUDGET_MORE}
    only = next(iter(lacking)) if len(lacking) == 1 else ""
    moves = next((one for one in remedies if one.kind == MOVES and one.plan is not None), None)
    if moves is None:
        return remedies
    with_moves = f" Together with {some(len(moves.plan.moves) if moves.plan else 0, 'move')} it would start."
    return [
        replace(one, outcome=FOUND, detail=one.detail + with_moves, numbers={**one.numbers, "together_with": MOVES})
        if one.kind == only and one.outcome == NONE == moves.outcome
        else one
        for one in remedies
    ]


def solved(row: Explanation, remedies: tuple[Remedy, ...]) -> str:
    """The best outcome of all; NONE where everything was looked at and nothing helps, so that no solution exists.

    "" for a job that would start now: nothing is in its way, and nothing is to be solved.
    """
    if row.reason.word == FITS_NOW:
        return ""
    outcomes = {remedy.outcome for remedy in remedies}
    return next((word for word in BEST_FIRST if word in outcomes), NONE)


def _quota(found: Explained, ground: Ground, row: Explanation) -> Iterator[Remedy]:
    model, limits = _lifted(found, ground, row)
    if not limits:
        return
    refusal, more = limits[0].refusal, sum(one.gpus for one in limits)
    lenders = [] if refusal.limit == CAP else list(found.book.lenders(refusal.tenant, refusal.model))
    rest = without(row, QUOTA)
    # More quota alone starts it only where there is room on that model, and nothing else is in its way.
    if find(ground.now, row.job, open_nodes=on_model(found.snapshot, model)).seats is not None:
        rest = [word for word in rest if word not in OF_ROOM]
    elif not rest:
        rest = [WAITING_FOR_VICTIMS]
    outcome = FOUND if not rest else NONE
    then = "it would start" if not rest else f"it would still wait: {rest[0].replace('_', ' ')}"
    told = " and ".join(f"{_raise(one.refusal)} by {gpus(one.gpus * WHOLE_GPU_MILLI)}" for one in limits)
    yield Remedy(
        QUOTA_MORE, outcome, more, "GPUs", f"{told[0].upper()}{told[1:]}, and {then}.{_lending(lenders)}",
        {
            "missing_milli": max(one.gpus for one in limits) * WHOLE_GPU_MILLI, "limits": len(limits),
            "at": refusal.at, "limit": refusal.limit, "model": refusal.model,
            "lenders": ", ".join(f"{name} {milli // WHOLE_GPU_MILLI}" for name, milli in lenders),
            "lendable_milli": sum(milli for _, milli in lenders),
        },
    )  # fmt: skip


def _lifted(found: Explained, ground: Ground, row: Explanation) -> tuple[str, tuple[Raise, ...]]:
    """A model, and the limits between the job and it: that which its reason names; else one with room, the nearest."""
    opening, snapshot = _opening(found, ground, row.job), found.snapshot
    named = next((one.numbers["model"] for one in (row.reason, *row.others) if one.word == QUOTA), None)
    models = [str(named)] if named in snapshot.models else []
    if not models and opening.refusal is not None:
        models = list(models_for(snapshot, row.job, ground.sizes.models.get(row.job.cluster, ())))
    ways = {model: raises(found.book, row.job, model) for model in models}
    if not any(ways.values()):
        return "", ()

    def rank(model: str) -> tuple[bool, int, str]:
        seats = find(ground.now, row.job, open_nodes=on_model(snapshot, model)).seats
        return seats is None, sum(one.gpus for one in ways[model]), model

    best = min(models, key=rank)
    return best, ways[best]


def _opening(found: Explained, ground: Ground, job: Job) -> Opening:
    return opening_of(found.snapshot, found.book, job, ground.sizes.models.get(job.cluster, ()))


def _raise(refusal: Refusal) -> str:
    if refusal.limit == CAP:
        return f"raise the cap of {refusal.at}"
    if refusal.limit == BORROWING_LIMIT:
        return f"raise the borrowing limit of {refusal.at} on {refusal.model}"
    return f"give {refusal.at} more quota of {refusal.model}"


def _lending(lenders: list[tuple[str, int]]) -> str:
    if not lenders:
        return " Nobody has quota that is unused and lent."
    told = ", ".join(f"{name} ({gpus(milli)})" for name, milli in lenders[:3])
    return f" Unused quota is lent by {told}."


def _victims(found: Explained, row: Explanation, limits: Limits) -> Iterator[Remedy]:
    if row.job.lp:
        return
    answer = claimed(found.snapshot, row.job, found.book, now_s=found.now_s, rules=limits.victims)
    victims, lent = answer.victims, answer.lent
    if not victims.ok:
        outcome = BUDGET if victims.reason == VICTIMS_CUT else NONE
        kept = "" if lent is None else lent.words(found.now_s)
        numbers = {"reason": victims.reason, **(lent.numbers if lent is not None and kept else {})}
        yield Remedy(VICTIMS, outcome, None, "GPU-seconds", victims.detail + kept, numbers)
        yield from _until_taken_back(found, row, limits, answer)
        return
    if not victims.victims:
        return  # it fits, or waits for those who are leaving: its reason says so
    names = ", ".join(found.snapshot.pod_key(v.pod) for v in victims.victims[:5])
    grounds = sorted({v.ground for v in victims.victims})
    yield Remedy(
        VICTIMS, FOUND, victims.gpu_seconds, "GPU-seconds",
        f"Stop {some(len(victims.victims), 'LP pod')} ({' and '.join(grounds)}): {names}. {victims.detail}",
        {
            "pods": len(victims.victims), "grounds": ", ".join(grounds), "loss_milli": victims.loss_milli,
            "named": names, "total_gpu_seconds": round(victims.terms.total, 1),
        },
    )  # fmt: skip


def _until_taken_back(found: Explained, row: Explanation, limits: Limits, answer: Claimed) -> Iterator[Remedy]:
    """Its share, once what was promised to those who borrow it is over."""
    lent = answer.lent
    if lent is None or not lent.protected_milli or lent.until_s is None:
        return
    then = claimed(found.snapshot, row.job, found.book, now_s=lent.until_s, rules=limits.victims).victims
    if not then.ok or not then.victims:
        return
    seconds = lent.until_s - found.now_s
    yield Remedy(
        WAIT, FOUND, seconds, "seconds",
        f"In {seconds:,} s nothing that borrows of its share is protected any more: {some(len(then.victims), 'LP pod')}"
        " may then be stopped for it.",
        {"start_s": lent.until_s, "pods": len(then.victims), "for": "reclaim", **lent.numbers},
    )  # fmt: skip


def _moves(
    found: Explained, ground: Ground, row: Explanation, words: set[str], limits: Limits, seed: int
) -> Iterator[Remedy]:
    """Onto nodes of models of which it has quota; where it has of none, of the one that ``_quota`` raises."""
    if CAPACITY in words:
        yield Remedy(MOVES, NONE, None, "GPU-seconds", "Moves free nothing: too few GPUs are free in sum.")
        return
    if not words & {FRAGMENTATION, TOPOLOGY} or not limits.moves:
        return
    opening, (lifted, ways) = _opening(found, ground, row.job), _lifted(found, ground, row)
    by_cap = all(one.refusal.limit == CAP for one in ways)
    models = opening.open if opening.open or by_cap else (lifted,)
    snapshot = restrict(found.snapshot, row.cluster)
    if opening.refusals and models:
        snapshot = _held_to(snapshot, {found.snapshot.pod_key(p) for p in row.job.pods}, models)
    params = Params(rounds=1, exact_up_to=0, goal=Ask(kind=GANG, name=row.key))
    plan = consolidate(snapshot, params, seed=seed)
    goal = plan.aim
    if goal is None or goal.refused or goal.reached < goal.wanted:
        yield _no_moves(plan)
        return
    if not plan.moves:  # its reason says what it waits for: no move is no remedy
        return
    lost = _gpu_seconds(snapshot, plan, limits.rates)
    short = [what for lacks, what in ((opening.refusal, "quota"), (SPENT in words, "budget")) if lacks]
    still = f" It would still need {' and '.join(short)}." if short else ""
    waves = max(plan.wave_of, default=-1) + 1
    yield Remedy(
        MOVES, NONE if still else FOUND, lost, "GPU-seconds",
        f"{some(len(plan.moves), 'move')} in {some(waves, 'wave')} make room for it.{still}",
        {"moves": len(plan.moves), "plan_digest": plan.digest()}, plan,
    )  # fmt: skip


def _held_to(snapshot: Snapshot, keys: set[str], models: tuple[str, ...]) -> Snapshot:
    """These pods, where they use quota, accept these models alone; for planning, since its digest is that of before."""
    specs, of = list(snapshot.pod_specs), snapshot.pod_spec.copy()
    for p in np.flatnonzero(~snapshot.pod_live & (snapshot.pod_gpus > 0)).tolist():
        spec = snapshot.pod_specs[snapshot.pod_spec[p]]
        if not spec.mig and snapshot.pod_key(p) in keys:
            of[p] = len(specs)
            specs.append(replace(spec, gpu_models=models))
    return replace(snapshot, pod_specs=tuple(specs), pod_spec=of)


def _no_moves(plan: Plan) -> Remedy:
    """Proven hopeless where the goal is refused or its bound lies below what is asked; else only not found."""
    goal = plan.aim
    if goal is not None and (goal.refused or plan.bound.net_upper < goal.wanted):
        why = goal.refused or f"no moves seat more than {plan.bound.net_upper} of {goal.wanted}"
        return Remedy(MOVES, NONE, None, "GPU-seconds", f"No moves make room for it: {why}.")
    best = f"{goal.reached} of {goal.wanted}" if goal is not None else "none"
    return Remedy(MOVES, BUDGET, None, "GPU-seconds", f"The search ended with room for {best}; there may be a way.")


def _gpu_seconds(snapshot: Snapshot, plan: Plan, rates: Rates) -> float:
    rows = {snapshot.pod_key(p): p for p in np.flatnonzero(snapshot.pod_live).tolist()}
    pods = [rows[move.pod] for move in plan.moves]
    return round(sum(cost.gpu_seconds for cost in costs(snapshot, pods, lambda _model, _tenant: rates)), 1)


def _patience(ground: Ground, row: Explanation, estimates: Mapping[str, int]) -> Iterator[Remedy]:
    """The first instant at which enough has ended, if nobody else takes it; unknown where unknown ends matter."""
    ends = ends_of(ground.snapshot, estimates)
    reserved = reserve(ground, row.job, ends)
    unknown = reserved.unknown_gpu_milli
    if reserved.start_s is None:
        detail = "All ends are stated, and it fits after none of them."
        if reserved.unknown_pods:
            held = f"{some(reserved.unknown_pods, 'pod')} without a known end"
            detail = f"Nobody knows when: {held} on nodes that it could use, with {gpus(unknown)}."
        yield Remedy(
            WAIT, UNSTATED if reserved.unknown_pods else NONE, None, "seconds", detail, {"unknown_milli": unknown}
        )
        return
    if reserved.start_s <= ground.now_s:
        return
    seconds = reserved.start_s - ground.now_s
    what = str(row.reason.numbers.get("for", "room")).capitalize()  # or quota, of who waits for that
    detail = f"{what} comes free in {seconds} s by ends that are stated, if nobody before it takes it."
    yield Remedy(WAIT, FOUND, seconds, "seconds", detail, {"start_s": reserved.start_s, "unknown_milli": unknown})
