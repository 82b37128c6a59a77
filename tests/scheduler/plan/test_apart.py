"""Nodes that are kept apart take nobody, and the reason is not a cordon that is not there."""

from scheduler.consolidation.planner import Params, consolidate
from scheduler.plan.apart import beside
from scheduler.plan.ask import Ask
from scheduler.plan.verify import verify
from tests.builders.worlds import world


def test_they_take_nobody_and_the_reasons_tell_them_from_cordoned_ones() -> None:
    made = world().nodes("n1", "n2", "n3", "n4").node("n5", cordoned=True).pod("a", "n1", 2)
    snapshot, drain = made.snapshot(), Params(goal=Ask(kind="drain", nodes=("n1",)))
    plan = beside(snapshot, {"n2", "n3"}, lambda seen: consolidate(seen, drain))
    assert [move.target for move in plan.moves] == ["n4"] and verify(plan, snapshot).ok
    none = beside(snapshot, {"n2", "n3", "n4"}, lambda seen: consolidate(seen, drain))
    (kept,) = none.kept
    assert (none.moves, kept.reason, kept.targets) == ((), "apart", {"cordoned": 1, "apart": 3})
    assert verify(none, snapshot).ok
    assert beside(snapshot, set(), lambda seen: consolidate(seen, drain)).moves != ()
