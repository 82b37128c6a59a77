"""A shorter plan from a longer one: a new plan with its own digest, checked anew; the old one stays readable."""

from collections.abc import Collection
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
from scheduler.plan.statement import keep, marginal


def cut_plan(user: Any, plan_id: int, moves: int) -> Plan:
    """Keep as many whole chains, in the planner's order, as have at most ``moves`` moves; returns the new plan."""
    require(user, "plans.request_plan")
    plan = with_answer(plan_id)
    whole = checking.signed(plan)
    steps = marginal(whole)
    chains = sum(kept <= moves for kept, _net in steps if kept > 0)
    if chains == 0:
        least = min((kept for kept, _net in steps if kept > 0), default=0)
        raise Conflict(f"No chain has so few moves: the first one needs {least:,}.")
    kept = max(kept for kept, _net in steps[: chains + 1] if kept <= moves)
    if kept == len(whole.moves):
        raise Conflict(f"Plan {plan_id} has {len(whole.moves):,} moves: there is nothing to cut.")
    first = sorted({move.chain for move in whole.moves})[:chains]
    _refuse_what_changed(plan, shorter(whole, checking.base_of(plan), first))
    return _derive(user, plan, f"plan {plan_id} cut to {kept:,} of {len(whole.moves):,} moves", first)


def drop_stale_moves(user: Any, plan_id: int) -> Plan:
    """Leave out every chain with a move that no longer holds, and check the rest on the newest snapshot."""
    require(user, "plans.request_plan")
    plan = with_answer(plan_id)
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
    out = len(whole.moves) - left
    return _derive(user, plan, f"plan {plan_id} without {out:,} of {len(whole.moves):,} moves", chains)


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


def shorter(whole: core.Plan, snapshot: Snapshot, chains: Collection[int]) -> core.Plan:
    """The one way in which a plan becomes shorter: whole chains stay, counted and put in waves anew on ``snapshot``."""
    return keep(msgspec.structs.replace(whole, snapshot_digest=snapshot.digest), snapshot, chains)


def _derive(user: Any, parent: Plan, origin: str, chains: Collection[int]) -> Plan:
    """The plan with these chains on the newest snapshot, proposed; its proposer is who made it shorter."""
    now = checking.newest_of(parent)
    descent = Descent(user=user, parent=parent, origin=origin, undoes=parent.undoes)
    return derive(descent, shorter(checking.signed(parent), now.snapshot, chains), now)


def with_answer(plan_id: int) -> Plan:
    plan = read(plan_id)
    if not plan.digest:
        raise Conflict(f"Plan {plan_id} is {plan.get_state_display().lower()}: it has no moves to cut.")
    return plan
