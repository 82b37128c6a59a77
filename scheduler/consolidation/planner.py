"""The planner: one cluster's snapshot in, a legal plan that empties nodes out."""

from collections.abc import Callable

import numpy as np

from scheduler.cluster.build import only_cluster
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, Snapshot
from scheduler.consolidation.anew import place_anew, wanted
from scheduler.consolidation.arena import compile_arena
from scheduler.consolidation.bound import net_upper
from scheduler.consolidation.draft import Draft
from scheduler.consolidation.enduring import enduring
from scheduler.consolidation.goals import reach
from scheduler.consolidation.legal import legal
from scheduler.consolidation.moves import install, travel
from scheduler.consolidation.params import ParamError, Params, Progress, Report
from scheduler.consolidation.polish import Polished, polish
from scheduler.consolidation.proof import prove
from scheduler.consolidation.rounds import Search, switches
from scheduler.plan.goal import NODES
from scheduler.plan.plan import Plan

__all__ = ["ParamError", "Params", "Progress", "consolidate", "unproven"]


def consolidate(
    snapshot: Snapshot,
    params: Params,
    *,
    seed: int = 0,
    progress: Report | None = None,
    clock: Callable[[], float] | None = None,
) -> Plan:
    """Empty as many nodes of the snapshot's one cluster as the search finds, by moves that are legal in their waves.

    Equal snapshot, params and seed give the equal plan, unless ``params.seconds`` (with ``clock`` in seconds) or
    ``progress`` cuts it, which the plan's notes say.  Another goal than whole nodes is ``params.goal``.  Raises
    ``InputError`` if there are several clusters, and ``ParamError`` for what the cluster does not have.
    """
    only_cluster(snapshot, None)
    if params.goal.kind != NODES:
        return reach(snapshot, params, seed, progress, clock)
    plan = _planned(snapshot, params, seed, progress, clock)[0]
    plan = prove(snapshot, plan, lambda lighter: _planned(lighter, params, seed, None, None))
    return enduring(plan, snapshot, params.least_hours)


def unproven(
    snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Callable[[], float] | None
) -> Plan:
    """The same plan, whose blockers nobody has put to the test (``proof``)."""
    return enduring(_planned(snapshot, params, seed, progress, clock)[0], snapshot, params.least_hours)


def _planned(
    snapshot: Snapshot, params: Params, seed: int, progress: Report | None, clock: Callable[[], float] | None
) -> tuple[Plan, float]:
    """The plan, and the effort that stages after the chains took, in the measure of the solver."""
    compiled = compile_arena(snapshot, _scope(snapshot, params), params.resting)
    upper = net_upper(snapshot, compiled)
    search = Search(compiled, params, seed, switches(snapshot), upper, _first(snapshot, params), progress, clock)
    search.run()
    draft = Draft(snapshot, compiled, params, seed, search.notes, upper)
    if search.notes or upper == 0:
        return legal(draft), 0.0
    if len(snapshot.node_name) <= params.exact_up_to:
        return _better(draft, search, polish)
    return _better(draft, search, place_anew) if wanted(search) else (legal(draft), 0.0)


def _better(draft: Draft, search: Search, stage: Callable[[Search, Snapshot], Polished]) -> tuple[Plan, float]:
    """The better of the chains' plan and what the stage makes of it."""
    log = draft.compiled.arena.log[: draft.standing].copy()
    found = stage(search, draft.snapshot)
    draft.upper, draft.standing = found.upper, len(found.log)
    plan = legal(draft)
    if np.array_equal(found.log, log) or plan.net_emptied == found.net:
        return plan, found.effort
    travel(draft.compiled.arena, draft.standing, 0)
    install(draft.compiled.arena, log)
    draft.standing = len(log)
    return max(plan, legal(draft), key=lambda one: (one.net_emptied, -len(one.moves))), found.effort


def _scope(snapshot: Snapshot, params: Params) -> Bools:
    """[n] Nodes that may be emptied."""
    if not params.models:
        return np.ones(len(snapshot.node_name), np.bool_)
    for model in params.models:
        if model not in snapshot.models:
            raise ParamError("models", model, f"no such GPU model; there are {', '.join(snapshot.models)}")
    wanted = np.array([*(model in params.models for model in snapshot.models), False], np.bool_)
    return np.asarray(wanted[snapshot.node_model] & (snapshot.node_model != UNKNOWN))


def _first(snapshot: Snapshot, params: Params) -> Longs:
    row = {name: n for n, name in enumerate(snapshot.node_name)} if params.first else {}
    for name in params.first:
        if name not in row:
            raise ParamError("first", name, "no such node")
    return np.array([row[name] for name in params.first], np.int64)
