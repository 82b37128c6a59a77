"""Approving a part: whole chains of a proposal are left out, the rest is judged again and decided in one go.

What is left is a part of what its proposer asked for, so that proposer and approver are still two people.  It is worked
out on the reading that the proposal rests on: the digest that was read in the preview is the one that is approved.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.plans import selectors
from console.plans.choices import State
from console.plans.models import Plan
from console.plans.services import answers, checking, pacing
from console.plans.services.approval import addressed, approve_plan
from console.plans.services.cutting import shorter, with_answer, without_dependents
from console.plans.services.deriving import Descent, derive
from console.plans.services.staleness import refuse_unless_holds
from console.plans.services.transition import Conflict, change
from console.tenancy.services import Denied, require
from console.ui.figures import plural
from scheduler.plan import plan as core
from scheduler.plan.verify import verify

CHOSEN, TENANT, WAITS = "chosen", "tenant", "waits"  # why a chain is left out


@dataclass(frozen=True, slots=True)
class Left:
    """A chain that is left out; numbers from 1."""

    chain: int
    node: str
    moves: int
    tenants: list[str]
    why: str
    words: str


@dataclass(frozen=True, slots=True)
class Part:
    """What remains of a proposal; ``headline`` and ``impact`` as the whole plan has them."""

    digest: str
    ok: bool
    fault: str  # the judge's first word against it
    headline: dict[str, Any]
    impact: list[dict[str, Any]]
    left: list[Left]
    run_waves: int  # as the policy cuts it now
    answer: core.Plan
    on: checking.Newest


def part_of(user: Any, plan_id: int, tenants: Collection[str], chains: Collection[int]) -> Part:
    """The plan without these tenants ("" = pods of none) and these chains (from 0), and without what waits for them.

    ``Conflict`` where nothing is chosen, where nothing remains, or where the reading under the plan is gone.
    """
    require(user, "plans.view_plan")
    plan = with_answer(plan_id)
    whole = checking.signed(plan)
    rows = list(plan.steps.order_by("index").values_list("index", "chain", "tenant"))
    wanted, unloved = set(chains), set(tenants)
    hit = {index for index, chain, tenant in rows if chain in wanted or tenant in unloved}
    if not hit:
        raise Conflict("Nothing is left out: choose tenants or chains of this plan.")
    kept = without_dependents(whole, hit)
    if not kept:
        raise Conflict("No chain remains.", next_step="Reject the plan instead.")
    on = checking.Newest(plan.base_revision or 0, plan.base_digest, checking.base_of(plan))
    answer = shorter(whole, on.snapshot, kept)
    verdict = verify(answer, on.snapshot, None if plan.undoes is None else checking.signed(plan.undoes))
    moved = answers.moved_rows(answer, on.snapshot)
    headline, impact = answers.headline(answer, on.snapshot, moved), answers.impact(answer, on.snapshot, moved)
    run_waves, _ = pacing.paced(answer, on.snapshot, selectors.rules_for(answer.cluster, headline, impact))
    return Part(
        digest=answer.digest(),
        ok=verdict.ok,
        fault="" if verdict.ok else verdict.violations[0].detail or verdict.violations[0].kind,
        headline=headline,
        impact=impact,
        left=_left(whole, rows, kept, wanted, unloved),
        run_waves=max(run_waves, default=-1) + 1,
        answer=answer,
        on=on,
    )


def _left(
    whole: core.Plan, rows: list[tuple[int, int, str]], kept: set[int], wanted: set[int], unloved: set[str]
) -> list[Left]:
    found = []
    for chain in sorted({move.chain for move in whole.moves} - kept):
        mine = [index for index, of, _tenant in rows if of == chain]
        tenants = sorted({tenant for _index, of, tenant in rows if of == chain})
        named = [tenant or "unassigned" for tenant in tenants if tenant in unloved]
        if named:
            why, words = TENANT, f"has pods of {', '.join(named)}"
        elif chain in wanted:
            why, words = CHOSEN, "chosen"
        else:
            why, words = WAITS, "waits for a chain that is left out"
        found.append(Left(chain + 1, whole.moves[mine[0]].drains, len(mine), tenants, why, words))
    return found


def approve_part(
    user: Any,
    plan_id: int,
    digest: str,
    part_digest: str,
    reason: str,
    *,
    tenants: Collection[str],
    chains: Collection[int],
    start: bool = False,
) -> Plan:
    """Approve what ``part_of`` showed under ``part_digest``; the whole proposal (``digest``) ends in favour of it.

    Raises what ``approve_plan`` raises.  All or nothing: where the part cannot be approved, the proposal stays.
    """
    require(user, "plans.approve_plan")
    plan = addressed(user, plan_id, digest, reason)
    if plan.proposer_id == user.pk:
        raise Denied("You asked for this plan: somebody else must approve it, in whole or in part.")
    refuse_unless_holds(plan, selectors.approval_checks(user, plan))
    part = part_of(user, plan_id, tenants, chains)
    if part.digest != part_digest:
        raise Conflict(
            f"You read digest {part_digest[:8]}, what remains has {part.digest[:8]}.", next_step="Look at it again."
        )
    with transaction.atomic():
        made = derive(_descent(user, plan, part, reason), part.answer, part.on)
        words = f"approved in part as plan {made.pk}: {len(part.answer.moves):,} of {plan.headline['moves']:,} moves"
        change(
            plan_id, State.CANCELLED, actor=user, reason=words, sources=[State.PROPOSED], narrow={"digest": digest},
            detail={"part": made.pk}, ended_at=timezone.now(),
        )  # fmt: skip
        _record(user, plan, made, part, reason)
        return approve_plan(user, made.pk, made.digest, reason, start=start)


def _descent(user: Any, plan: Plan, part: Part, reason: str) -> Descent:
    moves = plural(plan.headline["moves"], "move")
    return Descent(
        user=user,
        parent=plan,
        origin=f"{len(part.answer.moves):,} of {moves} of plan {plan.pk}: a part that {user.get_username()} chose",
        because=reason.strip(),
        proposer=plan.proposer,
        undoes=plan.undoes,
        expires_at=plan.expires_at,
        left_out=tuple(_row(one) for one in part.left),
    )


def _record(user: Any, plan: Plan, made: Plan, part: Part, reason: str) -> None:
    audit.record(
        actor=user,
        action="plan.approved_in_part",
        target_kind="plan",
        target_id=str(plan.pk),
        reason=reason,
        digest=plan.digest,
        detail={
            "part": made.pk,
            "part_digest": made.digest,
            "moves": len(part.answer.moves),
            "left_out": [_row(one) for one in part.left],
        },
    )


def _row(left: Left) -> dict[str, Any]:
    return {"chain": left.chain, "node": left.node, "moves": left.moves, "tenants": left.tenants, "why": left.words}
