"""What of a run can still be done: steps whose chain has lost a move would empty nothing."""

from collections.abc import Collection

from console.plans.choices import Kind, StepState
from console.plans.models import Plan, Step


def broken_steps(plan: Plan, changed: Collection[int] = ()) -> list[int]:
    """Indices of waiting steps that share a chain with a failed, dropped or ``changed`` step, or wait for one.

    A chain is worth nothing in part, but each pod that goes back is: of a rollback only those that wait are broken.
    """
    rows = list(Step.objects.filter(plan=plan).only("index", "chain", "after", "state"))
    broken = {row.index for row in rows if row.state in (StepState.FAILED, StepState.DROPPED)} | set(changed)
    waiting = [row for row in rows if row.state == StepState.WAITING]
    whole = bool((plan.headline.get("goal") or {}).get("whole"))  # all or nothing: one chain is all of them
    chain_of = {row.index: 0 if whole else row.chain for row in rows}
    found = {-1}
    while found:
        chains = set() if plan.kind == Kind.ROLLBACK else {chain_of[index] for index in broken}
        hit = (row for row in waiting if chain_of[row.index] in chains or broken.intersection(row.after))
        found = {row.index for row in hit} - broken
        broken |= found
    return sorted(broken & {row.index for row in waiting})


def left_out(plan: Plan) -> tuple[int, int]:
    """(moves that go if what is known to have changed is left out, moves that still wait after that)."""
    out = len(broken_steps(plan, {move for change in plan.changes for move in change["moves"]}))
    return out, plan.steps.filter(state=StepState.WAITING).count() - out
