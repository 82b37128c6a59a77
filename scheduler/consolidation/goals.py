"""Plans for a goal other than whole nodes: resolve what is asked, search, and put the answer into a plan."""

from collections.abc import Callable

import numpy as np

from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.consolidation import clearing
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import compile_arena
from scheduler.consolidation.clearing import WHOLE_NOTE, Clearing
from scheduler.consolidation.draft import Draft
from scheduler.consolidation.params import Params, Report
from scheduler.consolidation.rounds import Search, switches
from scheduler.plan.ask import check, domain_of
from scheduler.plan.goal import DRAIN
from scheduler.plan.plan import Plan
from scheduler.plan.verify import verify

Clock = Callable[[], float] | None


def reach(snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Clock) -> Plan:
    """The plan that reaches most of ``params.goal``, by the fewest moves that the search finds.

    Raises ``ParamError`` for a goal that names what the cluster does not have.
    """
    return _clear(snapshot, params, seed, progress, clock)


def _clear(snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Clock) -> Plan:
    ask = params.goal
    check(snapshot, ask)
    level, names = ("", ask.nodes) if ask.kind == DRAIN else domain_of(snapshot, ask)
    named = _rows(snapshot, names)
    compiled = compile_arena(snapshot, named)
    clearing.open_for(compiled, named)
    goal = clearing.goal_of(snapshot, named, kind=ask.kind, name=ask.name, level=level, whole=ask.all_or_nothing)
    upper = clearing.most_cleared(snapshot, compiled, named)
    found = Search(compiled, params, seed, switches(snapshot), upper, report=progress, clock=clock)
    clearing.search(found, named, upper, goal.before)
    return _legal(Clearing(snapshot, compiled, params, seed, found.notes, upper, named, goal))


def _legal(draft: Draft) -> Plan:
    """The draft's plan without the chains that the judge refuses; without any where that would be less than all."""
    searched = list(draft.notes)
    chains = int(draft.compiled.arena.work[c.W_CHAINS])
    plan = draft.plan(chains)
    while plan.moves and not (verdict := verify(plan, draft.snapshot)).ok:
        first = verdict.violations[0]
        blamed = [plan.moves[v.move].chain for v in verdict.violations if v.move is not None]
        chains = 0 if _whole(plan) else min([chains - 1, *blamed])
        draft.notes = [*searched, _because(plan, first.detail)]
        plan = draft.plan(chains)
    draft.notes = searched
    return plan


def _whole(plan: Plan) -> bool:
    return plan.aim is not None and plan.aim.whole


def _because(plan: Plan, detail: str) -> str:
    goal = plan.aim
    if goal is not None and goal.whole and goal.reached < goal.wanted:
        return f"{WHOLE_NOTE}: {goal.reached} of {goal.wanted} {goal.unit} would be reached"
    return f"cut: refused by the judge: {detail}"


def _rows(snapshot: Snapshot, names: tuple[str, ...]) -> Bools:
    """[n] The named nodes."""
    wanted = set(names)
    return np.array([name in wanted for name in snapshot.node_name], np.bool_)
