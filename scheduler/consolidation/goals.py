"""Plans for a goal other than whole nodes: resolve what is asked, search, and put the answer into a plan."""

from collections.abc import Callable

import numpy as np

from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.consolidation import clearing, filling
from scheduler.consolidation.arena import compile_arena
from scheduler.consolidation.clearing import Clearing
from scheduler.consolidation.filling import Filling
from scheduler.consolidation.legal import legal
from scheduler.consolidation.moves import install
from scheduler.consolidation.params import Params, Report
from scheduler.consolidation.rounds import Search, switches
from scheduler.consolidation.spares import replace_node
from scheduler.consolidation.unseated import with_reasons
from scheduler.consolidation.wishes import NOTHING, gang_of, most_seats, slots_of
from scheduler.plan.ask import check, domain_of
from scheduler.plan.goal import CLEARING, DRAIN, SHAPE, SPARE
from scheduler.plan.plan import Plan

Clock = Callable[[], float] | None


def reach(snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Clock) -> Plan:
    """The plan that reaches most of ``params.goal``, by the fewest moves that the search finds.

    Raises ``ParamError`` for a goal that names what the cluster does not have.
    """
    check(snapshot, params.goal)
    if params.goal.kind in CLEARING:
        return _clear(snapshot, params, seed, progress, clock)
    if params.goal.kind == SPARE:
        return replace_node(snapshot, params, seed, progress, clock)
    return _fill(snapshot, params, seed, progress, clock)


def _fill(snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Clock) -> Plan:
    wish = slots_of(snapshot, params) if params.goal.kind == SHAPE else gang_of(snapshot, params.goal)
    compiled = compile_arena(wish.snapshot, np.zeros(len(snapshot.node_name), np.bool_), params.resting)
    upper = 0 if wish.goal.refused else most_seats(wish, compiled)
    by = Search(compiled, params, seed, switches(snapshot), upper, report=progress, clock=clock)
    by.started = clock() if clock else 0.0
    if wish.goal.refused:
        found = direct = NOTHING
    else:
        found, direct = filling.search(by, wish.pods, wish.pools, wish.homes, wish.fallback, wish.stay)
    install(compiled.arena, found.log)
    draft = Filling(wish.snapshot, compiled, params, seed, by.notes, upper, wish.goal, found, direct)
    plan = legal(draft)
    return with_reasons(wish, plan, found)


def _clear(snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Clock) -> Plan:
    ask = params.goal
    level, names = ("", ask.nodes) if ask.kind == DRAIN else domain_of(snapshot, ask)
    named = _rows(snapshot, names)
    compiled = compile_arena(snapshot, named, params.resting)
    clearing.open_for(compiled, named)
    goal = clearing.goal_of(snapshot, named, kind=ask.kind, name=ask.name, level=level, whole=ask.all_or_nothing)
    upper = clearing.most_cleared(snapshot, compiled, named)
    found = Search(compiled, params, seed, switches(snapshot), upper, report=progress, clock=clock)
    clearing.search(found, named, upper, goal.before)
    return legal(Clearing(snapshot, compiled, params, seed, found.notes, upper, named, goal))


def _rows(snapshot: Snapshot, names: tuple[str, ...]) -> Bools:
    """[n] The named nodes."""
    wanted = set(names)
    return np.array([name in wanted for name in snapshot.node_name], np.bool_)
