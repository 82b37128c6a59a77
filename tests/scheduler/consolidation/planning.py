"""Plan a world and judge the plan twice before a test looks at it."""

from typing import Any

from scheduler.consolidation.planner import Params, consolidate, unproven
from scheduler.plan.goal import NODES
from scheduler.plan.plan import Kept, Plan
from scheduler.plan.verify import verify
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.worlds import World


def plan_of(world: World, seed: int = 0, **params: Any) -> Plan:
    snapshot = world.snapshot()
    asked = Params(**params)
    whole_nodes = asked.goal.kind == NODES
    plan = unproven(snapshot, asked, seed, None, None) if whole_nodes else consolidate(snapshot, asked, seed=seed)
    assert verify(plan, snapshot).violations == ()
    assert Judge(world.document()).faults(answer(plan)) == []
    return plan


def moves_of(plan: Plan) -> list[tuple[str, str, str]]:
    return [(move.pod, move.source, move.target) for move in plan.moves]


def kept_of(plan: Plan) -> dict[str, Kept]:
    return {kept.node: kept for kept in plan.kept}


def after(world: World, plan: Plan) -> World:
    """The same world once the plan has run."""
    other = world.without()
    targets = {move.pod: move.target for move in plan.moves}
    rows = [dict(row) for row in other.rows["pods"]]
    for row in rows:
        row["node"] = targets.get(f"{row.get('namespace', 'default')}/{row['name']}", row.get("node"))
    other.rows["pods"] = rows
    return other
