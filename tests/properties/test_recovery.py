"""What a plan wins back never exceeds what the report calls reclaimable."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.consolidation.planner import Params, consolidate
from scheduler.fragmentation.report import ShapeReport, report
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world

SEEDS = st.integers(min_value=0, max_value=2**31)
WHOLE_NODE = ("8G64C", "8G96C", "8G128C")


def whole_node_shapes(made: World) -> Mapping[str, ShapeReport]:
    """Shapes that only an emptied node of these worlds can serve."""
    (pool,) = report(made.snapshot()).pools
    return {one.shape.name: one for one in pool.shapes if one.shape.name in WHOLE_NODE}


def after_plan(made: World, seed: int) -> World:
    """The same world once a plan has run."""
    plan = consolidate(made.snapshot(), Params(), seed=seed)
    target = {move.pod: move.target for move in plan.moves}
    other = world()
    other.top, other.rows = dict(made.top), {kind: list(rows) for kind, rows in made.rows.items()}
    other.rows["pods"] = [
        row | {"node": target.get(f"jobs/{row['name']}", row.get("node"))} for row in made.rows["pods"]
    ]
    return other


@given(world_seed=SEEDS, seed=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_no_plan_wins_back_more_than_is_reclaimable(world_seed: int, seed: int) -> None:
    made = random_world(world_seed, plain=True)
    before, after = whole_node_shapes(made), whole_node_shapes(after_plan(made, seed))
    for name in WHOLE_NODE:
        assert after[name].usable - before[name].usable <= before[name].recovery.reclaimable
