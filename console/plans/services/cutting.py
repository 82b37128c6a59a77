"""A shorter plan from a longer one: a new plan with its own digest, checked anew; the old one stays readable."""

from collections.abc import Callable
from typing import Any

import msgspec

from console.plans.models import Plan
from console.plans.selectors import STALE_NEXT_STEP
from console.plans.services import checking
from console.plans.services.deriving import Descent, derive
from console.plans.services.transition import Conflict, read
from console.tenancy.services import require
from console.ui.figures import plural
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan import plan as core
from scheduler.plan.statement import cut, keep, marginal

Shorten = Callable[[core.Plan, Snapshot], core.Plan]


def cut_plan(user: Any, plan_id: int, moves: int) -> Plan:
    """Keep as many whole chains, in the planner's order, as have at most ``moves`` moves; returns the new plan."""
    require(user, "plans.request_plan")
    plan = _with_answer(plan_id)
    whole = checking.signed(plan)
    steps = marginal(whole)
    chains = sum(kept <= moves for kept, _net in steps if kept > 0)
    if chains == 0:
        least = min((kept for kept, _net in steps if kept > 0), default=0)
        raise Conflict(f"No chain has so few moves: the first one needs {least:,}.")
    kept = max(kept for kept, _net in steps[: chains + 1] if kept <= moves)
    if kept == len(whole.moves):
        raise Conflict(f"Plan {plan_id} has {len(whole.moves):,} moves: there is nothing to cut.")
    _refuse_what_changed(plan, cut(whole, checking.base_of(plan), chains))
    return _derive(user, plan, f"plan {plan_id} cut to {kept:,} of {len(whole.moves):,} moves",
                   lambda old, snapshot: cut(old, snapshot, chains))  # fmt: skip


def drop_stale_moves(user: Any, plan_id: int) -> Plan:
    """Leave out every chain with a move that no longer holds, and check the rest on the newest snapshot."""
    require(user, "plans.request_plan")
    plan = _with_answer(plan_id)
    whole = checking.signed(plan)
    found = checking.differences(plan, checking.newest_of(plan))
    hit = {move for change in found for move in change["moves"]}
    if not hit:
        raise Conflict(f"All moves of plan {plan_id} hold now: compute a new plan or ask for the same again.")
    chains = without_dependents(whole, hit)
    if not chains:
        raise Conflict(
            "No chain is left without the moves that changed.", changes=found, next_step="Compute a new plan."
        )
    left = sum(move.chain in chains for move in whole.moves)
    return _derive(user, plan, f"plan {plan_id} without {len(whole.moves) - left:,} of {len(whole.moves):,} moves",
                   lambda old, snapshot: keep(old, snapshot, chains))  # fmt: skip


def _refuse_what_changed(plan: Plan, shorter: core.Plan) -> None:
    """A plan that went stale is no fault of its planner: say which of the moves to keep have changed."""
    found = checking.differences(plan, checking.newest_of(plan), shorter)
    hit = {move for change in found for move in change["moves"]}
    if hit:
        raise Conflict(
            f"The cluster has changed since plan {plan.pk} was computed: {len(hit):,} of the "
            f"{plural(len(shorter.moves), 'move')} to keep no longer hold{'s' if len(hit) == 1 else ''}.",
            changes=found,
            next_step=STALE_NEXT_STEP,
        )


def without_dependents(whole: core.Plan, hit: set[int]) -> set[int]:
    """Chains that neither contain a move of ``hit`` nor wait for a chain that does."""
    broken = {whole.moves[move].chain for move in hit}
    while True:
        waits = {
            move.chain for move in whole.moves if any(whole.moves[before].chain in broken for before in move.after)
        }
        if waits <= broken:
            return {move.chain for move in whole.moves} - broken
        broken |= waits


def _derive(user: Any, parent: Plan, origin: str, shorten: Shorten) -> Plan:
    """The shortened plan on the newest snapshot, proposed; its proposer is who cut it."""
    now = checking.newest_of(parent)
    old = msgspec.structs.replace(checking.signed(parent), snapshot_digest=now.snapshot.digest)
    descent = Descent(user=user, parent=parent, origin=origin, undoes=parent.undoes)
    return derive(descent, shorten(old, now.snapshot), now)


def _with_answer(plan_id: int) -> Plan:
    plan = read(plan_id)
    if not plan.digest:
        raise Conflict(f"Plan {plan_id} is {plan.get_state_display().lower()}: it has no moves to cut.")
    return plan
