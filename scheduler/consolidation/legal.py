"""The judge's say on a draft: without the chains that it refuses, and all or nothing where that is asked."""

from scheduler.consolidation import columns as c
from scheduler.consolidation.clearing import WHOLE_NOTE
from scheduler.consolidation.draft import Draft
from scheduler.plan.plan import Plan
from scheduler.plan.verify import verify


def legal(draft: Draft) -> Plan:
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
