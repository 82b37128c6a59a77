"""The plan without the chains that cost more than they are worth."""

from typing import Any

import msgspec

from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.interruption import RatesOf
from scheduler.plan.checkpoints import with_waits
from scheduler.plan.plan import Kept, Plan
from scheduler.plan.price import ChainPrice, chain_prices
from scheduler.plan.resolve import resolve
from scheduler.plan.statement import keep, waiting_last
from scheduler.plan.verify import verify
from scheduler.pricing.bill import bill, costs_of
from scheduler.pricing.rates import Stated

NOT_WORTH_IT = "not_worth_it"  # reason of nodes that a plan at any price would have emptied


def priced(plan: Plan, snapshot: Snapshot, rates_of: RatesOf, gain_s: float) -> tuple[ChainPrice, ...]:
    """``chain_prices`` at these rates."""
    rows = resolve(plan, snapshot)
    spent = [cost.gpu_seconds for cost in costs_of(plan, rows, rates_of)]
    return chain_prices(plan, snapshot, spent, gain_s)


def worthwhile(plan: Plan, snapshot: Snapshot, rates_of: RatesOf, gain_s: float, least: float) -> Plan:
    """The plan without the chains whose worth is below ``least``, and without those that cannot do without them.

    Where ``least`` is 0 nothing is left out, whatever it costs: the worth of a chain that loses GPUs is below that.
    Chains go until all that are left are worth it and the judge has nothing to say; in the end that may be none.
    """
    dear: dict[str, float] = {}
    while least > 0 and plan.moves:
        below = {price.chain: price for price in priced(plan, snapshot, rates_of, gain_s) if price.worth < least}
        if not below:
            break
        dear |= {price.node: price.worth for price in below.values()}
        plan = without(plan, snapshot, set(below))
    if not dear:
        return plan
    note = f"price: {len(dear)} nodes left out, each worth less than {least:g} times its cost"
    return msgspec.structs.replace(plan, kept=_kept(plan.kept, dear), notes=(*_without_cuts(plan), note))


def at_rates(plan: Plan, snapshot: Snapshot, said: Stated) -> tuple[Plan, dict[str, Any] | None]:
    """The plan as these rates leave it, in waves of its own, and its bill; no bill where nothing moves.

    Moves wait for checkpoints and chains that are not worth it are left out, as the console does both.
    """
    waiting = with_waits(plan, snapshot, said.patience)
    if waiting != plan:
        plan = waiting_last(waiting, resolve(waiting, snapshot))
    least = float(said.number("least_worth"))
    if plan.aim is None and plan.moves:
        plan = worthwhile(plan, snapshot, said.rates, said.gain_s, least)
    return plan, bill(plan, snapshot, said.rates, said.gain_s, least, said.cents) if plan.moves else None


def without(plan: Plan, snapshot: Snapshot, chains: set[int]) -> Plan:
    """Fewer chains until the judge accepts; raises nothing, since no move at all is legal."""
    left = {move.chain for move in plan.moves} - chains
    while True:
        shorter = keep(plan, snapshot, left)
        verdict = verify(shorter, snapshot)
        if verdict.ok or not left:
            return shorter
        blamed = {shorter.moves[v.move].chain for v in verdict.violations if v.move is not None}
        left -= blamed or {max(left)}


def _without_cuts(plan: Plan) -> tuple[str, ...]:
    """``keep`` notes how many moves it kept; what was left out here is no cut of the search."""
    return tuple(note for note in plan.notes if not note.startswith("cut: ") or " moves kept" not in note)


def _kept(kept: tuple[Kept, ...], dear: dict[str, float]) -> tuple[Kept, ...]:
    return tuple(
        msgspec.structs.replace(row, reason=NOT_WORTH_IT) if row.node in dear and row.reason == "cut" else row
        for row in kept
    )
